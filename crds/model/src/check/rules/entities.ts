/** Members of services, consumers, plugins and credentials against each other (kong-contract 1.4). */
import { plugins } from "../../plugins/index.ts";
import { atLeastOneOf, conditional, isEmpty, type RecordRule, type TextRule } from "./rule.ts";

const L4 = new Set<unknown>(["tcp", "tls", "tls_passthrough", "udp"]);

/** Why a protocol below HTTP is refused (house decision 16); undefined for the others. */
export const refuseL4 = (protocol: unknown): string | undefined =>
  L4.has(protocol) ? `${protocol} is not supported: Sluice proxies http, https, grpc and grpcs only` : undefined;

export const service: RecordRule = (members) => {
  const refused = refuseL4(members.protocol);
  if (refused !== undefined) return [{ path: ["protocol"], message: refused }];
  const { protocol } = members;
  const forbidden = [
    ...(protocol === "grpc" || protocol === "grpcs" ? ["path"] : []),
    ...(protocol === "https" ? [] : ["client_certificate", "tls_verify", "tls_verify_depth", "ca_certificates"]),
  ];
  return forbidden
    .filter((name) => members[name] !== null)
    .flatMap((name) => conditional("protocol", [name], "value must be null"));
};

export const consumer: RecordRule = (members) => atLeastOneOf(members, ["custom_id", "username"]);

const isPlugin = (name: unknown): name is keyof typeof plugins =>
  typeof name === "string" && Object.hasOwn(plugins, name);

export const pluginName: TextRule = (name) =>
  isPlugin(name) ? undefined : `plugin '${name}' not enabled; add it to the 'plugins' configuration property`;

/** References that the plugin has no use for. Its config is checked by its own schema. */
export const plugin: RecordRule = (members) =>
  isPlugin(members.name)
    ? plugins[members.name].refuses
        .filter((reference) => members[reference] !== null)
        .map((reference) => ({ path: [reference], message: "value must be null" }))
    : [];

export const credential: RecordRule = (members) =>
  members.consumer === null ? [{ path: ["consumer"], message: "required field missing" }] : [];

/** An address, a port, or both. */
export const endpoint: RecordRule = (members) =>
  isEmpty(members.ip) && isEmpty(members.port) ? atLeastOneOf(members, ["ip", "port"]) : [];
