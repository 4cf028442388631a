/** Config of hmac-auth: requests need a signature with a consumer's secret. */
import {
  array,
  boolean,
  choice,
  decimal,
  definePluginFacts,
  nullable,
  record,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const ALGORITHMS = ["hmac-sha1", "hmac-sha256", "hmac-sha384", "hmac-sha512"] as const;

const schema = record(
  {
    hide_credentials: boolean({ description: "Remove the signature before forwarding.", default: false }),
    clock_skew: decimal({
      description:
        "Maximum seconds between the node's clock and the date in X-Date or Date. Without `date` and `x-date` in " +
        "`enforce_headers`, the checked date need not be signed, so the limit does not prevent replays.",
      default: 300,
      exclusiveMinimum: 0,
    }),
    anonymous: nullable(
      text({
        description: "Id or username of the consumer to which requests without a valid signature are attributed.",
        maxLength: 256,
      }),
    ),
    validate_request_body: boolean({
      description:
        "Compare the body with the header Digest (SHA-256). The body is buffered; one of more than 1 MiB is refused.",
      default: false,
    }),
    enforce_headers: array(text({ description: "The name of a header.", maxLength: 256 }), {
      description: "Headers that clients must include in the signature.",
      default: [],
      maxItems: 64,
    }),
    algorithms: array(choice(ALGORITHMS, { description: "An algorithm." }), {
      description: "The accepted algorithms.",
      default: [...ALGORITHMS],
      maxItems: 4,
    }),
    realm: nullable(text({ description: "Realm of the WWW-Authenticate header.", maxLength: 256 })),
  },
  { description: "Requires requests to be signed with a consumer's secret." },
);

export type HmacAuthConfig = Static<typeof schema>;

export const hmacAuthFacts = definePluginFacts({
  name: "hmac-auth",
  version: "0.1.0",
  priority: 1030,
  protects: true,
  identifies: true,
  refuses: ["consumer"],
  schema,
});
