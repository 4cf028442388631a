/** The table of the annotations of Kong's ingress controller 3.x. The reference page derives from it. */

export interface KongAnnotationFacts {
  /** The kinds at which Kong's controller reads the annotation. */
  readonly on: readonly string[];
  /** The member or resource that it becomes, or why it becomes none, as sentences of the reference page. */
  readonly becomes: string;
  /** How the result differs from Kong. */
  readonly differs?: string;
  /** Whether the annotation cannot be converted: what to do instead. */
  readonly absent?: string;
}

const ingress = ["Ingress"];
const service = ["Service"];
const tagged = ["Ingress", "Service", "KongPlugin", "KongClusterPlugin", "KongConsumer", "KongConsumerGroup"];

const route = (member: string): KongAnnotationFacts => ({ on: ingress, becomes: `Route: \`${member}\`.` });
const ofService = (member: string, also = ""): KongAnnotationFacts => ({
  on: service,
  becomes: `Service: \`${member}\`.${also}`,
});
const streamed = "accepted, but bodies are always streamed";
const gateways: KongAnnotationFacts = {
  on: ["GatewayClass", "Gateway"],
  becomes: "Not converted: objects of the Gateway API stay as they are.",
};

/** The annotations for headers of a route have the name of a header at their end. */
export const HEADERS_PREFIX = "konghq.com/headers.";

export const kongAnnotations: Readonly<Record<string, KongAnnotationFacts>> = {
  "konghq.com/ca-certificates-configmaps": ofService("caCertificateRefs", " A CACertificate for each ConfigMap."),
  "konghq.com/ca-certificates-secrets": ofService("caCertificateRefs", " A CACertificate for each Secret."),
  "konghq.com/client-cert": ofService("clientCertificateRef", " A Certificate for the Secret."),
  "konghq.com/connect-timeout": ofService("connectTimeout"),
  "konghq.com/gatewayclass-unmanaged": gateways,
  [`${HEADERS_PREFIX}*`]: route("headers"),
  "konghq.com/headers-separator": {
    on: ingress,
    becomes: "Separates the values of `konghq.com/headers.*`. Default `,`.",
  },
  "konghq.com/host-aliases": route("hosts"),
  "konghq.com/host-header": {
    on: service,
    becomes: 'Upstream: `hostHeader`. As in Kong, it needs `konghq.com/preserve-host: "false"` at the Ingress.',
  },
  "konghq.com/https-redirect-status-code": route("httpsRedirectStatusCode"),
  "konghq.com/methods": route("methods"),
  "konghq.com/override": {
    on: ["Ingress", "Service"],
    becomes: "Not supported.",
    absent: "KongIngress is deprecated: use konghq.com/upstream-policy and the other annotations instead",
  },
  "konghq.com/path": ofService("path"),
  "konghq.com/path-handling": route("pathHandling"),
  "konghq.com/plugins": {
    on: ["Ingress", "Service", "KongConsumer", "KongConsumerGroup"],
    becomes: "A Plugin with `targetRefs` for each Route, Service, Consumer or ConsumerGroup.",
  },
  "konghq.com/preserve-host": route("preserveHost"),
  "konghq.com/protocol": ofService("protocol"),
  "konghq.com/protocols": route("protocols"),
  "konghq.com/publish-service": gateways,
  "konghq.com/read-timeout": ofService("readTimeout"),
  "konghq.com/regex-prefix": {
    on: ingress,
    becomes: "Route: paths with this prefix are regular expressions. Default `/~`.",
  },
  "konghq.com/regex-priority": route("regexPriority"),
  "konghq.com/request-buffering": { ...route("requestBuffering"), differs: streamed },
  "konghq.com/response-buffering": { ...route("responseBuffering"), differs: streamed },
  "konghq.com/retries": ofService("retries"),
  "konghq.com/rewrite": {
    on: ingress,
    becomes: "A Plugin request-transformer, whose `replace.uri` has `$(uri_captures[1])` for `$1`.",
  },
  "konghq.com/snis": route("snis"),
  "konghq.com/strip-path": route("stripPath"),
  "konghq.com/tags": { on: tagged, becomes: "`tags` of each resource." },
  "konghq.com/tls-verify": ofService("tlsVerify"),
  "konghq.com/tls-verify-depth": ofService("tlsVerifyDepth"),
  "konghq.com/upstream-policy": {
    on: service,
    becomes: "An Upstream with `backendRefs` and the fields of the KongUpstreamPolicy.",
  },
  "konghq.com/write-timeout": ofService("writeTimeout"),
  "ingress.kubernetes.io/force-ssl-redirect": {
    on: ingress,
    becomes: "Route: `protocols: [https]` and `httpsRedirectStatusCode: 302`.",
  },
  "ingress.kubernetes.io/service-upstream": {
    on: service,
    becomes: "Service: `host`, the cluster address of the core Service, instead of `backendRef`.",
  },
};

/** The facts of an annotation; undefined for annotations that Kong's controller does not know. */
export const kongAnnotationOf = (name: string): KongAnnotationFacts | undefined =>
  kongAnnotations[name.startsWith(HEADERS_PREFIX) ? `${HEADERS_PREFIX}*` : name];
