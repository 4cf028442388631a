/** An in-memory store, for suites that test the admin listener without a real store. */
import type { Collection } from "@sluice/model";
import type { ListOptions, Lookup, OpenedStore, Store, StoreWriteOptions, Write, WriteFault } from "../stores/store.ts";
import { applyWrite, createTables, findInTables, listFromTables, type PlacedEntity } from "../stores/tables/index.ts";

export interface TestingStore extends OpenedStore {
  /** One item for each of the next writes: a fault to return, or a function to call before the write. */
  readonly refuse: (WriteFault | (() => Promise<void>))[];
  /** All write calls, including plans. */
  readonly written: { readonly writes: readonly Write[]; readonly options: StoreWriteOptions }[];
}

/** @param entities The entities of the store. Default: none. */
export function createTestingStore(entities: Iterable<PlacedEntity> = []): TestingStore {
  let tables = createTables(entities);
  const refuse: TestingStore["refuse"] = [];
  const written: TestingStore["written"] = [];
  const store: Store = {
    list: async <Name extends Collection>(collection: Name, options: ListOptions) =>
      listFromTables(tables, collection, { ...options, now: Date.now() }),
    find: async <Name extends Collection>(collection: Name, by: Lookup) =>
      findInTables(tables, collection, { by, now: Date.now() }),
    async write(writes, options = {}) {
      written.push({ writes, options });
      const next = refuse.shift();
      if (typeof next === "function") await next();
      else if (next) return { fault: next, index: 0 };
      const done = applyWrite(tables, writes);
      if (done.fault) return { fault: done.fault, index: done.index };
      if (!options.plan) tables = done.tables;
      return { effects: done.effects };
    },
    unready: () => [],
  };
  return {
    store,
    fleet: {
      status: async () => null,
      nodes: async () => [],
      askPlugin: async () => ({ answered: [], unanswered: [] }),
    },
    refuse,
    written,
    close: async () => {},
  };
}
