/** `sluice config init`: a declarative file to begin with. */
import type { Part } from "./part.ts";
import { writeNew } from "./write-new.ts";

const example = `# The configuration of Sluice. Format and members are Kong's; docs/reference/entities.md lists them.
# Try it: sluice config parse sluice.yml
_format_version: "3.0"

# A service is where requests go, its routes say which requests. Take away the # to begin.
#
# services:
#   - name: users
#     url: http://users.example:8080
#     routes:
#       - name: users
#         paths:
#           - /users
#     plugins:
#       - name: rate-limiting
#         config:
#           minute: 60
#           policy: local
#
# A route is open to everybody until a plugin guards it; consumers have the keys.
#
# plugins:
#   - name: key-auth
#     route: users
#
# consumers:
#   - username: alice
#     keyauth_credentials:
#       - key: change-me
`;

export const init: Part = async ({ given, print }) => {
  const [file = "sluice.yml"] = given.positionals;
  await writeNew(file, example, 0o644);
  print(`${file} is written\n`);
};
