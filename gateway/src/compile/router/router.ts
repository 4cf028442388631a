/**
 * The router: which route a request belongs to, by the rules of kong-contract 2.1.
 *
 * Entries stand in a table for their host; in it, prefixes form a radix tree. So a match looks at the tables of the
 * request's host and at the prefixes of its path; only regular expressions and routes without a path are tried one by
 * one. A new version of the router shares the tables and tree nodes that a change did not touch.
 */
import type { SnapshotRoute } from "@sluice/model";
import type { MatchRequest } from "../../runtime/runtime.ts";
import { type Entry, entriesOf } from "./entry.ts";
import { type HostKinds, parseHostPattern, visitHostKeys } from "./host.ts";
import type { Edit } from "./radix.ts";
import { Search } from "./search.ts";
import { emptyTable, isEmpty, type Table, withEntry, withoutEntry } from "./table.ts";

/** What differs from the router before. A route that changed is in both lists. */
export interface RouterChange {
  readonly removed: readonly SnapshotRoute[];
  readonly added: readonly SnapshotRoute[];
}

export class Router {
  /** By host pattern; "" has the entries without hosts. */
  readonly #tables: ReadonlyMap<string, Table>;
  /** By route id. */
  readonly #entries: ReadonlyMap<string, readonly Entry[]>;
  readonly #kinds: HostKinds;
  readonly #hostless: Table | undefined;

  private constructor(tables: ReadonlyMap<string, Table>, entries: ReadonlyMap<string, readonly Entry[]>) {
    this.#tables = tables;
    this.#entries = entries;
    this.#kinds = kindsOf(tables.keys());
    this.#hostless = tables.get("");
  }

  static readonly empty = new Router(new Map(), new Map());

  /** The router with the change made. */
  with({ removed, added }: RouterChange): Router {
    if (removed.length === 0 && added.length === 0) return this;
    const edit: Edit = Symbol("edit");
    const tables = new Map(this.#tables);
    const entries = new Map(this.#entries);
    for (const route of removed) {
      for (const entry of entries.get(route.id) ?? []) {
        for (const key of keysOf(entry)) {
          const table = withoutEntry(tables.get(key) ?? emptyTable(edit), entry, edit);
          if (isEmpty(table)) tables.delete(key);
          else tables.set(key, table);
        }
      }
      entries.delete(route.id);
    }
    for (const route of added) {
      const own = entriesOf(route);
      entries.set(route.id, own);
      for (const entry of own) {
        for (const key of keysOf(entry)) tables.set(key, withEntry(tables.get(key) ?? emptyTable(edit), entry, edit));
      }
    }
    return new Router(tables, entries);
  }

  /** The search's winner is null when no route matches. */
  match(request: MatchRequest): Search {
    const search = new Search(request, this.#tables);
    visitHostKeys(request, this.#kinds, search);
    if (this.#hostless !== undefined) search.visitTable(this.#hostless);
    return search;
  }
}

const keysOf = (entry: Entry): Iterable<string> => (entry.hosts.length > 0 ? new Set(entry.hosts) : [""]);

function kindsOf(keys: Iterable<string>): HostKinds {
  let ports = false;
  let wildcards = false;
  for (const key of keys) {
    const pattern = parseHostPattern(key);
    ports ||= pattern.port !== "";
    wildcards ||= pattern.kind !== "plain";
  }
  return { ports, wildcards };
}
