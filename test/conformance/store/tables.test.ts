import type { Store } from "../../../gateway/src/stores/store.ts";
import { applyWrite, createTables, findInTables, listFromTables } from "../../../gateway/src/stores/tables/index.ts";
import { describeStore } from "./suite.ts";

/** The minimal store: tables in memory compute the effects of its writes, and nothing is persisted. */
describeStore("tables in memory", async () => {
  let tables = createTables([]);
  const store: Store = {
    list: async (collection, options) => listFromTables(tables, collection, { ...options, now: Date.now() }),
    find: async (collection, by) => findInTables(tables, collection, { by, now: Date.now() }),
    async write(writes, { plan = false } = {}) {
      const written = applyWrite(tables, writes);
      if (written.fault) return written;
      const { effects } = written;
      if (plan || effects.every(({ before, after }) => !before && !after)) return { effects };
      tables = written.tables;
      return { effects, programmed: async () => null };
    },
    unready: () => [],
  };
  return { open: () => store, close: async () => undefined };
});
