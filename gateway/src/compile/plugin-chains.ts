/**
 * Plugin chains: which instances run for a route, a consumer and the consumer's groups. As in Kong, one instance runs
 * per plugin name, and the most specific scope wins. A disabled plugin is ignored, so an instance with a wider scope
 * applies.
 *
 * Plugins are indexed by scope. A route remembers the plugins of its four scopes. Its chains are valid until one of
 * these plugins, or any plugin of a consumer or of a consumer group, changes. While a plugin is attached to a group, a
 * changed membership makes the chains invalid too. So a plugin change does not visit routes.
 */
import {
  BucketMap,
  bucketDifferences,
  type Consumer,
  type Difference,
  hashOfId,
  type Snapshot,
  type SnapshotPlugin,
  type SnapshotRoute,
  type Vault,
  vaultPrefixesOf,
  vaultReferencesIn,
} from "@sluice/model/serving";
import type { PluginPhases } from "@sluice/plugin-sdk";
import { errorAnswer } from "../exchange/gateway-errors.ts";
import type { InstanceCache } from "../plugin-caches/create-caches.ts";
import { type InstanceChanges, PluginInstance } from "../plugin-services/plugin-instance.ts";
import { withVaultValues } from "../plugin-services/vault-values.ts";
import type { ConsumerGroups } from "./identities/consumer-groups.ts";
import { GroupIndex } from "./identities/group-index.ts";
import { type ConnectionCandidate, connectionPluginsOf } from "./listeners/connection-plugins.ts";
import { byPrecedence, type PluginOwner, type Scopes, scopeKey, scopesOf } from "./plugin-scopes.ts";
import type {
  ConnectionPlugins,
  NewPluginStep,
  PluginCandidate,
  PluginChain,
  PluginStep,
  PluginTools,
  RouteChains,
  RoutePluginChains,
  Scheme,
} from "./runtime.ts";
import { VaultIndex } from "./vault-index.ts";

interface LoadedPlugin extends ConnectionCandidate {
  /** Null if the plugin is marked unavailable, or its instance could not be created. */
  readonly instance: PluginInstance | null;
  readonly consumer: string | undefined;
  readonly consumerGroup: string | undefined;
  /** The prefixes of the vaults that the config refers to, existing or not. */
  readonly vaults: readonly string[];
}

interface ConsumerPlugins {
  readonly byScope: GroupIndex<LoadedPlugin>;
  readonly byConsumer: GroupIndex<LoadedPlugin>;
  readonly byConsumerGroup: GroupIndex<LoadedPlugin>;
  /** Null if no plugin is attached to a consumer group. */
  readonly groups: ConsumerGroups | null;
}

const isForAll = ({ consumer, consumerGroup }: LoadedPlugin): boolean =>
  consumer === undefined && consumerGroup === undefined;

/** Maximum number of cached consumer chains per route and scheme. */
const MAX_CHAINS = 1000;

interface PluginIndexes {
  readonly loaded: BucketMap<LoadedPlugin>;
  /** Plugins without a consumer and without a consumer group, by scope. */
  readonly withoutConsumer: GroupIndex<LoadedPlugin>;
  readonly withConsumer: ConsumerPlugins;
  readonly vaults: VaultIndex;
}

export interface PluginChanges {
  readonly plugins: readonly Difference<SnapshotPlugin>[];
  readonly vaults: readonly Difference<Vault>[];
  /** The snapshot after the changes. */
  readonly snapshot: Pick<Snapshot, "plugins">;
}

/** Instances of all enabled plugins, by scope. An instance is kept until its plugin or a vault that it uses changes. */
export class PluginTable {
  readonly #indexes: PluginIndexes;

  private constructor(indexes: PluginIndexes) {
    this.#indexes = indexes;
  }

  static readonly empty = new PluginTable({
    loaded: new BucketMap(hashOfId),
    withoutConsumer: new GroupIndex((plugin) => (isForAll(plugin) ? plugin.scope : undefined)),
    withConsumer: {
      byScope: new GroupIndex((plugin) => (isForAll(plugin) ? undefined : plugin.scope)),
      byConsumer: new GroupIndex(({ consumer }) => consumer, new BucketMap(hashOfId)),
      byConsumerGroup: new GroupIndex(({ consumerGroup }) => consumerGroup),
      groups: null,
    },
    vaults: VaultIndex.empty,
  });

  get withoutConsumer(): GroupIndex<LoadedPlugin> {
    return this.#indexes.withoutConsumer;
  }

  get withConsumer(): ConsumerPlugins {
    return this.#indexes.withConsumer;
  }

  get #loaded(): BucketMap<LoadedPlugin> {
    return this.#indexes.loaded;
  }

  /** The table after these changes; the same object when no enabled plugin and no vault changed. */
  with({ plugins, vaults: changedVaults, snapshot }: PluginChanges, tools: PluginTools): PluginTable {
    const vaults = this.#indexes.vaults.withVaults(changedVaults);
    const load = (plugin: SnapshotPlugin | undefined) =>
      plugin?.enabled ? loadPlugin(plugin, tools, vaults) : undefined;
    const users = vaults.usersOf(changedVaults).map((id) => [id, snapshot.plugins.get(id)] as const);
    const changes = new Map([...users, ...plugins.map(({ key, after }) => [key, after] as const)]);
    const loaded = this.#loaded.with([...changes].map(([id, plugin]) => [id, load(plugin)] as const));
    if (loaded === this.#loaded)
      return vaults === this.#indexes.vaults ? this : new PluginTable({ ...this.#indexes, vaults });
    const changed = bucketDifferences(this.#loaded, loaded);
    const before = this.withConsumer;
    const byScope = before.byScope.with(changed);
    const withConsumer =
      byScope === before.byScope
        ? before
        : {
            ...before,
            byScope,
            byConsumer: before.byConsumer.with(changed),
            byConsumerGroup: before.byConsumerGroup.with(changed),
          };
    const withoutConsumer = this.withoutConsumer.with(changed);
    return new PluginTable({ loaded, withoutConsumer, withConsumer, vaults: vaults.withUsers(changed) });
  }

  /** The table for these groups; the same object if they are unchanged or no plugin is attached to a group. */
  withGroups(all: ConsumerGroups): PluginTable {
    const groups = this.withConsumer.byConsumerGroup.isEmpty ? null : all;
    if (groups === this.withConsumer.groups) return this;
    return new PluginTable({ ...this.#indexes, withConsumer: { ...this.withConsumer, groups } });
  }

  phasesOf(pluginId: string): PluginPhases | null {
    return this.#loaded.get(pluginId)?.instance?.phases ?? null;
  }

  cacheOf(pluginId: string): InstanceCache<unknown> | null {
    return this.#loaded.get(pluginId)?.instance?.cache ?? null;
  }

  /** A step with a new instance of the plugin, which is not part of the table. */
  newStep(plugin: SnapshotPlugin, tools: PluginTools): NewPluginStep {
    return stepOf(plugin, tools, this.#indexes.vaults);
  }

  /** The instances in which this table differs from a previous one. */
  changesSince(previous: PluginTable): InstanceChanges {
    const changed = bucketDifferences(previous.#loaded, this.#loaded);
    return {
      added: changed.flatMap(({ after }) => after?.instance ?? []),
      removed: changed.flatMap(({ before }) => before?.instance ?? []),
    };
  }
}

/** The plugin chains of one route. Chains are built at first use. */
export class RoutePlugins implements RoutePluginChains {
  /** The latest index for which these chains are known to be valid. */
  #withoutConsumer: GroupIndex<LoadedPlugin>;
  readonly #withConsumer: ConsumerPlugins;
  readonly #scopes: readonly string[];
  readonly #found: readonly (readonly LoadedPlugin[])[];
  readonly #route: SnapshotRoute;
  #http: RouteChains | undefined;
  #https: RouteChains | undefined;
  #connections: ConnectionPlugins | undefined;

  constructor({ withoutConsumer, withConsumer }: PluginTable, route: SnapshotRoute) {
    this.#withoutConsumer = withoutConsumer;
    this.#withConsumer = withConsumer;
    this.#route = route;
    this.#scopes = scopesOf(route);
    this.#found = this.#scopes.map((scope) => withoutConsumer.of(scope));
  }

  isOf({ withoutConsumer, withConsumer }: PluginTable): boolean {
    if (withConsumer !== this.#withConsumer) return false;
    if (withoutConsumer === this.#withoutConsumer) return true;
    if (!this.#scopes.every((scope, at) => withoutConsumer.of(scope) === this.#found[at])) return false;
    this.#withoutConsumer = withoutConsumer;
    return true;
  }

  get http(): RouteChains {
    this.#http ??= this.#chainsFor("http");
    return this.#http;
  }

  get https(): RouteChains {
    this.#https ??= this.#chainsFor("https");
    return this.#https;
  }

  get connections(): ConnectionPlugins {
    this.#connections ??= connectionPluginsOf(this.#found);
    return this.#connections;
  }

  candidates(consumer: Consumer | null): readonly PluginCandidate[] {
    const { groups } = this.#withConsumer;
    if (consumer === null) return this.#found.flat();
    return this.#foundFor(consumer.id, groups === null ? null : groups.of(consumer.id)).flat();
  }

  /** The plugins of all scopes, most specific first. */
  #foundFor(consumer: string, memberships: ReturnType<ConsumerGroups["of"]>): Scopes<readonly LoadedPlugin[]> {
    const { byScope } = this.#withConsumer;
    const of = (owner: PluginOwner) => scopesOf(this.#route, owner).map((scope) => byScope.of(scope));
    const ofGroups = (memberships?.ids ?? []).map((consumerGroup) => of({ consumerGroup }));
    return byPrecedence({ own: of({ consumer }), ofGroups, all: this.#found });
  }

  #chainsFor(scheme: Scheme): RouteChains {
    const found = this.#found;
    const { byConsumer, groups } = this.#withConsumer;
    const foundFor = this.#foundFor.bind(this);
    const protocol = protocolOf(this.#route, scheme);
    const base = selectChain(found, protocol);
    const identified = new Map<string, { readonly after: number; readonly chain: PluginChain }>();
    return {
      base,
      identified(consumer, after) {
        const isOwner = !byConsumer.isEmpty && byConsumer.has(consumer.id);
        const memberships = groups === null ? null : groups.of(consumer.id);
        // A consumer without plugins and without groups uses the base chain.
        if (!isOwner && memberships === null) return base;
        // Consumers without plugins of their own share the chains of their groups.
        const key = isOwner || memberships === null ? consumer.id : memberships.key;
        const known = identified.get(key);
        if (known?.after === after) return known.chain;
        const chosen = selectChain(foundFor(consumer.id, memberships), protocol);
        const chain = chainOf([
          ...base.steps.filter((step) => step.priority >= after),
          ...chosen.steps.filter(
            (step) => step.priority < after || (!base.steps.includes(step) && step.priority === UNKNOWN_PRIORITY),
          ),
        ]);
        if (identified.size >= MAX_CHAINS) identified.clear();
        identified.set(key, { after, chain });
        return chain;
      },
    };
  }
}

type Protocol = PluginCandidate["protocols"][number];

/** The protocol of a route's requests with this scheme. A route's protocols are HTTP only or gRPC only. */
export function protocolOf({ protocols: [first] }: SnapshotRoute, scheme: Scheme): Protocol {
  if (first !== "grpc" && first !== "grpcs") return scheme;
  return scheme === "http" ? "grpc" : "grpcs";
}

/**
 * One instance per plugin name, by descending priority. A plugin whose protocols exclude the request's is ignored, so
 * an instance with a wider scope applies.
 */
function selectChain(found: Scopes<readonly LoadedPlugin[]>, protocol: Protocol): PluginChain {
  const chosen = new Map<string, PluginStep>();
  for (const place of found)
    for (const { name, step, protocols } of place) {
      if (protocols.includes(protocol) && !chosen.has(name)) chosen.set(name, step);
    }
  return chainOf([...chosen.values()].sort((one, other) => other.priority - one.priority));
}

/** @param steps In descending order of priority */
export function chainOf(steps: readonly PluginStep[]): PluginChain {
  const bodySteps = steps.filter(({ phases }) => phases.responseBody !== undefined);
  const holdingSteps = steps.filter(({ phases }) => phases.response !== undefined).reverse();
  return {
    steps,
    bodySteps: bodySteps.length + holdingSteps.length === 0 ? null : bodySteps,
    holdingSteps: holdingSteps.length === 0 ? null : holdingSteps,
    hasLog: steps.some(({ phases }) => phases.log !== undefined),
  };
}

/**
 * The chain of an exchange whose consumer another plugin has replaced: the steps that have run, so that these plugins
 * also see the end of the exchange, and then the later steps of the new consumer's chain.
 *
 * @param current The step that has set the consumer
 */
export function continuedChain(chain: PluginChain, current: PluginStep, next: PluginChain): PluginChain {
  const ran = chain.steps.slice(0, chain.steps.indexOf(current) + 1);
  const later = next.steps.filter(
    (step) => !ran.includes(step) && (step.priority <= current.priority || step.priority === UNKNOWN_PRIORITY),
  );
  return chainOf([...ran, ...later]);
}

/** The chains with another step in place of each of their steps; `replace` is called once for each step. */
export function withSteps({ base, identified }: RouteChains, replace: (step: PluginStep) => PluginStep): RouteChains {
  const replaced = new Map<PluginStep, PluginStep>();
  const replacementOf = (step: PluginStep): PluginStep => {
    const known = replaced.get(step) ?? replace(step);
    replaced.set(step, known);
    return known;
  };
  const chain = ({ steps }: PluginChain) => chainOf(steps.map(replacementOf));
  return { base: chain(base), identified: (consumer, after) => chain(identified(consumer, after)) };
}

function loadPlugin(plugin: SnapshotPlugin, tools: PluginTools, vaults: VaultIndex): LoadedPlugin {
  const { id, protocols } = plugin;
  const [consumer, consumerGroup] = [plugin.consumer?.id, plugin.consumer_group?.id];
  return {
    id,
    name: plugin.name,
    ...stepOf(plugin, tools, vaults),
    scope: scopeKey({ route: plugin.route?.id, service: plugin.service?.id, consumer, consumerGroup }),
    consumer,
    consumerGroup,
    protocols,
    actsOnConnections: tools.plugins.get(plugin.name)?.actsOnConnections,
    unavailable: plugin._sluice?.unavailable,
  };
}

/**
 * The stand-in for an unknown plugin runs before all other plugins, so that no plugin counts or answers a refused
 * request. If it is attached to a consumer or a group, it runs as soon as the consumer is known.
 */
const UNKNOWN_PRIORITY = Number.POSITIVE_INFINITY;

/** Throws for an unknown plugin that is not marked unavailable: snapshots are validated, so this is a bug. */
function stepOf(
  plugin: SnapshotPlugin,
  { plugins, services }: PluginTools,
  vaults: VaultIndex,
): Pick<LoadedPlugin, "step" | "instance" | "vaults"> {
  const { id } = plugin;
  const { unavailable, priority: given } = plugin._sluice ?? {};
  const code = plugins.get(plugin.name);
  // The plugin may protect its scope but cannot run, so requests in that scope are refused.
  if (unavailable !== undefined) {
    const priority = given ?? code?.priority ?? UNKNOWN_PRIORITY;
    const answer = errorAnswer("closed", unavailable);
    return { step: { id, priority, phases: { access: () => answer } }, instance: null, vaults: [] };
  }
  if (code === undefined) throw new Error(`a snapshot holds the unknown plugin ${plugin.name}`);
  const scope = {
    id: plugin.id,
    serviceId: plugin.service?.id ?? null,
    routeId: plugin.route?.id ?? null,
    consumerId: plugin.consumer?.id ?? null,
    consumerGroupId: plugin.consumer_group?.id ?? null,
  };
  const references = vaultReferencesIn(code.schema, plugin.config);
  const instance = instanceOf(plugin, () => {
    const sources = { environment: services.vault, vaultAt: (prefix: string) => vaults.at(prefix) };
    const config = references.length === 0 ? plugin.config : withVaultValues(code, plugin.config, sources);
    return new PluginInstance(code, { config, scope, services });
  });
  const step = { id, priority: given ?? code.priority, phases: instance.phases };
  return { step, instance: instance.running, vaults: vaultPrefixesOf(references) };
}

/** If an instance cannot be created, requests in its scope are answered 503; other changes still take effect. */
function instanceOf(
  { id, name }: SnapshotPlugin,
  create: () => PluginInstance,
): { readonly phases: PluginPhases; readonly running: PluginInstance | null } {
  try {
    const running = create();
    return { phases: running.phases, running };
  } catch (error) {
    const answer = errorAnswer("closed", `plugin ${name} (${id}) cannot be created: ${error}`);
    return { phases: { access: () => answer }, running: null };
  }
}
