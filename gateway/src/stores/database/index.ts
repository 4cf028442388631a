/** The store over a database: Postgres, or the embedded one. */
import type { WaitAnswer } from "@sluice/model";
import { type Store, Unavailable } from "../store.ts";
import { type Database, DatabaseFault, DatabaseUnreachable } from "./driver.ts";
import { type EntityRow, entityOf } from "./rows.ts";
import { findStatement, listStatement, type Statement } from "./statements.ts";
import { writeAll } from "./write.ts";

export interface DatabaseStoreOptions {
  /** The caller's to close. */
  readonly database: Database;
  /** Waits until the nodes run a revision; null when nobody can tell. */
  readonly awaitRevision: (revision: number, timeout: number) => Promise<WaitAnswer | null>;
}

export function createDatabaseStore({ database, awaitRevision }: DatabaseStoreOptions): Store {
  async function rowsOf(statement: Statement | null): Promise<readonly EntityRow[]> {
    if (statement === null) return [];
    const found = await database.query(statement.text, statement.values).catch(explain);
    return found.map(({ row }) => JSON.parse(String(row)) as EntityRow);
  }

  return {
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
      const done = await writeAll(database, writes, plan).catch(explain);
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

/** SQLSTATEs of what is not there: table, function, schema. */
const MISSING = new Set(["42P01", "42883", "3F000"]);

function explain(error: unknown): never {
  if (error instanceof DatabaseUnreachable) throw new Unavailable(error.message, { cause: error });
  if (error instanceof DatabaseFault && MISSING.has(error.facts.code))
    throw new Unavailable("the database needs bootstrapping: run `sluice migrations bootstrap`", { cause: error });
  throw error;
}
