/**
 * Compiled routes: each has its upstream and its plugin chains. A route is compiled by its first request, and reused until
 * its upstream or its plugins change. So a change of a global plugin costs nothing here, and the next request of a route
 * pays for that route only.
 */
import type { SnapshotRoute } from "@sluice/model";
import { type PluginTable, RoutePlugins } from "./plugin-chains.ts";
import type { CompiledRoute, ServiceUpstream } from "./runtime.ts";
import type { CompiledUpstreams } from "./upstream-index.ts";

/** A compiled route and the version that last validated it. Null: the route does not take requests. */
interface CachedRoute {
  version: number;
  route: SnapshotRoute;
  compiled: OwnCompiledRoute | null;
}

let versions = 0;

export class CompiledRoutes {
  readonly #upstreams: CompiledUpstreams;
  readonly #plugins: PluginTable;
  /** By route id; shared between versions. */
  readonly #known: Map<string, CachedRoute>;
  readonly #version = ++versions;

  private constructor(upstreams: CompiledUpstreams, plugins: PluginTable, known: Map<string, CachedRoute>) {
    this.#upstreams = upstreams;
    this.#plugins = plugins;
    this.#known = known;
  }

  static of(upstreams: CompiledUpstreams, plugins: PluginTable): CompiledRoutes {
    return new CompiledRoutes(upstreams, plugins, new Map());
  }

  /** The same object when neither upstreams nor plugins changed. */
  with(upstreams: CompiledUpstreams, plugins: PluginTable): CompiledRoutes {
    if (this.#upstreams === upstreams && this.#plugins === plugins) return this;
    return new CompiledRoutes(upstreams, plugins, this.#known);
  }

  /** Null: the route's service is disabled, so the route does not take requests. */
  get(route: SnapshotRoute): CompiledRoute | null {
    const known = this.#known.get(route.id);
    if (known === undefined) {
      const compiled = this.#compile(route, null);
      this.#known.set(route.id, { version: this.#version, route, compiled });
      return compiled;
    }
    if (known.version !== this.#version || known.route !== route) {
      known.compiled = this.#compile(route, known.compiled);
      known.route = route;
      known.version = this.#version;
    }
    return known.compiled;
  }

  /** Removes a deleted route. */
  forget(routeId: string): void {
    this.#known.delete(routeId);
  }

  #compile(route: SnapshotRoute, before: OwnCompiledRoute | null): OwnCompiledRoute | null {
    const upstream = route.service === null ? null : this.#upstreams.get(route.service.id);
    if (route.service !== null && !upstream?.service.enabled) return null;
    const isSame = before?.route === route && before.upstream === upstream && before.chains.isOf(this.#plugins);
    return isSame ? before : { route, upstream, chains: new RoutePlugins(this.#plugins, route) };
  }
}

interface OwnCompiledRoute extends CompiledRoute {
  readonly route: SnapshotRoute;
  readonly upstream: ServiceUpstream | null;
  readonly chains: RoutePlugins;
}
