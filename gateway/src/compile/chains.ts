/**
 * Plugin chains: which use of each plugin runs for a route and a consumer (kong-contract 3.1). One use per plugin name,
 * the most specific wins; a disabled one is not there, so a wider one applies.
 */
import {
  type Consumer,
  type PluginConfigs,
  type PluginName,
  plugins,
  type Route,
  type SnapshotPlugin,
} from "@sluice/model";
import type { PluginHandlers, PluginInstance, PluginServices } from "../plugins/plugin.ts";
import type { Chain, RouteChains, Scheme, Step } from "../runtime/runtime.ts";

export interface PluginTools {
  readonly handlers: PluginHandlers;
  readonly services: PluginServices;
}

interface Loaded {
  readonly plugin: SnapshotPlugin;
  readonly step: Step;
  /** What it is attached to. Kept, as it is asked of every plugin after every change of one. */
  readonly scope: string;
  readonly actsOn: Readonly<Record<Scheme, boolean>>;
}

/** More chains of consumers than this are not remembered by one route. */
const MAX_CHAINS = 1000;

/** Instances of all enabled plugins, found by name and scope. An instance lives as long as its plugin is unchanged. */
export class PluginTable {
  readonly #loaded: ReadonlyMap<string, Loaded>;
  /** `uses` by the scheme of the requests that they act on; the consumers that plugins are for. */
  #known: { readonly uses: Readonly<Record<Scheme, Uses>>; readonly consumers: ReadonlySet<string> } | undefined;

  private constructor(loaded: ReadonlyMap<string, Loaded>) {
    this.#loaded = loaded;
  }

  /** Made at first use: of changes in a row, few tables meet a request. */
  get #indexes() {
    if (this.#known) return this.#known;
    const loaded = [...this.#loaded.values()];
    this.#known = {
      uses: usesByScheme(loaded),
      consumers: new Set(loaded.flatMap(({ plugin }) => plugin.consumer?.id ?? [])),
    };
    return this.#known;
  }

  static readonly empty = new PluginTable(new Map());

  /** The table for these plugins; the same one when nothing that runs has changed. */
  with(all: ReadonlyMap<string, SnapshotPlugin>, tools: PluginTools): PluginTable {
    const loaded = new Map<string, Loaded>();
    let reused = 0;
    for (const plugin of all.values()) {
      if (!plugin.enabled) continue;
      const before = this.#loaded.get(plugin.id);
      if (before?.plugin === plugin) reused++;
      loaded.set(plugin.id, before?.plugin === plugin ? before : load(plugin, tools));
    }
    return reused === loaded.size && reused === this.#loaded.size ? this : new PluginTable(loaded);
  }

  /** Whether any plugin is for this consumer alone; without one the consumer's chain is everyone's. */
  concerns(consumer: Consumer): boolean {
    return this.#indexes.consumers.has(consumer.id);
  }

  /** False when every plugin acts on every scheme: then one chain serves both. */
  get tellsSchemesApart(): boolean {
    const { uses } = this.#indexes;
    return uses.http !== uses.https;
  }

  select({ scheme, route, service, consumer }: Scope): Chain {
    const scopes = precedence(route, service, consumer);
    return [...this.#indexes.uses[scheme].values()].flatMap((uses) => {
      const winner = scopes.find((scope) => uses.has(scope));
      return (winner !== undefined && uses.get(winner)) || [];
    });
  }
}

export interface Scope {
  readonly scheme: Scheme;
  readonly route: string | null;
  readonly service: string | null;
  readonly consumer: string | null;
}

/** Chains of one route, made at first use. */
export function routeChains(table: PluginTable, route: Route): Readonly<Record<Scheme, RouteChains>> {
  const http = chainsFor(table, "http", route);
  return { http, https: table.tellsSchemesApart ? chainsFor(table, "https", route) : http };
}

function chainsFor(table: PluginTable, scheme: Scheme, route: Route): RouteChains {
  const scope = { scheme, route: route.id, service: route.service?.id ?? null };
  let anonymous: Chain | undefined;
  const identified = new Map<string, { readonly after: number; readonly chain: Chain }>();
  return {
    get anonymous() {
      anonymous ??= table.select({ ...scope, consumer: null });
      return anonymous;
    },
    identified(consumer, after) {
      if (!table.concerns(consumer)) return this.anonymous;
      const known = identified.get(consumer.id);
      if (known?.after === after) return known.chain;
      const chain = [
        ...this.anonymous.filter((step) => step.priority >= after),
        ...table.select({ ...scope, consumer: consumer.id }).filter((step) => step.priority < after),
      ];
      if (identified.size >= MAX_CHAINS) identified.clear();
      identified.set(consumer.id, { after, chain });
      return chain;
    },
  };
}

/** Scopes that apply, the most specific first. */
function precedence(route: string | null, service: string | null, consumer: string | null): readonly string[] {
  return [
    scopeKey(route, service, consumer),
    scopeKey(route, null, consumer),
    scopeKey(null, service, consumer),
    scopeKey(route, service, null),
    scopeKey(null, null, consumer),
    scopeKey(route, null, null),
    scopeKey(null, service, null),
    scopeKey(null, null, null),
  ];
}

const scopeKey = (route: string | null, service: string | null, consumer: string | null): string =>
  `${route ?? ""}/${service ?? ""}/${consumer ?? ""}`;

/** By name, in order of priority; inside by scope. */
type Uses = ReadonlyMap<PluginName, ReadonlyMap<string, Step>>;

/** A plugin whose protocols leave a scheme out is not there for its requests, so a wider one applies. */
function usesByScheme(loaded: readonly Loaded[]): Readonly<Record<Scheme, Uses>> {
  const actingOn = (scheme: Scheme) => loaded.filter(({ actsOn }) => actsOn[scheme]);
  const [http, https] = [actingOn("http"), actingOn("https")];
  const all = usesOf(http);
  const same = http.length === loaded.length && https.length === loaded.length;
  return { http: all, https: same ? all : usesOf(https) };
}

function usesOf(loaded: Iterable<Loaded>): Uses {
  const byName = new Map<PluginName, Map<string, Step>>();
  for (const { plugin, step, scope } of loaded) {
    const name = plugin.name as PluginName;
    const uses = byName.get(name) ?? new Map<string, Step>();
    uses.set(scope, step);
    byName.set(name, uses);
  }
  return new Map([...byName].sort(([a], [b]) => plugins[b].priority - plugins[a].priority));
}

function load(plugin: SnapshotPlugin, tools: PluginTools): Loaded {
  const { route, service, consumer, protocols } = plugin;
  return {
    plugin,
    step: stepOf(plugin, tools),
    scope: scopeKey(route?.id ?? null, service?.id ?? null, consumer?.id ?? null),
    actsOn: { http: protocols.includes("http"), https: protocols.includes("https") },
  };
}

/** Names and configs were checked when the snapshot was made: an unknown name here is a bug of ours. */
function stepOf(plugin: SnapshotPlugin, { handlers, services }: PluginTools): Step {
  if (!Object.hasOwn(plugins, plugin.name)) throw new Error(`a snapshot holds the unknown plugin ${plugin.name}`);
  const name = plugin.name as PluginName;
  return { priority: plugins[name].priority, instance: instanceOf(name, plugin, { handlers, services }) };
}

function instanceOf<Name extends PluginName>(
  name: Name,
  plugin: SnapshotPlugin,
  { handlers, services }: PluginTools,
): PluginInstance {
  const unavailable = plugin._sluice?.unavailable;
  // It protects something and its config is invalid: wherever it would act, nobody gets in (house decision 11).
  if (unavailable !== undefined) return { access: () => ({ status: 503, message: unavailable }) };
  const scope = {
    id: plugin.id,
    serviceId: plugin.service?.id ?? null,
    routeId: plugin.route?.id ?? null,
    consumerId: plugin.consumer?.id ?? null,
  };
  return handlers[name](plugin.config as unknown as PluginConfigs[Name], scope, services);
}
