/** The store over a database: Postgres, or the embedded one. */
import type { WaitResponse } from "@sluice/model";
import { describeDatabaseError, isUnavailable } from "../../database/describe-error.ts";
import type { Database } from "../../database/driver.ts";
import { type EntityRow, entityOf } from "../../database/rows.ts";
import { DatabaseUnavailable, type Store } from "../store.ts";
import { createGroupCommit } from "./group-commit.ts";
import { findStatement, listStatement, type Statement } from "./statements.ts";
import { writeAll } from "./write-all.ts";

export interface DatabaseStoreOptions {
  /** The caller closes it. */
  readonly database: Database;
  /** Waits until the nodes serve a revision; null when that cannot be found out. */
  readonly awaitRevision: (revision: number, timeout: number) => Promise<WaitResponse | null>;
}

export function createDatabaseStore({ database, awaitRevision }: DatabaseStoreOptions): Store {
  async function rowsOf(statement: Statement | null): Promise<readonly EntityRow[]> {
    if (statement === null) return [];
    const found = await database.query(statement.text, statement.values).catch(explain);
    return found.map(({ row }) => JSON.parse(String(row)) as EntityRow);
  }

  const writeOne = createGroupCommit(database);

  return {
    database: true,

    async list(collection, options) {
      const found = await rowsOf(listStatement(collection, options));
      const entities = found.slice(0, options.size).map((row) => entityOf(collection, row));
      return { entities, more: found.length > options.size };
    },

    async find(collection, by) {
      const [row] = await rowsOf(findStatement(collection, by));
      return row ? entityOf(collection, row) : null;
    },

    async write(writes, { plan = false } = {}) {
      const done = await (plan ? writeAll(database, writes, plan) : writeOne(writes)).catch(explain);
      if (done.fault) return done;
      const { effects, revision } = done;
      const wrote = !plan && effects.some(({ before, after }) => before !== null || after !== null);
      return wrote ? { effects, programmed: (timeout) => awaitRevision(revision, timeout) } : { effects };
    },

    unready() {
      const trouble = database.trouble();
      return trouble === null ? [] : [trouble];
    },
  };
}

function explain(error: unknown): never {
  throw isUnavailable(error) ? new DatabaseUnavailable(describeDatabaseError(error), { cause: error }) : error;
}
