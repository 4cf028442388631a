/** Config of jwt: requests need a token that a consumer's key verifies. */
import {
  array,
  boolean,
  choice,
  conditionalViolations,
  decimal,
  definePluginFacts,
  nullable,
  record,
  type Static,
  set,
  text,
} from "@sluice/plugin-sdk";

const names = (description: string, defaults: readonly string[]) =>
  set(text({ description: "A name.", maxLength: 256 }), { description, default: [...defaults], maxItems: 16 });

const schema = record(
  {
    uri_param_names: names("Query parameters in which a token may be.", ["jwt"]),
    cookie_names: names("Cookies in which a token may be.", []),
    key_claim_name: text({
      description:
        "The claim with the key of the credential. If the claims lack it, the token's header is searched for a " +
        "member of this name.",
      default: "iss",
      maxLength: 256,
    }),
    secret_is_base64: boolean({ description: "Whether the credentials' secrets are Base64.", default: false }),
    claims_to_verify: nullable(
      array(choice(["exp", "nbf"], { description: "A claim." }), {
        description:
          "Claims with a time in Unix seconds that are checked: exp must not have passed, nbf must have passed.",
        maxItems: 2,
      }),
    ),
    anonymous: nullable(
      text({
        description: "Id or username of the consumer to which requests without a valid token are attributed.",
        maxLength: 256,
      }),
    ),
    run_on_preflight: boolean({ description: "Require a token for OPTIONS requests too.", default: true }),
    maximum_expiration: decimal({
      description: "Maximum seconds from now to the claim exp; 0: no maximum. Needs exp in `claims_to_verify`.",
      default: 0,
      minimum: 0,
      maximum: 31_536_000,
    }),
    header_names: names("Headers in which a token may be, after the scheme Bearer.", ["authorization"]),
    realm: nullable(text({ description: "Realm of the WWW-Authenticate header.", maxLength: 256 })),
  },
  { description: "Requires a JSON Web Token that a key of a consumer verifies (RFC 7519)." },
);

export type JwtConfig = Static<typeof schema>;

const CONTAINS_EXP = "expected to contain: exp";

export const jwtFacts = definePluginFacts({
  name: "jwt",
  version: "0.1.0",
  priority: 1450,
  protects: true,
  identifies: true,
  refuses: ["consumer"],
  secretParameters: ({ uri_param_names, header_names, cookie_names }) =>
    [uri_param_names, header_names, cookie_names].flatMap((names) => (Array.isArray(names) ? names.map(String) : [])),
  check: ({ maximum_expiration, claims_to_verify }) =>
    typeof maximum_expiration === "number" &&
    maximum_expiration > 0 &&
    !(Array.isArray(claims_to_verify) && claims_to_verify.includes("exp"))
      ? conditionalViolations("config.maximum_expiration", ["claims_to_verify"], CONTAINS_EXP)
      : [],
  kongChecks: [
    {
      conditional: {
        if_field: "config.maximum_expiration",
        if_match: { gt: 0 },
        then_field: "config.claims_to_verify",
        then_match: { contains: "exp" },
      },
    },
  ],
  schema,
});
