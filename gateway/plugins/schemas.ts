/** The facts and schemas of the plugins that come with Sluice. Their code is not loaded. */
import type { Static } from "@sluice/plugin-sdk";
import { aclFacts } from "./acl/schema.ts";
import { basicAuthFacts } from "./basic-auth/schema.ts";
import { botDetectionFacts } from "./bot-detection/schema.ts";
import { compressionFacts } from "./compression/schema.ts";
import { concurrencyLimitingFacts } from "./concurrency-limiting/schema.ts";
import { correlationIdFacts } from "./correlation-id/schema.ts";
import { corsFacts } from "./cors/schema.ts";
import { datadogFacts } from "./datadog/schema.ts";
import { fileLogFacts } from "./file-log/schema.ts";
import { forwardAuthFacts } from "./forward-auth/schema.ts";
import { graphqlFacts } from "./graphql/schema.ts";
import { grpcWebFacts } from "./grpc-web/schema.ts";
import { hmacAuthFacts } from "./hmac-auth/schema.ts";
import { httpLogFacts } from "./http-log/schema.ts";
import { ipRestrictionFacts } from "./ip-restriction/schema.ts";
import { jwtFacts } from "./jwt/schema.ts";
import { keyAuthFacts } from "./key-auth/schema.ts";
import { ldapAuthFacts } from "./ldap-auth/schema.ts";
import { logglyFacts } from "./loggly/schema.ts";
import { mtlsAuthFacts } from "./mtls-auth/schema.ts";
import { openidConnectFacts } from "./openid-connect/schema.ts";
import { opentelemetryFacts } from "./opentelemetry/schema.ts";
import { prometheusFacts } from "./prometheus/schema.ts";
import { proxyCacheFacts } from "./proxy-cache/schema.ts";
import { rateLimitingFacts } from "./rate-limiting/schema.ts";
import { redirectFacts } from "./redirect/schema.ts";
import { requestMirrorFacts } from "./request-mirror/schema.ts";
import { requestRedirectFacts } from "./request-redirect/schema.ts";
import { requestSizeLimitingFacts } from "./request-size-limiting/schema.ts";
import { requestTerminationFacts } from "./request-termination/schema.ts";
import { requestTransformerFacts } from "./request-transformer/schema.ts";
import { requestValidatorFacts } from "./request-validator/schema.ts";
import { responseRatelimitingFacts } from "./response-ratelimiting/schema.ts";
import { responseTransformerFacts } from "./response-transformer/schema.ts";
import { sessionFacts } from "./session/schema.ts";
import { standardWebhooksFacts } from "./standard-webhooks/schema.ts";
import { statsdFacts } from "./statsd/schema.ts";
import { syslogFacts } from "./syslog/schema.ts";
import { tcpLogFacts } from "./tcp-log/schema.ts";
import { udpLogFacts } from "./udp-log/schema.ts";
import { zipkinFacts } from "./zipkin/schema.ts";

export { manifestViolation } from "./graphql/trusted-documents.ts";

export const builtInFacts = [
  aclFacts,
  basicAuthFacts,
  botDetectionFacts,
  compressionFacts,
  concurrencyLimitingFacts,
  correlationIdFacts,
  corsFacts,
  datadogFacts,
  fileLogFacts,
  forwardAuthFacts,
  graphqlFacts,
  hmacAuthFacts,
  httpLogFacts,
  ipRestrictionFacts,
  jwtFacts,
  keyAuthFacts,
  ldapAuthFacts,
  logglyFacts,
  mtlsAuthFacts,
  openidConnectFacts,
  opentelemetryFacts,
  prometheusFacts,
  proxyCacheFacts,
  rateLimitingFacts,
  redirectFacts,
  requestMirrorFacts,
  requestRedirectFacts,
  requestSizeLimitingFacts,
  requestTerminationFacts,
  requestTransformerFacts,
  requestValidatorFacts,
  responseRatelimitingFacts,
  grpcWebFacts,
  responseTransformerFacts,
  sessionFacts,
  standardWebhooksFacts,
  statsdFacts,
  syslogFacts,
  tcpLogFacts,
  udpLogFacts,
  zipkinFacts,
] as const;

export type PluginName = (typeof builtInFacts)[number]["name"];
/** The config of each plugin after its defaults are set, by the plugin's name. */
export type PluginConfigs = {
  readonly [Facts in (typeof builtInFacts)[number] as Facts["name"]]: Static<Facts["schema"]>;
};
