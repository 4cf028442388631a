/** One search for the winner among the tables: the mutable part of a match, alive for one request. */
import type { MatchRequest } from "../../runtime/runtime.ts";
import { acceptsRest, compareEntries, type Entry } from "./entry.ts";
import type { HostKeyVisitor } from "./host.ts";
import { type ItemsVisitor, visitPrefixes } from "./radix.ts";
import type { Table } from "./table.ts";

export class Search implements HostKeyVisitor, ItemsVisitor<Entry> {
  winner: Entry | null = null;
  /** Length of the matched part of the path; 0 without a path. */
  length = 0;
  captures: Readonly<Record<string, string>> | null = null;
  readonly #request: MatchRequest;
  readonly #tables: ReadonlyMap<string, Table>;

  constructor(request: MatchRequest, tables: ReadonlyMap<string, Table>) {
    this.#request = request;
    this.#tables = tables;
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
      this.winner = entry;
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
      if (found === undefined) continue;
      this.winner = entry;
      this.length = found.length;
      this.captures = found.captures;
      return;
    }
  }

  #loses(entry: Entry): boolean {
    return this.winner !== null && compareEntries(this.winner, entry) <= 0;
  }
}
