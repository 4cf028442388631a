/**
 * What requests of a route meet: its upstream and its chains. A part is made when the first request asks for it, and
 * serves from change to change as long as its upstream and its plugins are the same: a change of a plugin that acts on
 * all routes costs nothing here, and a request after it what its own route needs.
 */
import type { SnapshotRoute } from "@sluice/model";
import type { CompiledRoute, ServiceUpstream } from "../runtime/runtime.ts";
import { type PluginTable, RoutePlugins } from "./plugin-chains.ts";
import type { CompiledUpstreams } from "./upstream-index.ts";

/** A part, and the version for which it was last found to be right. Null: the route is not there for requests. */
interface CachedRoute {
  version: number;
  route: SnapshotRoute;
  part: OwnCompiledRoute | null;
}

let versions = 0;

export class CompiledRoutes {
  readonly #upstreams: CompiledUpstreams;
  readonly #plugins: PluginTable;
  /** By route id; shared with the versions before and after. */
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

  /** These when neither upstreams nor plugins have changed. */
  with(upstreams: CompiledUpstreams, plugins: PluginTable): CompiledRoutes {
    if (this.#upstreams === upstreams && this.#plugins === plugins) return this;
    return new CompiledRoutes(upstreams, plugins, this.#known);
  }

  /** Null: the route's service is disabled, and the route does not exist. */
  get(route: SnapshotRoute): CompiledRoute | null {
    const known = this.#known.get(route.id);
    if (known === undefined) {
      const part = this.#partOf(route, null);
      this.#known.set(route.id, { version: this.#version, route, part });
      return part;
    }
    if (known.version !== this.#version || known.route !== route) {
      known.part = this.#partOf(route, known.part);
      known.route = route;
      known.version = this.#version;
    }
    return known.part;
  }

  /** Of a route that is gone. */
  forget(routeId: string): void {
    this.#known.delete(routeId);
  }

  #partOf(route: SnapshotRoute, before: OwnCompiledRoute | null): OwnCompiledRoute | null {
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
