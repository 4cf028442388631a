/** Compile: from a snapshot to a runtime, sharing with the runtime before what did not change. */
import type { Snapshot, SnapshotRoute } from "@sluice/model";
import type { Balancer } from "../balance/balancer.ts";
import type { Match, MatchRequest, RoutePart, Runtime, Upstream, UpstreamParts } from "../runtime/runtime.ts";
import { type BalancerTools, balancersOf } from "./balancers.ts";
import { Certificates } from "./certificates.ts";
import { PluginTable, type PluginTools, routeChains } from "./chains.ts";
import { Identities } from "./identities.ts";
import { Router } from "./router/router.ts";
import { upstreamOf } from "./services.ts";

/** What the node offers to what is compiled. */
export interface CompileTools extends PluginTools, BalancerTools {}

/**
 * Throws only when the snapshot breaks what its checks promise (a bug): the caller then keeps the runtime that it has.
 *
 * @param previous the runtime that serves now; null at start
 */
export function compile(previous: Runtime | null, snapshot: Snapshot, tools: CompileTools): Runtime {
  return new CompiledRuntime(previous instanceof CompiledRuntime ? previous : null, snapshot, tools);
}

class CompiledRuntime implements Runtime {
  readonly snapshot: Snapshot;
  readonly identities: Identities;
  readonly certificates: Certificates;
  readonly balancers: ReadonlyMap<string, Balancer>;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly parts: ReadonlyMap<string, RoutePart>;
  readonly #plugins: PluginTable;
  readonly #router: Router;

  constructor(previous: CompiledRuntime | null, snapshot: Snapshot, tools: CompileTools) {
    this.snapshot = snapshot;
    this.identities = new Identities(previous?.identities ?? null, snapshot, tools.services.now);
    this.certificates = Certificates.of(
      snapshot,
      previous && { index: previous.certificates, snapshot: previous.snapshot },
    );
    this.#plugins = (previous === null ? PluginTable.empty : previous.#plugins).with(snapshot.plugins, tools);
    this.balancers = balancersOf(previous, snapshot, tools);
    this.upstreams = upstreamsOf(snapshot, this.balancers, previous);
    this.parts = this.#partsOf(previous);
    this.#router =
      previous === null
        ? routerOf(this.parts, new Map(), Router.empty)
        : routerOf(this.parts, previous.parts, previous.#router);
  }

  match(request: MatchRequest): Match | null {
    const { winner, length, captures } = this.#router.match(request);
    const part = winner && this.parts.get(winner.route.id);
    return part ? { part, matchedPath: length, captures } : null;
  }

  #partsOf(previous: CompiledRuntime | null): ReadonlyMap<string, RoutePart> {
    const { routes } = this.snapshot;
    const samePlugins = previous !== null && previous.#plugins === this.#plugins;
    if (samePlugins && previous.snapshot.routes === routes && previous.upstreams === this.upstreams)
      return previous.parts;
    const parts = new Map<string, RoutePart>();
    for (const [id, route] of routes) {
      const upstream = route.service === null ? null : this.upstreams.get(route.service.id);
      if (!isServed(upstream)) continue;
      const before = previous?.parts.get(id);
      const unchanged = before && samePlugins && before.route === route && before.upstream === upstream;
      parts.set(id, unchanged ? before : new Part(route, upstream, this.#plugins));
    }
    return parts;
  }
}

class Part implements RoutePart {
  readonly route: SnapshotRoute;
  readonly upstream: Upstream | null;
  readonly #plugins: PluginTable;
  #chains: RoutePart["chains"] | undefined;

  constructor(route: SnapshotRoute, upstream: Upstream | null, plugins: PluginTable) {
    this.route = route;
    this.upstream = upstream;
    this.#plugins = plugins;
  }

  /** Made at first use: after a change of a plugin all routes have others, and few have a request before the next. */
  get chains(): RoutePart["chains"] {
    this.#chains ??= routeChains(this.#plugins, this.route);
    return this.#chains;
  }
}

/** A disabled service's routes do not exist; a route without a service does. */
const isServed = (upstream: Upstream | null | undefined): upstream is Upstream | null =>
  upstream === null || upstream?.service.enabled === true;

function upstreamsOf(
  snapshot: Snapshot,
  balancers: ReadonlyMap<string, Balancer>,
  previous: CompiledRuntime | null,
): ReadonlyMap<string, Upstream> {
  const { services, endpoints: addresses, certificates } = snapshot;
  const old = previous?.snapshot;
  if (
    previous?.balancers === balancers &&
    old?.services === services &&
    old.endpoints === addresses &&
    old.certificates === certificates
  )
    return previous.upstreams;
  const byName = new Map([...balancers.values()].map((balancer) => [balancer.upstream.name, balancer]));
  const upstreams = new Map<string, Upstream>();
  for (const service of services.values()) {
    const endpoints = addresses.get(service.id) ?? null;
    // A core Service has targets already.
    const balancer = (endpoints === null && byName.get(service.host)) || null;
    const own = certificates.get(service.client_certificate?.id ?? "");
    const certificate = own ?? balancer?.certificate ?? null;
    const before = previous?.upstreams.get(service.id);
    const parts = { service, endpoints, balancer, certificate };
    upstreams.set(service.id, before && isSame(before.parts, parts) ? before : upstreamOf(parts));
  }
  return upstreams;
}

const isSame = (before: UpstreamParts, now: UpstreamParts): boolean =>
  before.service === now.service &&
  before.endpoints === now.endpoints &&
  before.balancer === now.balancer &&
  before.certificate === now.certificate;

function routerOf(
  parts: ReadonlyMap<string, RoutePart>,
  before: ReadonlyMap<string, RoutePart>,
  router: Router,
): Router {
  if (parts === before) return router;
  const removed: SnapshotRoute[] = [];
  const added: SnapshotRoute[] = [];
  for (const { route } of before.values()) {
    if (parts.get(route.id)?.route !== route) removed.push(route);
  }
  for (const { route } of parts.values()) {
    if (before.get(route.id)?.route !== route) added.push(route);
  }
  return router.with({ removed, added });
}
