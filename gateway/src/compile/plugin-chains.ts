/**
 * Plugin chains: which use of each plugin runs for a route and a consumer, as in Kong. One use per plugin name,
 * the most specific wins; a disabled one is not there, so a wider one applies.
 *
 * Plugins are found by what they are attached to. A route remembers what it found in its four places, and its chains
 * serve until one of those is another: no change of a plugin looks at a route.
 */
import {
  BucketMap,
  byId,
  type Difference,
  differences,
  type PluginConfigs,
  type PluginName,
  plugins,
  type SnapshotPlugin,
  type SnapshotRoute,
} from "@sluice/model/serving";
import type { PluginHandlers, PluginInstance, PluginServices } from "../plugins/plugin.ts";
import { errorAnswer } from "../proxy/response/gateway-errors.ts";
import type { PluginChain, PluginStep, RouteChains, Scheme } from "../runtime/runtime.ts";
import { GroupIndex } from "./group-index.ts";

export interface PluginTools {
  readonly handlers: PluginHandlers;
  readonly services: PluginServices;
}

/** An enabled plugin. */
interface LoadedPlugin {
  readonly id: string;
  /** Of one that is unavailable it need not be a plugin of ours. */
  readonly name: string;
  readonly step: PluginStep;
  /** What it is attached to. */
  readonly scope: string;
  readonly consumer: string | undefined;
  readonly protocols: SnapshotPlugin["protocols"];
}

/** Plugins that are for one consumer each. */
interface ConsumerPlugins {
  readonly byScope: GroupIndex<LoadedPlugin>;
  readonly byConsumer: GroupIndex<LoadedPlugin>;
}

/** More chains of consumers than this are not remembered by one route. */
const MAX_CHAINS = 1000;

/** Instances of all enabled plugins, found by scope. An instance lives as long as its plugin is unchanged. */
export class PluginTable {
  readonly #loaded: BucketMap<LoadedPlugin>;
  /** Those for everybody, by scope. */
  readonly shared: GroupIndex<LoadedPlugin>;
  readonly perConsumer: ConsumerPlugins;

  private constructor(loaded: BucketMap<LoadedPlugin>, general: GroupIndex<LoadedPlugin>, personal: ConsumerPlugins) {
    this.#loaded = loaded;
    this.shared = general;
    this.perConsumer = personal;
  }

  static readonly empty = new PluginTable(
    new BucketMap(byId),
    new GroupIndex(({ scope, consumer }) => (consumer === undefined ? scope : undefined)),
    {
      byScope: new GroupIndex(({ scope, consumer }) => (consumer === undefined ? undefined : scope)),
      byConsumer: new GroupIndex(({ consumer }) => consumer),
    },
  );

  /** The table after these changes; the same one when nothing that runs has changed. */
  with(changes: readonly Difference<SnapshotPlugin>[], tools: PluginTools): PluginTable {
    const loaded = this.#loaded.with(
      changes.map(({ key, after }) => [key, after?.enabled ? load(after, tools) : undefined] as const),
    );
    if (loaded === this.#loaded) return this;
    const changed = differences(this.#loaded, loaded);
    const byScope = this.perConsumer.byScope.with(changed);
    const personal =
      byScope === this.perConsumer.byScope
        ? this.perConsumer
        : { byScope, byConsumer: this.perConsumer.byConsumer.with(changed) };
    return new PluginTable(loaded, this.shared.with(changed), personal);
  }
}

/** What plugins do to requests of one route. Chains are made at first use. */
export class RoutePlugins implements Readonly<Record<Scheme, RouteChains>> {
  /** Of the table for which this was last found to be right. */
  #general: GroupIndex<LoadedPlugin>;
  readonly #personal: ConsumerPlugins;
  readonly #scopes: readonly string[];
  readonly #found: readonly (readonly LoadedPlugin[])[];
  readonly #route: SnapshotRoute;
  #http: RouteChains | undefined;
  #https: RouteChains | undefined;

  constructor({ shared: general, perConsumer: personal }: PluginTable, route: SnapshotRoute) {
    this.#general = general;
    this.#personal = personal;
    this.#route = route;
    this.#scopes = scopesOf(route, null);
    this.#found = this.#scopes.map((scope) => general.of(scope));
  }

  /** Whether it would be the same, made of this table. */
  isOf({ shared: general, perConsumer: personal }: PluginTable): boolean {
    if (personal !== this.#personal) return false;
    if (general === this.#general) return true;
    if (!this.#scopes.every((scope, at) => general.of(scope) === this.#found[at])) return false;
    this.#general = general;
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

  #chainsFor(scheme: Scheme): RouteChains {
    const found = this.#found;
    const { byScope, byConsumer } = this.#personal;
    const route = this.#route;
    const protocol = protocolOf(route, scheme);
    const anonymous = select(found, protocol);
    const identified = new Map<string, { readonly after: number; readonly chain: PluginChain }>();
    return {
      anonymous,
      identified(consumer, after) {
        // Without a plugin of its own a consumer's chain is everyone's.
        if (!byConsumer.has(consumer.id)) return anonymous;
        const known = identified.get(consumer.id);
        if (known?.after === after) return known.chain;
        const own = scopesOf(route, consumer.id).map((scope) => byScope.of(scope));
        const chosen = select(byPrecedence(own, found), protocol);
        const chain = [
          ...anonymous.filter((step) => step.priority >= after),
          ...chosen.filter((step) => step.priority < after),
        ];
        if (identified.size >= MAX_CHAINS) identified.clear();
        identified.set(consumer.id, { after, chain });
        return chain;
      },
    };
  }
}

type Scopes<Found> = readonly Found[];

/** A plugin's places for one consumer or for everybody: the route and the service, the route, the service, anywhere. */
function scopesOf({ id, service }: Pick<SnapshotRoute, "id" | "service">, consumer: string | null): Scopes<string> {
  const owner = service?.id ?? null;
  return [
    scopeKey(id, owner, consumer),
    scopeKey(id, null, consumer),
    scopeKey(null, owner, consumer),
    scopeKey(null, null, consumer),
  ];
}

/** The most specific first; route and service together come before the consumer alone. */
function byPrecedence<Found>(
  [ownBoth, ownRoute, ownService, own]: Scopes<Found>,
  [both, route, service, any]: Scopes<Found>,
): Scopes<Found> {
  return [ownBoth, ownRoute, ownService, both, own, route, service, any] as Scopes<Found>;
}

const scopeKey = (route: string | null, service: string | null, consumer: string | null): string =>
  `${route ?? ""}/${service ?? ""}/${consumer ?? ""}`;

type Protocol = LoadedPlugin["protocols"][number];

/** What requests of a route speak: its protocols are of one family. */
function protocolOf({ protocols: [first] }: SnapshotRoute, scheme: Scheme): Protocol {
  if (first !== "grpc" && first !== "grpcs") return scheme;
  return scheme === "http" ? "grpc" : "grpcs";
}

/**
 * One use of each plugin, in order of priority. A plugin whose protocols leave the request's out is not there for it, so
 * a wider one applies.
 */
function select(found: Scopes<readonly LoadedPlugin[]>, protocol: Protocol): PluginChain {
  const chosen = new Map<string, PluginStep>();
  for (const place of found)
    for (const { name, step, protocols } of place) {
      if (protocols.includes(protocol) && !chosen.has(name)) chosen.set(name, step);
    }
  return [...chosen.values()].sort((one, other) => other.priority - one.priority);
}

function load(plugin: SnapshotPlugin, tools: PluginTools): LoadedPlugin {
  const { id, route, service, consumer, protocols } = plugin;
  return {
    id,
    name: plugin.name,
    step: stepOf(plugin, tools),
    scope: scopeKey(route?.id ?? null, service?.id ?? null, consumer?.id ?? null),
    consumer: consumer?.id,
    protocols,
  };
}

/** Plugins that find out who the consumer is cannot be attached to one. */
const identifying = Object.values(plugins).filter(({ protects, refuses }) => protects && refuses.includes("consumer"));

/**
 * What stands in for a plugin that is not known acts before all others, so that none of them counts or answers a request
 * that is refused. One of a consumer acts as soon as the consumer is known.
 */
const ofUnknown = (plugin: SnapshotPlugin): number =>
  plugin.consumer === null ? Number.POSITIVE_INFINITY : Math.min(...identifying.map(({ priority }) => priority)) - 0.5;

/** Names and configs were checked when the snapshot was made: an unknown name that is not marked is a bug of ours. */
function stepOf(plugin: SnapshotPlugin, { handlers, services }: PluginTools): PluginStep {
  const unavailable = plugin._sluice?.unavailable;
  const isKnown = Object.hasOwn(plugins, plugin.name);
  // It may protect something and cannot run, so its routes fail closed wherever it would act.
  if (unavailable !== undefined) {
    const priority = isKnown ? plugins[plugin.name as PluginName].priority : ofUnknown(plugin);
    const answer = errorAnswer("closed", unavailable);
    return { priority, instance: { access: () => answer } };
  }
  if (!isKnown) throw new Error(`a snapshot holds the unknown plugin ${plugin.name}`);
  const name = plugin.name as PluginName;
  return { priority: plugins[name].priority, instance: instanceOf(name, plugin, { handlers, services }) };
}

function instanceOf<Name extends PluginName>(
  name: Name,
  plugin: SnapshotPlugin,
  { handlers, services }: PluginTools,
): PluginInstance {
  const scope = {
    id: plugin.id,
    serviceId: plugin.service?.id ?? null,
    routeId: plugin.route?.id ?? null,
    consumerId: plugin.consumer?.id ?? null,
  };
  return handlers[name](plugin.config as unknown as PluginConfigs[Name], scope, services);
}
