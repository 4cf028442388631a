/** Members of the config of openid-connect: the provider, and how the gateway is registered with it as a client. */
import { array, boolean, choice, decimal, nullable, text } from "@sluice/plugin-sdk";
import { MAX_URL, singleValue, urlMember } from "./vocabulary.ts";

const MAX_SECONDS = 31_536_000;

export const clientAuthMethods = ["client_secret_basic", "client_secret_post", "client_secret_jwt", "none"] as const;

export const providerMembers = {
  issuer: text({
    description:
      "The issuer identifier of the provider, or the URL of its discovery document. If the value does not " +
      "contain /.well-known/, /.well-known/openid-configuration is appended to it.",
    maxLength: MAX_URL,
  }),
  issuers_allowed: nullable(
    array(text({ description: "An issuer.", maxLength: MAX_URL }), {
      description:
        "Issuers that tokens and the discovery document may name. Default: the issuer of the config, which the " +
        "document must name.",
      maxItems: 16,
    }),
  ),
  rediscovery_lifetime: decimal({
    description:
      "Minimum seconds between two requests for the provider's keys, once keys are known. They are requested again " +
      "if a token names an unknown key, and after ten minutes.",
    default: 30,
    minimum: 1,
    maximum: MAX_SECONDS,
  }),
  ssl_verify: boolean({ description: "Verify the certificate of the provider.", default: true }),
  timeout: decimal({
    description: "Milliseconds within which a request to the provider must be answered.",
    default: 10_000,
    minimum: 1,
    maximum: 600_000,
  }),
  leeway: decimal({
    description: "Seconds by which the clocks of provider and gateway may differ, for the claims exp and nbf.",
    default: 0,
    minimum: 0,
    maximum: 3600,
  }),
  authorization_endpoint: urlMember(
    "URL of the provider's login page. Default: the one that the discovery document names.",
  ),
  token_endpoint: urlMember("URL at which tokens are requested. Default: the one that the discovery document names."),
  introspection_endpoint: urlMember("URL of token introspection. Default: the one that the discovery document names."),
  end_session_endpoint: urlMember(
    "URL to which a logout redirects. Default: the one that the discovery document names.",
  ),
  client_id: singleValue("The id of the gateway as a client of the provider.", { maxLength: 512, referenceable: true }),
  client_secret: singleValue("The client's secret.", { maxLength: 1024, secret: true, referenceable: true }),
  client_auth: nullable(
    array(choice(clientAuthMethods, { description: "A method." }), {
      description:
        "How the client authenticates to the provider. Default: client_secret_basic with a secret, none without one.",
      maxItems: 1,
    }),
  ),
};
