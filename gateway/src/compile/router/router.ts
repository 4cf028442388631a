/**
 * The router: finds the route of a request by Kong's rules (docs/reference/kong-compatibility.md#routing).
 *
 * Entries are kept in a table per host pattern, where prefixes form a radix tree. A lookup visits the tables of the
 * patterns that match the request's host, and there the prefixes of the request's path. Exact paths are in the same
 * tree. Only other regular expressions and routes without a path are tried one by one. A new version of the router
 * shares the tables and tree nodes that a change does not affect.
 */
import { BucketMap, hashOfId, hashOfText, type SnapshotRoute } from "@sluice/model/serving";
import type { ExplainedRoutes, RoutableRequest } from "../runtime.ts";
import { type ExplainEntriesOptions, explainEntries } from "./explain-routes.ts";
import { type HostKinds, parseHostPattern, visitHostKeys } from "./host-pattern.ts";
import { emptyTable, type HostTable, isEmpty, withEntry, withoutEntry } from "./host-table.ts";
import type { EditToken } from "./radix.ts";
import { type RouteEntry, routeEntriesOf } from "./route-entry.ts";
import { type CompiledRouteSource, everyRouteServed, RouteSearch } from "./route-search.ts";

/** The difference from the previous router. A changed route is in both lists. */
export interface RouterChange {
  readonly removed: readonly SnapshotRoute[];
  readonly added: readonly SnapshotRoute[];
}

/** How many host patterns have a port, and how many a wildcard. */
interface Counts {
  readonly ports: number;
  readonly wildcards: number;
}

interface Indexes {
  /** By host pattern; "" for entries without hosts. */
  readonly tables: BucketMap<HostTable>;
  /** By route id. */
  readonly entries: BucketMap<readonly RouteEntry[]>;
  readonly counts: Counts;
}

export class Router {
  readonly #indexes: Indexes;
  readonly #tables: ReadonlyMap<string, HostTable>;
  readonly #kinds: HostKinds;
  readonly #hostless: HostTable | undefined;
  readonly #hasHosts: boolean;

  private constructor(indexes: Indexes) {
    this.#indexes = indexes;
    this.#tables = indexes.tables;
    this.#kinds = { ports: indexes.counts.ports > 0, wildcards: indexes.counts.wildcards > 0 };
    this.#hostless = indexes.tables.get("");
    this.#hasHosts = indexes.tables.size > (this.#hostless === undefined ? 0 : 1);
  }

  static readonly empty = new Router({
    tables: new BucketMap(hashOfText),
    entries: new BucketMap(hashOfId),
    counts: { ports: 0, wildcards: 0 },
  });

  /** Whether the router has no routes that could match. */
  get isEmpty(): boolean {
    return this.#indexes.entries.size === 0;
  }

  with({ removed, added }: RouterChange): Router {
    if (removed.length === 0 && added.length === 0) return this;
    const before = this.#indexes;
    const edit: EditToken = Symbol("edit");
    const tables = new Map<string, HostTable>();
    const entries = new Map<string, readonly RouteEntry[] | undefined>();
    const tableOf = (key: string) => tables.get(key) ?? before.tables.get(key) ?? emptyTable(edit);
    for (const { id } of removed) {
      for (const entry of before.entries.get(id) ?? [])
        for (const key of keysOf(entry)) tables.set(key, withoutEntry(tableOf(key), entry, edit));
      entries.set(id, undefined);
    }
    for (const route of added) {
      const own = routeEntriesOf(route);
      entries.set(route.id, own);
      for (const entry of own) for (const key of keysOf(entry)) tables.set(key, withEntry(tableOf(key), entry, edit));
    }
    const changed = [...tables].map(([key, table]) => [key, isEmpty(table) ? undefined : table] as const);
    return new Router({
      tables: before.tables.with(changed),
      entries: before.entries.with(entries),
      counts: countsAfter(before, changed),
    });
  }

  /** See `explainEntries`. Examines the entries of all routes. */
  explain(request: RoutableRequest, options: ExplainEntriesOptions): Generator<undefined, ExplainedRoutes> {
    return explainEntries(this.#indexes.entries.values(), request, options);
  }

  /** Returns the finished search, whose winner is null when no route matches. */
  match(request: RoutableRequest, parts: CompiledRouteSource = everyRouteServed): RouteSearch {
    const search = new RouteSearch(request, this.#tables, parts);
    if (this.#hasHosts) visitHostKeys(request, this.#kinds, search);
    if (this.#hostless !== undefined) search.visitTable(this.#hostless);
    return search;
  }
}

const keysOf = (entry: RouteEntry): Iterable<string> => (entry.hosts.length > 0 ? new Set(entry.hosts) : [""]);

function countsAfter(
  { tables, counts }: Indexes,
  changed: readonly (readonly [key: string, table: HostTable | undefined])[],
): Counts {
  let { ports, wildcards } = counts;
  for (const [key, table] of changed) {
    const step = Number(table !== undefined) - Number(tables.has(key));
    const pattern = parseHostPattern(key);
    if (pattern.port !== "") ports += step;
    if (pattern.kind !== "plain") wildcards += step;
  }
  return { ports, wildcards };
}
