/**
 * What requests of a route meet: its upstream and its chains. A part is made when the first request asks for it, and
 * serves from change to change as long as its upstream and its plugins are the same: a change of a plugin that acts on
 * all routes costs nothing here, and a request after it what its own route needs.
 */
import type { SnapshotRoute } from "@sluice/model";
import type { RoutePart, Upstream } from "../runtime/runtime.ts";
import { type PluginTable, RoutePlugins } from "./chains.ts";
import type { Upstreams } from "./upstreams.ts";

/** A part, and the version for which it was last found to be right. Null: the route is not there for requests. */
interface Known {
  version: number;
  route: SnapshotRoute;
  part: Part | null;
}

let versions = 0;

export class Parts {
  readonly #upstreams: Upstreams;
  readonly #plugins: PluginTable;
  /** By route id; shared with the versions before and after. */
  readonly #known: Map<string, Known>;
  readonly #version = ++versions;

  private constructor(upstreams: Upstreams, plugins: PluginTable, known: Map<string, Known>) {
    this.#upstreams = upstreams;
    this.#plugins = plugins;
    this.#known = known;
  }

  static of(upstreams: Upstreams, plugins: PluginTable): Parts {
    return new Parts(upstreams, plugins, new Map());
  }

  /** These when neither upstreams nor plugins have changed. */
  with(upstreams: Upstreams, plugins: PluginTable): Parts {
    if (this.#upstreams === upstreams && this.#plugins === plugins) return this;
    return new Parts(upstreams, plugins, this.#known);
  }

  /** Null: the route's service is disabled, and the route does not exist. */
  get(route: SnapshotRoute): RoutePart | null {
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

  #partOf(route: SnapshotRoute, before: Part | null): Part | null {
    const upstream = route.service === null ? null : this.#upstreams.get(route.service.id);
    if (route.service !== null && !upstream?.service.enabled) return null;
    const isSame = before?.route === route && before.upstream === upstream && before.chains.isOf(this.#plugins);
    return isSame ? before : { route, upstream, chains: new RoutePlugins(this.#plugins, route) };
  }
}

interface Part extends RoutePart {
  readonly route: SnapshotRoute;
  readonly upstream: Upstream | null;
  readonly chains: RoutePlugins;
}
