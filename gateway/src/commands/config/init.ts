/** `sluice config init`: writes an example declarative file. */
import { type ConfigSubcommand, writeNew } from "./subcommand.ts";

/**
 * The example becomes active when the first `#` of each line is removed: by hand, by an editor, or by `sed s/^#//`. So
 * comments begin with two `#`, and YAML lines have no space after their one `#`.
 */
const example = (
  file: string,
) => `## The configuration of Sluice. Format and members are Kong's; docs/reference/entities.md lists them.
## Check it: sluice config parse ${shellWord(file)}
_format_version: "3.0"

## A service is the destination of requests; its routes select them. Remove the first # of these lines to begin.

#services:
#  - name: users
#    url: http://users.example:8080
#    routes:
#      - name: users
#        paths:
#          - /users
#    plugins:
#      - name: rate-limiting
#        config:
#          minute: 60
#          policy: local

## A route accepts every request until a plugin protects it; consumers have the keys.

#plugins:
#  - name: key-auth
#    route: users

#consumers:
#  - username: alice
#    keyauth_credentials:
#      - key: change-me
`;

const shellWord = (file: string): string => {
  if (/^[\w./@%+=:,][\w./@%+=:,-]*$/.test(file)) return file;
  return `-- '${file.replaceAll("'", "'\\''").replaceAll(/\s/g, " ")}'`;
};

export const initConfig: ConfigSubcommand = async ({ given, print }) => {
  const [file = "sluice.yml"] = given.positionals;
  await writeNew(file, example(file), 0o644);
  print(`${file} is written\n`);
};
