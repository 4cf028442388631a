/** The plugins that come with Sluice. */
import type { CounterMetricOptions, HistogramMetricOptions, PluginDefinition } from "@sluice/plugin-sdk";
import { acl } from "./acl/index.ts";
import { basicAuth } from "./basic-auth/index.ts";
import { botDetection } from "./bot-detection/index.ts";
import { compression } from "./compression/index.ts";
import { concurrencyLimiting } from "./concurrency-limiting/index.ts";
import { correlationId } from "./correlation-id/index.ts";
import { cors } from "./cors/index.ts";
import { datadog } from "./datadog/index.ts";
import { fileLog } from "./file-log/index.ts";
import { forwardAuth } from "./forward-auth/index.ts";
import { graphql, operationRequests, operationSeconds, refusedOperations } from "./graphql/index.ts";
import { grpcWeb } from "./grpc-web/index.ts";
import { hmacAuth } from "./hmac-auth/index.ts";
import { httpLog } from "./http-log/index.ts";
import { ipRestriction } from "./ip-restriction/index.ts";
import { jwt } from "./jwt/index.ts";
import { keyAuth } from "./key-auth/index.ts";
import { ldapAuth } from "./ldap-auth/index.ts";
import { loggly } from "./loggly/index.ts";
import { mtlsAuth } from "./mtls-auth/index.ts";
import { openidConnect } from "./openid-connect/index.ts";
import { opentelemetry } from "./opentelemetry/index.ts";
import { prometheus } from "./prometheus/index.ts";
import { proxyCache } from "./proxy-cache/index.ts";
import { rateLimiting } from "./rate-limiting/index.ts";
import { redirect } from "./redirect/index.ts";
import { mirrorCopies, requestMirror } from "./request-mirror/index.ts";
import { requestRedirect } from "./request-redirect/index.ts";
import { requestSizeLimiting } from "./request-size-limiting/index.ts";
import { requestTermination } from "./request-termination/index.ts";
import { requestTransformer } from "./request-transformer/index.ts";
import { requestValidator } from "./request-validator/index.ts";
import { responseRatelimiting } from "./response-ratelimiting/index.ts";
import { responseTransformer } from "./response-transformer/index.ts";
import { session } from "./session/index.ts";
import { standardWebhooks } from "./standard-webhooks/index.ts";
import { statsd } from "./statsd/index.ts";
import { syslog } from "./syslog/index.ts";
import { tcpLog } from "./tcp-log/index.ts";
import { udpLog } from "./udp-log/index.ts";
import { zipkin } from "./zipkin/index.ts";

export const builtInPlugins: readonly PluginDefinition[] = [
  acl,
  basicAuth,
  botDetection,
  compression,
  concurrencyLimiting,
  correlationId,
  cors,
  datadog,
  fileLog,
  forwardAuth,
  graphql,
  hmacAuth,
  httpLog,
  ipRestriction,
  jwt,
  keyAuth,
  ldapAuth,
  loggly,
  mtlsAuth,
  openidConnect,
  opentelemetry,
  prometheus,
  proxyCache,
  rateLimiting,
  redirect,
  requestMirror,
  requestRedirect,
  requestSizeLimiting,
  requestTermination,
  requestTransformer,
  requestValidator,
  responseRatelimiting,
  grpcWeb,
  responseTransformer,
  session,
  standardWebhooks,
  statsd,
  syslog,
  tcpLog,
  udpLog,
  zipkin,
];

export { createClientVerifier } from "./mtls-auth/verifier.ts";

/** The metrics of single plugins, by the plugin's name. All log plugins have the metric `droppedEntries` of the SDK. */
export const pluginMetrics: Readonly<Record<string, readonly (CounterMetricOptions | HistogramMetricOptions)[]>> = {
  [graphql.name]: [operationRequests, operationSeconds, refusedOperations],
  [requestMirror.name]: [mirrorCopies],
};
