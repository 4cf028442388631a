/** Plugin configs that the model has completed with defaults, for the tests of plugins. */
import { checkConfig, type PluginConfigs, type PluginName, secretMembers } from "@sluice/model";

/** The config with defaults. Throws if it has violations. */
export function withConfigDefaults<Name extends PluginName>(plugin: Name, config: object): PluginConfigs[Name] {
  const checked = checkConfig(plugin, config);
  if (checked.violations) throw new Error(`the config of ${plugin} has faults: ${JSON.stringify(checked.violations)}`);
  return checked.value as PluginConfigs[Name];
}

/** The violations of a config, as `path: message`. */
export const configViolations = (plugin: PluginName, config: object): readonly string[] =>
  (checkConfig(plugin, config).violations ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);

/** The paths of a plugin's secret members. */
export const secretPathsOf = (plugin: PluginName): readonly (readonly string[])[] =>
  secretMembers("plugins", { name: plugin });

export const filledRateLimiting = withConfigDefaults("rate-limiting", { minute: 5 });
export const filledKeyAuth = withConfigDefaults("key-auth", {});
export const filledCorrelationId = withConfigDefaults("correlation-id", {});
export const filledCors = withConfigDefaults("cors", {});
export const filledPrometheus = withConfigDefaults("prometheus", {});
export const filledRequestTermination = withConfigDefaults("request-termination", {});
export const filledBotDetection = withConfigDefaults("bot-detection", {});
export const filledCompression = withConfigDefaults("compression", {});

/** The members that a plugin's config needs, by plugin name; the other plugins need none. */
export const neededConfigs: Readonly<Record<string, object>> = {
  acl: { allow: ["users"] },
  "concurrency-limiting": { limit: 2 },
  "file-log": { path: "/tmp/requests.log" },
  "forward-auth": { address: "http://login.test" },
  "http-log": { http_endpoint: "http://logs.test/" },
  "ip-restriction": { allow: ["10.0.0.0/8"] },
  "ldap-auth": { ldap_host: "ldap.test", base_dn: "ou=people,dc=example,dc=com", attribute: "uid" },
  loggly: { key: "token" },
  "mtls-auth": { ca_certificates: ["77777777-7777-4777-8777-777777777777"] },
  "openid-connect": { issuer: "https://login.test", auth_methods: ["bearer"] },
  opentelemetry: { traces_endpoint: "http://traces.test/v1/traces" },
  "proxy-cache": { strategy: "memory" },
  "rate-limiting": { minute: 5 },
  redirect: { location: "https://example.com" },
  "request-validator": { version: "draft4", body_schema: "{}" },
  "response-ratelimiting": { limits: { video: { minute: 5 } } },
  session: { secret: "a secret for the cookies" },
  "request-mirror": { mirrors: [{ service: "users-next", percentage: 50 }] },
  "standard-webhooks": { secret_v1: "secret" },
  syslog: { host: "logs.test" },
  "tcp-log": { host: "logs.test", port: 514 },
  "udp-log": { host: "logs.test", port: 514 },
};
