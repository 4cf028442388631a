/** Config of basic-auth: requests need a consumer's user name and password. */
import { boolean, definePluginFacts, nullable, record, type Static, text } from "@sluice/plugin-sdk";

const schema = record(
  {
    anonymous: nullable(
      text({
        description: "Id or username of the consumer to which requests without a valid password are attributed.",
        maxLength: 256,
      }),
    ),
    hide_credentials: boolean({
      description: "Remove the user name and password before forwarding.",
      default: false,
    }),
    realm: text({ description: "Realm of the WWW-Authenticate header.", default: "service", maxLength: 256 }),
  },
  { description: "Requires a consumer's user name and password (RFC 7617)." },
);

export type BasicAuthConfig = Static<typeof schema>;

export const basicAuthFacts = definePluginFacts({
  name: "basic-auth",
  version: "0.1.0",
  priority: 1100,
  protects: true,
  refuses: ["consumer"],
  schema,
});
