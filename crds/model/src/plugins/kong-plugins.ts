/**
 * Plugins of Kong 3.9, of the free edition (`kong/constants.lua`) and of the paid editions. The errors for plugins that
 * Sluice lacks, the report of `sluice migrate` and the table of plugins in the reference derive from this table.
 */
import { pluginNamed } from "./index.ts";

export interface KongPlugin {
  /** Whether only Kong's paid editions have the plugin. */
  readonly paid: boolean;
  /** How Sluice's plugin differs from Kong's for the same config and requests. Absent: no difference, except perhaps in the limits of values, such as lengths. */
  readonly differs?: string;
  /** What to do in a gateway that lacks the plugin; begins with a lower-case letter and has no full stop. */
  readonly instead?: string;
}

const LUA =
  "Sluice does not run Lua; write the function as a plugin in TypeScript, as docs/how-to/replace-lua-functions.md shows";
const LANGUAGE_MODELS =
  "Sluice has no plugins for language models; let the service call the provider, or write a plugin " +
  "(docs/how-to/write-middleware.md)";

const free = {
  acl: {},
  acme: { instead: "remove it, and set acme of a certificate with these names: docs/how-to/order-certificates.md" },
  "ai-prompt-decorator": { instead: LANGUAGE_MODELS },
  "ai-prompt-guard": { instead: LANGUAGE_MODELS },
  "ai-prompt-template": { instead: LANGUAGE_MODELS },
  "ai-proxy": { instead: LANGUAGE_MODELS },
  "ai-request-transformer": { instead: LANGUAGE_MODELS },
  "ai-response-transformer": { instead: LANGUAGE_MODELS },
  "aws-lambda": { instead: "give the function a function URL, and make it the url of the service" },
  "azure-functions": {
    instead:
      "make the function's URL the url of the service, and set x-functions-key with upstream_headers of the service",
  },
  "basic-auth": { differs: "answers 503 while too many passwords of one user wait to be hashed" },
  "bot-detection": {},
  "correlation-id": { differs: "the generator tracker counts only requests for which it generated an id" },
  cors: { differs: "a regular expression among the origins must match the whole origin" },
  datadog: { differs: "the address of the agent is not read from KONG_DATADOG_AGENT_HOST" },
  "file-log": { differs: "custom_fields_by_lua is refused" },
  "grpc-gateway": { instead: "let clients call the service with gRPC, or put a transcoder in front of it" },
  "grpc-web": { differs: "proto is refused, so JSON is not converted to messages" },
  "hmac-auth": {},
  "http-log": { differs: "custom_fields_by_lua is refused, and the log server's certificate is verified" },
  "ip-restriction": {},
  jwt: { differs: "a claim iss that is null counts as absent" },
  "key-auth": {},
  "ldap-auth": { differs: "special characters of user names are escaped, and the response is 500 if TLS fails" },
  loggly: { differs: "custom_fields_by_lua is refused" },
  oauth2: { instead: "let an authorization server issue tokens, and verify them with the plugin openid-connect" },
  opentelemetry: { differs: "logs_endpoint is refused, and spans follow OpenTelemetry's conventions" },
  "post-function": { instead: LUA },
  "pre-function": { instead: LUA },
  prometheus: { differs: "metrics are called sluice_*, unless SLUICE_COMPAT=kong restores kong_*" },
  "proxy-cache": { differs: "Vary is followed, and responses with Set-Cookie are not stored" },
  "rate-limiting": { differs: "limits are exact over all workers of a node, and refused requests do not count" },
  redirect: {},
  "request-size-limiting": {},
  "request-termination": { differs: "echo leaves out the configuration of the gateway" },
  "request-transformer": { differs: "templates support a subset of Lua; other Lua is refused" },
  "response-ratelimiting": { differs: "a response without a body, or to a gRPC call, is not replaced by 429" },
  "response-transformer": { differs: "bodies over 8 MiB are replaced by a response with status 502" },
  session: {
    differs:
      "needs a secret, keeps sessions in cookies only, and ends a session when its credential is deleted or expires",
  },
  "standard-webhooks": { differs: "a header may have several signatures" },
  statsd: { differs: "shdict_usage is not sent" },
  syslog: { differs: "records go to the syslog server that the required field `host` names" },
  "tcp-log": { differs: "custom_fields_by_lua is refused, and the log server's certificate is verified" },
  "udp-log": { differs: "custom_fields_by_lua is refused" },
  zipkin: { differs: "only some of the annotations of phases are sent" },
} satisfies Readonly<Record<string, Omit<KongPlugin, "paid">>>;

const useInstead = (plugin: string) => `use ${plugin}`;
const WRITE_ONE = "write a plugin for the features that you use (docs/tutorials/your-first-plugin.md)";

/**
 * Plugins of the paid editions: what to do without them (null: write one), or how Sluice's plugin of that name differs.
 */
const paid: Readonly<Record<string, string | null | Pick<KongPlugin, "differs">>> = {
  "ai-azure-content-safety": LANGUAGE_MODELS,
  "ai-rate-limiting-advanced": LANGUAGE_MODELS,
  "ai-semantic-cache": LANGUAGE_MODELS,
  "ai-semantic-prompt-guard": LANGUAGE_MODELS,
  "app-dynamics": null,
  "application-registration": null,
  canary: "use an upstream with two targets whose weights share the requests",
  confluent: null,
  degraphql: null,
  "exit-transformer": LUA,
  "forward-proxy": null,
  "graphql-proxy-cache-advanced": null,
  "graphql-rate-limiting-advanced": "use rate-limiting with cost: graphql, and graphql",
  "header-cert-auth": null,
  "injection-protection": null,
  jq: null,
  "json-threat-protection": null,
  "jwe-decrypt": null,
  "jwt-signer": null,
  "kafka-log": useInstead("http-log"),
  "kafka-upstream": null,
  "key-auth-enc": useInstead("key-auth"),
  "ldap-auth-advanced": useInstead("ldap-auth"),
  mocking: useInstead("request-termination"),
  "mtls-auth": { differs: "certificates are not checked for revocation: `revocation_check_mode` must be SKIP" },
  "oas-validation": null,
  "oauth2-introspection": useInstead("openid-connect"),
  opa: null,
  "openid-connect": {
    differs:
      "supports bearer tokens, introspection, and login with sessions in cookies; refuses other grants and stores",
  },
  "proxy-cache-advanced": useInstead("proxy-cache"),
  "rate-limiting-advanced": useInstead("rate-limiting"),
  "request-transformer-advanced": useInstead("request-transformer"),
  "request-validator": {
    differs: "JSON Schema has regular expressions with RE2 syntax, and bodies over 1 MiB get 413",
  },
  "response-transformer-advanced": useInstead("response-transformer"),
  "route-by-header": "use routes with headers",
  "route-transformer-advanced": null,
  saml: null,
  "statsd-advanced": useInstead("statsd"),
  "tls-handshake-modifier": null,
  "tls-metadata-headers": null,
  "upstream-oauth": null,
  "upstream-timeout": "set connect_timeout, read_timeout and write_timeout of the service",
  "vault-auth": null,
  "websocket-size-limit": null,
  "websocket-validator": null,
  "xml-threat-protection": null,
};

/** The plugins by name, first the plugins of the free edition. */
export const kongPlugins: ReadonlyMap<string, KongPlugin> = new Map<string, KongPlugin>([
  ...Object.entries(free).map(([name, facts]) => [name, { paid: false, ...facts }] as const),
  ...Object.entries(paid).map(([name, facts]) => {
    const about = typeof facts === "string" || facts === null ? { instead: facts ?? WRITE_ONE } : facts;
    return [name, { paid: true, ...about }] as const;
  }),
]);

/** What to do without a plugin of Kong that this process does not have. Undefined for any other name. */
export function insteadOfPlugin(name: string): string | undefined {
  const known = pluginNamed(name) === undefined ? kongPlugins.get(name) : undefined;
  if (known === undefined) return undefined;
  const edition = known.paid ? "it belongs to Kong's paid editions; " : "";
  return `${edition}${known.instead ?? WRITE_ONE}`;
}
