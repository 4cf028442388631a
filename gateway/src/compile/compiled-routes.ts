/**
 * Compiled routes. Each has its upstream and its plugin chains. A route is compiled by its first request. The compiled
 * route is reused until the route, its upstream or its plugins change. So a change of a global plugin costs nothing
 * here, and the next request of a route pays for that route only.
 */
import type { SnapshotRoute } from "@sluice/model";
import { type PluginTable, RoutePlugins } from "./plugin-chains.ts";
import type { CompiledRoute } from "./runtime.ts";
import type { CompiledUpstreams } from "./upstream-index.ts";

interface OwnCompiledRoute extends CompiledRoute {
  readonly chains: RoutePlugins;
}

export class CompiledRoutes {
  readonly #upstreams: CompiledUpstreams;
  readonly #plugins: PluginTable;
  /** By route id; shared with the previous object. */
  readonly #known: Map<string, OwnCompiledRoute>;

  constructor(upstreams: CompiledUpstreams, plugins: PluginTable, previous: CompiledRoutes | null) {
    this.#upstreams = upstreams;
    this.#plugins = plugins;
    this.#known = previous === null ? new Map() : previous.#known;
  }

  /** Null: the route's service is disabled or missing, so the route matches no requests. */
  get(route: SnapshotRoute): CompiledRoute | null {
    const upstream = route.service === null ? null : this.#upstreams.get(route.service.id);
    if (route.service !== null && !upstream?.service.enabled) return null;
    const known = this.#known.get(route.id);
    if (known?.route === route && known.upstream === upstream && known.chains.isOf(this.#plugins)) return known;
    const compiled = { route, upstream, chains: new RoutePlugins(this.#plugins, route) };
    this.#known.set(route.id, compiled);
    return compiled;
  }

  forget(routeId: string): void {
    this.#known.delete(routeId);
  }
}
