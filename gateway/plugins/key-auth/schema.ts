/** Config of key-auth: requests need a consumer's key. */
import { array, boolean, definePluginFacts, nullable, record, type Static, text } from "@sluice/plugin-sdk";

const schema = record(
  {
    key_names: array(text({ description: "A name.", rule: "key-name", minLength: 1, maxLength: 128 }), {
      description: "Names of the header, query parameter or body member that carries the key.",
      default: ["apikey"],
      minItems: 1,
      maxItems: 16,
    }),
    hide_credentials: boolean({ description: "Remove the key before forwarding.", default: false }),
    anonymous: nullable(
      text({
        description: "Id or username of the consumer to which requests without a valid key are attributed.",
        maxLength: 256,
      }),
    ),
    key_in_header: boolean({ description: "Look for the key in headers.", default: true }),
    key_in_query: boolean({ description: "Look for the key in the query.", default: true }),
    key_in_body: boolean({ description: "Look for the key in a form, JSON or multipart body.", default: false }),
    run_on_preflight: boolean({ description: "Require the key for OPTIONS requests too.", default: true }),
    realm: nullable(text({ description: "Realm of the WWW-Authenticate header.", maxLength: 256 })),
  },
  { description: "Requires an API key of a consumer." },
);

export type KeyAuthConfig = Static<typeof schema>;

export const keyAuthFacts = definePluginFacts({
  name: "key-auth",
  version: "0.1.0",
  priority: 1250,
  protects: true,
  identifies: true,
  refuses: ["consumer"],
  secretParameters: ({ key_names }) => (Array.isArray(key_names) ? key_names.map(String) : []),
  schema,
});
