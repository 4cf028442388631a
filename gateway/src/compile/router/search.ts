/** One search for the winner among the tables: the mutable part of a match, alive for one request. */
import type { SnapshotRoute } from "@sluice/model";
import type { MatchRequest, RoutePart } from "../../runtime/runtime.ts";
import { acceptsRest, compareEntries, type Entry } from "./entry.ts";
import type { HostKeyVisitor } from "./host.ts";
import { type ItemsVisitor, visitPrefixes } from "./radix.ts";
import type { Table } from "./table.ts";

/** What a route is for requests; null: it does not exist for them. */
export interface PartSource {
  get(route: SnapshotRoute): RoutePart | null;
}

const noChains = { anonymous: [], identified: () => [] };

/** For who asks only which route wins: every route is there, and what it does is not known. */
export const everyRoute: PartSource = {
  get: (route) => ({ route, upstream: null, chains: { http: noChains, https: noChains } }),
};

export class Search implements HostKeyVisitor, ItemsVisitor<Entry> {
  winner: Entry | null = null;
  /** The winner's. */
  part: RoutePart | null = null;
  /** Length of the matched part of the path; 0 without a path. */
  length = 0;
  captures: Readonly<Record<string, string>> | null = null;
  readonly #request: MatchRequest;
  readonly #tables: ReadonlyMap<string, Table>;
  readonly #parts: PartSource;

  constructor(request: MatchRequest, tables: ReadonlyMap<string, Table>, parts: PartSource) {
    this.#request = request;
    this.#tables = tables;
    this.#parts = parts;
  }

  visitKey(key: string): void {
    const table = this.#tables.get(key);
    if (table !== undefined) this.visitTable(table);
  }

  visitTable(table: Table): void {
    if (table.patterns.length > 0) this.#tryPatterns(table.patterns);
    visitPrefixes(table.prefixes, this.#request.path, this);
    if (table.pathless.length > 0) this.visit(table.pathless, 0);
  }

  /** Entries in order: the first that accepts the request is the best of them, and the ones behind the winner lose. */
  visit(entries: readonly Entry[], length: number): void {
    for (const entry of entries) {
      if (this.#loses(entry)) return;
      if (!acceptsRest(entry, this.#request)) continue;
      const part = this.#parts.get(entry.route);
      if (part === null) continue;
      this.winner = entry;
      this.part = part;
      this.length = length;
      this.captures = null;
      return;
    }
  }

  #tryPatterns(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (this.#loses(entry)) return;
      if (!acceptsRest(entry, this.#request)) continue;
      const found = entry.pattern?.matchPrefix(this.#request.path);
      const part = found && this.#parts.get(entry.route);
      if (!found || !part) continue;
      this.winner = entry;
      this.part = part;
      this.length = found.length;
      this.captures = found.captures;
      return;
    }
  }

  #loses(entry: Entry): boolean {
    return this.winner !== null && compareEntries(this.winner, entry) <= 0;
  }
}
