/**
 * Compiles a snapshot to a runtime that shares unchanged parts with the previous one. The cost depends on the
 * difference between the two snapshots. Upstreams and the plugin chains of routes are built by the first request that
 * needs them.
 */
import { bucketDifferences, type GraphqlDocuments, type Snapshot, type SnapshotRoute } from "@sluice/model/serving";
import type { PluginPhases } from "@sluice/plugin-sdk";
import type { Balancer } from "../balance/balancer.ts";
import type { InstanceCache } from "../plugin-caches/create-caches.ts";
import type { InstanceChanges } from "../plugin-services/plugin-instance.ts";
import { Balancers, type BalancerTools } from "./balancers.ts";
import { CertificateRequests } from "./certificate-requests.ts";
import { Certificates } from "./certificates.ts";
import { CompiledRoutes } from "./compiled-routes.ts";
import { ConsumerGroups } from "./identities/consumer-groups.ts";
import { GroupIndex } from "./identities/group-index.ts";
import { CompiledIdentities } from "./identities/identities.ts";
import { AcmeChallenges } from "./listeners/acme-challenges.ts";
import { CompiledListeners, listenersOf } from "./listeners/compiled-listeners.ts";
import { explainStreamRoutes } from "./listeners/explain-streams.ts";
import { StreamRouter } from "./listeners/stream-router.ts";
import { isStreamRoute } from "./listeners/stream-routes.ts";
import { PluginTable } from "./plugin-chains.ts";
import { Router } from "./router/router.ts";
import type {
  CompiledRoute,
  ExchangeCount,
  ExplainedArrival,
  ExplainedRoutes,
  ListenerStream,
  NewPluginStep,
  PluginTools,
  RoutableRequest,
  RouteMatch,
  Runtime,
  StreamArrival,
} from "./runtime.ts";
import { CompiledUpstreams } from "./upstream-index.ts";

/** Dependencies that the node provides to compiled objects. */
export interface CompileTools extends PluginTools, BalancerTools {
  /** Whether a configuration has arrived, which may be empty. Default: yes. */
  readonly isConfigured?: () => boolean;
}

/**
 * Throws only when the snapshot violates a guarantee of its validation (a bug). The caller then keeps its runtime.
 *
 * @param previous the current runtime; null at start
 */
export function compile(previous: Runtime | null, snapshot: Snapshot, tools: CompileTools): Runtime {
  return new CompiledRuntime(previous instanceof CompiledRuntime ? previous : null, snapshot, tools);
}

/** Whether the route serves requests on the node's own listeners. */
const isForRequests = (route: SnapshotRoute): boolean => !listenersOf(route) && !isStreamRoute(route);

const noDocuments = new GroupIndex<GraphqlDocuments>(({ name }) => name);

class CompiledRuntime implements Runtime {
  readonly snapshot: Snapshot;
  readonly identities: CompiledIdentities;
  readonly certificates: Certificates;
  readonly challenges: AcmeChallenges | null;
  readonly certificateRequests: CertificateRequests;
  readonly listeners: CompiledListeners;
  readonly #balancers: Balancers;
  readonly upstreams: CompiledUpstreams;
  readonly exchanges: ExchangeCount = { open: 0, onIdle: null };
  readonly unmatched: Runtime["unmatched"];
  readonly #groups: ConsumerGroups;
  readonly #documents: GroupIndex<GraphqlDocuments>;
  readonly #plugins: PluginTable;
  readonly #parts: CompiledRoutes;
  readonly #router: Router;
  readonly #streams: StreamRouter;

  constructor(previous: CompiledRuntime | null, snapshot: Snapshot, tools: CompileTools) {
    const before = previous?.snapshot;
    const changed = <Value>(collection: (of: Snapshot) => ReadonlyMap<string, Value>) =>
      bucketDifferences(before ? collection(before) : new Map<string, Value>(), collection(snapshot));
    const routes = changed((of) => of.routes);
    const plugins = changed((of) => of.plugins);
    this.snapshot = snapshot;
    this.unmatched = (tools.isConfigured?.() ?? true) ? "noRoute" : "noConfiguration";
    this.identities = CompiledIdentities.of(snapshot, {
      previous: previous?.identities ?? null,
      now: tools.services.now,
    });
    this.certificates = (previous?.certificates ?? Certificates.empty).with(snapshot);
    this.challenges = AcmeChallenges.after(
      previous?.challenges ?? null,
      changed((of) => of.certificates),
    );
    this.certificateRequests = CertificateRequests.of(snapshot, {
      previous: previous?.certificateRequests ?? null,
      plugins,
      definitions: tools.plugins,
    });
    const { memberships } = this.identities;
    const groups = previous === null ? null : previous.#groups;
    this.#groups = groups?.isOf(memberships, snapshot.consumer_groups)
      ? groups
      : new ConsumerGroups(memberships, snapshot.consumer_groups);
    this.#documents = (previous === null ? noDocuments : previous.#documents).with(
      changed((of) => of.graphql_documents),
    );
    this.#plugins = (previous === null ? PluginTable.empty : previous.#plugins)
      .with({ plugins, vaults: changed((of) => of.vaults), snapshot }, tools)
      .withGroups(this.#groups);
    this.#balancers = (previous === null ? Balancers.empty : previous.#balancers).with(snapshot, tools);
    this.#router = (previous === null ? Router.empty : previous.#router).with({
      removed: routes.flatMap(({ before }) => (before && isForRequests(before) ? before : [])),
      added: routes.flatMap(({ after }) => (after && isForRequests(after) ? after : [])),
    });
    this.#streams = (previous === null ? StreamRouter.empty : previous.#streams).with(routes);
    this.listeners = (previous?.listeners ?? CompiledListeners.empty).with(snapshot, routes);
    this.upstreams = CompiledUpstreams.of(snapshot, {
      balancers: this.#balancers,
      previous: previous?.upstreams ?? null,
      zone: tools.zone ?? null,
    });
    this.#parts = new CompiledRoutes(this.upstreams, this.#plugins, previous === null ? null : previous.#parts);
    // Nothing may throw from here on, because these caches are shared with the previous runtime.
    for (const { key, after } of routes) if (after === undefined) this.#parts.forget(key);
    for (const { key, after } of changed((of) => of.services)) if (after === undefined) this.upstreams.forget(key);
  }

  graphqlDocuments(nameOrId: string): GraphqlDocuments | undefined {
    return this.snapshot.graphql_documents.get(nameOrId) ?? this.#documents.of(nameOrId)[0];
  }

  get balancers(): ReadonlyMap<string, Balancer> {
    return this.#balancers.all;
  }

  pluginPhases(pluginId: string): PluginPhases | null {
    return this.#plugins.phasesOf(pluginId);
  }

  pluginCache(pluginId: string): InstanceCache<unknown> | null {
    return this.#plugins.cacheOf(pluginId);
  }

  newPluginStep(pluginId: string, tools: PluginTools): NewPluginStep | null {
    const plugin = this.snapshot.plugins.get(pluginId);
    return plugin === undefined ? null : this.#plugins.newStep(plugin, tools);
  }

  explainRoutes(request: RoutableRequest, size: number): Generator<undefined, ExplainedRoutes> {
    const disabledService = this.#disabledService;
    return (this.#routerFor(request) ?? Router.empty).explain(request, { size, disabledService });
  }

  explainStream(arrival: ExplainedArrival, size: number): Generator<undefined, ExplainedRoutes> {
    return explainStreamRoutes(this.snapshot.routes.values(), arrival, {
      size,
      disabledService: this.#disabledService,
    });
  }

  /** The name or id of the route's service if it is disabled; null: it is enabled, or the route has no service. */
  readonly #disabledService = ({ service }: SnapshotRoute): string | null => {
    if (service === null) return null;
    const { enabled = false, name = null } = this.snapshot.services.get(service.id) ?? {};
    return enabled ? null : (name ?? service.id);
  };

  instancesSince(previous: Runtime | null): InstanceChanges {
    return this.#plugins.changesSince(previous instanceof CompiledRuntime ? previous.#plugins : PluginTable.empty);
  }

  compiledRoute(routeId: string): CompiledRoute | null {
    const route = this.snapshot.routes.get(routeId);
    return route === undefined ? null : this.#parts.get(route);
  }

  matchStream(arrival: StreamArrival): ListenerStream {
    return this.#streams.match(arrival, (route) => this.#parts.get(route) !== null);
  }

  #routerFor(request: RoutableRequest): Router | null {
    return request.documentPort === null ? this.#router : this.listeners.routerFor(request);
  }

  match(request: RoutableRequest): RouteMatch | null {
    const router = this.#routerFor(request);
    if (router === null) return null;
    const { compiledRoute, length, captures } = router.match(request, this.#parts);
    return compiledRoute && { compiledRoute, matchedPath: length, captures };
  }
}
