/** Rules for combinations of members: of services, consumers and plugins, and of routes' sources and destinations. */

import { atLeastOneOf, conditionalViolations, isEmptyValue, type RecordRule, type Violation } from "@sluice/plugin-sdk";
import { pluginProtocols, servedProtocols, streamProtocols } from "../../entities/plugin.ts";
import { CONSUMER_OR_GROUP, pluginNamed, pluginNames, refusedTargets } from "../../plugins/index.ts";
import { insteadOfPlugin } from "../../plugins/kong-plugins.ts";
import { suggestionFor } from "../../suggest.ts";
import type { TextRule } from "./rule.ts";
import { repeatedHeaders } from "./upstream-headers.ts";

/** The error for a protocol that Sluice does not forward; undefined for other protocols. */
export const refuseUdp = (protocol: unknown): string | undefined =>
  protocol === "udp" ? "udp is not supported: Sluice forwards HTTP, gRPC, TCP and TLS only" : undefined;

/** A gRPC call's path names its method, so no prefix is allowed. Connections have no paths. As in Kong. */
const PATHLESS = new Set<unknown>(["grpc", "grpcs", "tcp", "tls"]);

/** Members that are rejected without a TLS protocol, because they would have no effect. */
const TLS_MEMBERS = ["client_certificate", "tls_verify", "tls_verify_depth", "ca_certificates"];

export const serviceRule: RecordRule = (members) => [
  ...protocolFaults(members),
  ...repeatedHeaders(members.upstream_headers),
];

const protocolFaults: RecordRule = (members) => {
  const { protocol } = members;
  const refused = refuseUdp(protocol);
  if (refused !== undefined) return [{ path: ["protocol"], message: refused }];
  const secure = protocol === "https" || protocol === "grpcs" || protocol === "tls";
  const ofTls = TLS_MEMBERS.flatMap((name) =>
    secure || members[name] === null ? [] : conditionalViolations("protocol", [name], "value must be null"),
  );
  return PATHLESS.has(protocol) && members.path !== null
    ? [...conditionalViolations("protocol", ["path"], "value must be null"), ...ofTls]
    : ofTls;
};

export const consumerRule: RecordRule = (members) => atLeastOneOf(members, ["custom_id", "username"]);

/**
 * Requires a known plugin. Kong's clients search the message for `not enabled`. The rest of Kong's message names a
 * property that Sluice does not have.
 */
export const pluginName: TextRule = (name) => {
  if (pluginNamed(name) !== undefined) return undefined;
  const instead = insteadOfPlugin(name);
  if (instead !== undefined) return `plugin '${name}' not enabled: ${instead}`;
  const available = `Sluice has ${pluginNames().toSorted().join(", ")}`;
  const suggestion = suggestionFor(name, pluginNames());
  return suggestion === ""
    ? `plugin '${name}' not enabled: ${available}; use one of these, or load a plugin of your own with SLUICE_PLUGINS`
    : `plugin '${name}' not enabled${suggestion} ${available}`;
};

/**
 * Refuses references that the plugin does not support, and a protecting plugin that would have no effect. `checkConfig`
 * validates the config.
 */
export const pluginRule: RecordRule = (members) => {
  const { name, protocols } = members;
  const plugin = pluginNamed(name);
  if (plugin === undefined) return [];
  const refused = refusedTargets(plugin)
    .filter((reference) => members[reference] !== null)
    .map((reference) => ({ path: [reference], message: "value must be null" }));
  const isForBoth = members.consumer !== null && members.consumer_group !== null;
  return [
    ...(isForBoth && refused.length === 0 ? [{ path: ["consumer_group"], message: CONSUMER_OR_GROUP }] : refused),
    ...(plugin.protects ? unprotected(protocols, plugin.actsOnConnections === undefined ? [] : streamProtocols) : []),
  ];
};

const served: readonly unknown[] = servedProtocols;
const known: readonly unknown[] = pluginProtocols;

/**
 * A violation if all protocols are known, but the plugin acts on none of them. Kong 3.9 rejects them too.
 *
 * @param connections The protocols of connections on which the plugin acts
 */
function unprotected(protocols: unknown, connections: readonly string[]): readonly Violation[] {
  const covered: readonly unknown[] = [...served, ...connections];
  return Array.isArray(protocols) &&
    protocols.length > 0 &&
    protocols.every((protocol) => known.includes(protocol) && !covered.includes(protocol))
    ? [{ path: ["protocols"], message: `must include one of: ${covered.join(", ")}` }]
    : [];
}

/** Requires an address, a port, or both. */
export const endpointRule: RecordRule = (members) =>
  isEmptyValue(members.ip) && isEmptyValue(members.port) ? atLeastOneOf(members, ["ip", "port"]) : [];
