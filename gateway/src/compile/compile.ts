/** Compile: from a snapshot to a runtime, sharing with the runtime before what did not change. */
import type { Service, Snapshot, SnapshotRoute } from "@sluice/model";
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
    const samePlugins = previous !== null && previous.#plugins === this.#plugins;
    const parts = new Map<string, RoutePart>();
    for (const route of this.snapshot.routes.values()) {
      if (!isServed(route, this.snapshot.services)) continue;
      const upstream = (route.service && this.upstreams.get(route.service.id)) ?? null;
      const before = previous?.parts.get(route.id);
      const sameRoute = before?.route === route;
      if (before && sameRoute && samePlugins && before.upstream === upstream) {
        parts.set(route.id, before);
        continue;
      }
      const chains = before && sameRoute && samePlugins ? before.chains : routeChains(this.#plugins, route);
      parts.set(route.id, { route, upstream, chains });
    }
    return parts;
  }
}

/** A disabled service's routes do not exist; a route without a service does. */
const isServed = (route: SnapshotRoute, services: ReadonlyMap<string, Service>): boolean =>
  route.service === null || services.get(route.service.id)?.enabled === true;

function upstreamsOf(
  snapshot: Snapshot,
  balancers: ReadonlyMap<string, Balancer>,
  previous: CompiledRuntime | null,
): ReadonlyMap<string, Upstream> {
  const byName = new Map([...balancers.values()].map((balancer) => [balancer.upstream.name, balancer]));
  const upstreams = new Map<string, Upstream>();
  for (const service of snapshot.services.values()) {
    const endpoints = snapshot.endpoints.get(service.id) ?? null;
    // A core Service has targets already.
    const balancer = (endpoints === null && byName.get(service.host)) || null;
    const own = snapshot.certificates.get(service.client_certificate?.id ?? "");
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
