/** Which plugins act on the connections of a route that serves no HTTP. */
import { mayProtect, pluginNamed, servedProtocols, streamProtocols } from "@sluice/model/serving";
import type { PluginFacts } from "@sluice/plugin-sdk";
import { scopeKey } from "../plugin-scopes.ts";
import type { ConnectionPlugins, PluginCandidate, PluginStep } from "../runtime.ts";

export interface ConnectionCandidate extends PluginCandidate {
  readonly step: PluginStep;
  /** Null if the plugin is marked unavailable, or its instance could not be created. */
  readonly instance: object | null;
  /** The key (`scopeKey`) of the route, service, consumer and consumer group that the plugin is attached to. */
  readonly scope: string;
  /** See `PluginFacts`; undefined also if the node lacks the plugin. */
  readonly actsOnConnections: PluginFacts["actsOnConnections"];
  /** Why its scope is closed; undefined: it is not. */
  readonly unavailable: string | undefined;
}

/** The scope of plugins that are attached to nothing. */
const GLOBAL = scopeKey({});

/**
 * One instance per plugin name. An instance counts if it protects and is attached to the route or its service, or if
 * its `protocols` name one of connections. Other instances are for requests only, as in Kong, where the default
 * `protocols` of a plugin are those of HTTP, except for ip-restriction. If an instance that counts may protect but
 * cannot act on connections, all of them are closed.
 */
export function connectionPluginsOf(found: readonly (readonly ConnectionCandidate[])[]): ConnectionPlugins {
  const chosen = new Map<string, ConnectionCandidate>();
  for (const plugin of found.flat())
    if (concernsConnections(plugin) && !chosen.has(plugin.name)) chosen.set(plugin.name, plugin);
  const plugins = [...chosen.values()].sort((one, other) => other.step.priority - one.step.priority);
  const closing = plugins.find(isClosing);
  return {
    steps: plugins.flatMap(({ step, actsOnConnections }) => (actsOnConnections === undefined ? [] : [step])),
    closed: closing === undefined ? null : { plugin: closing.id, reason: closingReason(closing) },
  };
}

function concernsConnections(plugin: ConnectionCandidate): boolean {
  const { name, protocols, scope, actsOnConnections, unavailable } = plugin;
  // The stand-in for an invalid plugin need not have its protocols. An unknown plugin may act on connections.
  if (unavailable !== undefined && (actsOnConnections !== undefined || pluginNamed(name) === undefined)) return true;
  if (protocols.some((protocol) => streamProtocols.some((one) => one === protocol))) return true;
  if (scope !== GLOBAL && (mayProtect(name) || isClosing(plugin))) return true;
  return actsOnConnections === "byDefault" && servedProtocols.every((protocol) => protocols.includes(protocol));
}

const isClosing = ({ name, instance, actsOnConnections }: ConnectionCandidate): boolean =>
  instance === null || (actsOnConnections === undefined && mayProtect(name));

const closingReason = ({ name, unavailable, instance }: ConnectionCandidate): string =>
  unavailable ??
  (instance === null
    ? `the plugin ${name} cannot be created`
    : `the plugin ${name} protects the route, but acts on HTTP only: remove the plugin from the route or Gateway`);
