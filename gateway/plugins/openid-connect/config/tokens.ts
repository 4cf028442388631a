/** Members of the config of openid-connect: how tokens are found, checked and mapped. */
import { array, boolean, choice, decimal, nullable, set, text } from "@sluice/plugin-sdk";
import { claimPath, optionalClaimPath, optionalNames, requirementMember } from "./vocabulary.ts";

const MAX_SECONDS = 31_536_000;

export const authMethods = ["authorization_code", "bearer", "introspection", "session"] as const;

const seconds = (description: string) => nullable(decimal({ description, minimum: 0, maximum: MAX_SECONDS }));

export const tokenMembers = {
  auth_methods: set(choice(authMethods, { description: "A method." }), {
    description:
      "How requests may authenticate: with a JSON Web Token (bearer), with a token that the provider is asked about " +
      "(introspection), or with the cookie of a login (session). With authorization_code, a request without these is " +
      "redirected to the provider's login page.",
    default: [...authMethods],
    minItems: 1,
    maxItems: authMethods.length,
  }),
  bearer_token_param_type: set(choice(["header", "query", "body", "cookie"], { description: "A place." }), {
    description:
      "Where a token may be: in the headers Authorization, access-token and x-access-token, in the query parameter or " +
      "the form field access_token, or in a cookie.",
    default: ["header", "query", "body"],
    maxItems: 4,
  }),
  bearer_token_cookie_name: nullable(text({ description: "The cookie with the token.", maxLength: 128 })),
  hide_credentials: boolean({ description: "Do not forward the token to the upstream.", default: false }),
  enable_hs_signatures: boolean({
    description:
      "Accept tokens that are signed with the client's secret (HS256, HS384, HS512). The secret needs as many bytes as " +
      "the hash: 32, 48 or 64.",
    default: false,
  }),
  introspect_jwt_tokens: boolean({
    description:
      "Also ask the provider about tokens whose signature can be verified, so that revoked ones are refused.",
    default: false,
  }),
  introspection_hint: text({
    description: "The parameter token_type_hint of introspection.",
    default: "access_token",
    maxLength: 64,
  }),
  cache_introspection: boolean({
    description:
      "Keep the provider's answers until the tokens expire, or for cache_ttl if they have no expiry, at most for " +
      "cache_ttl_max. Revoked tokens are accepted until then.",
    default: true,
  }),
  cache_ttl: decimal({
    description: "Seconds for which the answer about a token without an expiry is kept.",
    default: 3600,
    minimum: 0,
    maximum: MAX_SECONDS,
  }),
  cache_ttl_max: seconds("Maximum seconds for which an answer is kept. Default: no maximum."),
  cache_ttl_neg: seconds("Seconds for which the answer that a token is not active is kept. Default: it is not kept."),
  audience_claim: claimPath("The claim with the audience.", ["aud"]),
  audience_required: requirementMember("Audiences", "audience_claim"),
  scopes_claim: claimPath("The claim with the scopes.", ["scope"]),
  scopes_required: requirementMember("Scopes", "scopes_claim"),
  groups_claim: claimPath("The claim with the groups.", ["groups"]),
  groups_required: requirementMember("Groups", "groups_claim"),
  roles_claim: claimPath("The claim with the roles.", ["roles"]),
  roles_required: requirementMember("Roles", "roles_claim"),
  consumer_claim: optionalClaimPath(
    "The claim that names the consumer. Default: requests have no consumer, only a credential.",
  ),
  consumer_by: set(choice(["id", "username", "custom_id"], { description: "A member." }), {
    description: "The fields of consumers that are compared with the claim, in this order.",
    default: ["username", "custom_id"],
    minItems: 1,
    maxItems: 3,
  }),
  consumer_optional: boolean({
    description:
      "Accept tokens whose `consumer_claim` matches no consumer. If false, requests with such tokens are answered " +
      "with 403.",
    default: false,
  }),
  credential_claim: claimPath(
    "The claim that identifies the credential, to which plugins such as rate-limiting may refer.",
    ["sub"],
  ),
  authenticated_groups_claim: optionalClaimPath(
    "The claim with the groups that the plugin acl checks for requests without a consumer; " +
      "`always_use_authenticated_groups` of acl extends this to all requests.",
  ),
  anonymous: nullable(
    text({
      description: "Id or username of the consumer to which requests without a valid token are attributed.",
      maxLength: 256,
    }),
  ),
  run_on_preflight: boolean({ description: "Require a token for OPTIONS requests too.", default: true }),
  upstream_access_token_header: nullable(
    text({
      description:
        "The header in which the upstream gets the access token. With `:bearer` after the name, the header's value " +
        "begins with Bearer.",
      default: "authorization:bearer",
      maxLength: 256,
    }),
  ),
  upstream_headers_claims: optionalNames("Claims that the upstream gets in headers."),
  upstream_headers_names: nullable(
    array(text({ description: "A name.", rule: "header-name", maxLength: 256 }), {
      description: "The names of the headers for the claims in `upstream_headers_claims`, in the same order.",
      maxItems: 64,
    }),
  ),
  downstream_headers_claims: optionalNames("Claims that the client gets in headers of the response."),
  downstream_headers_names: nullable(
    array(text({ description: "A name.", rule: "header-name", maxLength: 256 }), {
      description: "The names of the headers for the claims in `downstream_headers_claims`, in the same order.",
      maxItems: 64,
    }),
  ),
  unauthorized_error_message: text({
    description: "The message of responses with status 401.",
    default: "Unauthorized",
    maxLength: 1024,
  }),
  forbidden_error_message: text({
    description: "The message of responses with status 403.",
    default: "Forbidden",
    maxLength: 1024,
  }),
  expose_error_code: boolean({ description: "Send the error code of RFC 6750 in WWW-Authenticate.", default: true }),
  display_errors: boolean({
    description: "Send the reason of a refusal in WWW-Authenticate, as `error_description`.",
    default: false,
  }),
};
