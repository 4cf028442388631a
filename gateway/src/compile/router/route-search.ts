/** The mutable state of one route lookup. */
import type { SnapshotRoute } from "@sluice/model";
import type { CompiledRoute, PluginChain, RoutableRequest, RouteChains, RoutePluginChains } from "../runtime.ts";
import type { HostKeyVisitor } from "./host-pattern.ts";
import type { HostTable } from "./host-table.ts";
import { compareEntries } from "./precedence.ts";
import { type ItemsVisitor, visitPrefixes } from "./radix.ts";
import { matchesRest, type RouteEntry } from "./route-entry.ts";

/** Returns compiled routes; null: the route matches no requests. */
export interface CompiledRouteSource {
  get(route: SnapshotRoute): CompiledRoute | null;
}

const noPlugins: PluginChain = { steps: [], bodySteps: null, holdingSteps: null, hasLog: false };
const noChains: RouteChains = { base: noPlugins, identified: () => noPlugins };
const noRoutePlugins: RoutePluginChains = {
  http: noChains,
  https: noChains,
  connections: { steps: [], closed: null },
  candidates: () => [],
};

/** For lookups of the winning route only: every route may match, and has no upstream and no plugins. */
export const everyRouteServed: CompiledRouteSource = {
  get: (route) => ({ route, upstream: null, chains: noRoutePlugins }),
};

/** The captures of a regular expression without groups. Frozen, because all requests share it. */
const noCaptures: Readonly<Record<string, string>> = Object.freeze(Object.create(null));

export class RouteSearch implements HostKeyVisitor, ItemsVisitor<RouteEntry> {
  winner: RouteEntry | null = null;
  compiledRoute: CompiledRoute | null = null;
  /** Length of the part of the path that the winner matched; 0 if the winner has no path. */
  length = 0;
  captures: Readonly<Record<string, string>> | null = null;
  readonly #request: RoutableRequest;
  readonly #tables: ReadonlyMap<string, HostTable>;
  readonly #parts: CompiledRouteSource;

  constructor(request: RoutableRequest, tables: ReadonlyMap<string, HostTable>, parts: CompiledRouteSource) {
    this.#request = request;
    this.#tables = tables;
    this.#parts = parts;
  }

  visitKey(key: string): void {
    const table = this.#tables.get(key);
    if (table !== undefined) this.visitTable(table);
  }

  /** Patterns come last, so that an exact path that takes precedence spares the slower matching of patterns. */
  visitTable(table: HostTable): void {
    visitPrefixes(table.prefixes, this.#request.path, this);
    if (table.pathless.length > 0) this.visit(table.pathless, 0);
    if (table.patterns.length > 0) this.#tryPatterns(table.patterns);
  }

  /**
   * Entries are sorted: the first match is the best of them, and the search ends at an entry that loses to the winner.
   */
  visit(entries: readonly RouteEntry[], length: number): void {
    for (const entry of entries) {
      if (this.#loses(entry)) return;
      if (entry.isExact && length !== this.#request.path.length) continue;
      if (!matchesRest(entry, this.#request)) continue;
      const part = this.#parts.get(entry.route);
      if (part === null) continue;
      this.winner = entry;
      this.compiledRoute = part;
      this.length = length;
      this.captures = entry.isExact ? noCaptures : null;
      return;
    }
  }

  #tryPatterns(entries: readonly RouteEntry[]): void {
    for (const entry of entries) {
      if (this.#loses(entry)) return;
      if (!matchesRest(entry, this.#request)) continue;
      const found = entry.pattern?.matchPrefix(this.#request.path);
      const part = found && this.#parts.get(entry.route);
      if (!found || !part) continue;
      this.winner = entry;
      this.compiledRoute = part;
      this.length = found.length;
      this.captures = found.captures;
      return;
    }
  }

  #loses(entry: RouteEntry): boolean {
    return this.winner !== null && compareEntries(this.winner, entry) <= 0;
  }
}
