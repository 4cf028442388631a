/** A store in memory, for suites that look at the admin listener and at nothing behind it. */
import type { Collection } from "@sluice/model";
import type { OpenedStore } from "../stores/open.ts";
import type { ListOptions, Lookup, Store, Write, WriteFault, WriteOptions } from "../stores/store.ts";
import { createTables, find, list, write } from "../stores/tables/index.ts";

export interface TestingStore extends OpenedStore {
  /** What the next writes are refused with, one after the other, before they are looked at. */
  readonly refuse: (WriteFault | (() => Promise<void>))[];
  /** Every call that wrote or would have. */
  readonly written: { readonly writes: readonly Write[]; readonly options: WriteOptions }[];
}

export function createTestingStore(): TestingStore {
  let tables = createTables([]);
  const refuse: TestingStore["refuse"] = [];
  const written: TestingStore["written"] = [];
  const store: Store = {
    list: async <Name extends Collection>(collection: Name, options: ListOptions) =>
      list(tables, collection, { ...options, now: Date.now() }),
    find: async <Name extends Collection>(collection: Name, by: Lookup) =>
      find(tables, collection, { by, now: Date.now() }),
    async write(writes, options = {}) {
      written.push({ writes, options });
      const next = refuse.shift();
      if (typeof next === "function") await next();
      else if (next) return { fault: next, index: 0 };
      const done = write(tables, writes);
      if (done.fault) return { fault: done.fault, index: done.index };
      if (!options.plan) tables = done.tables;
      return { effects: done.effects };
    },
    unready: () => [],
  };
  return {
    store,
    fleet: { status: async () => null, nodes: async () => [] },
    refuse,
    written,
    close: async () => {},
  };
}
