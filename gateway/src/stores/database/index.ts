/** The store over a database: Postgres or the embedded database. */
import { describeDatabaseError, isUnavailable } from "../../database/describe-error.ts";
import type { Database } from "../../database/driver.ts";
import { type EntityRow, entityOfRow } from "../../database/rows.ts";
import { createGroupCommit } from "../group-commit.ts";
import { defaultRevisionLimits, type RevisionLimits } from "../revisions/revisions.ts";
import { DatabaseUnavailable, type Store, type Write } from "../store.ts";
import type { RevisionWait } from "./await-revision.ts";
import { readAcmeStatuses } from "./certificate-orders.ts";
import { createDatabaseRevisions, deleteOldRevisions } from "./revisions.ts";
import { findStatement, listStatement, type Statement } from "./statements.ts";
import { type WriteAllResult, writeAll } from "./write-all.ts";

/**
 * @param awaitRevision Waits until the nodes serve a revision. Resolves to null when the nodes' revisions cannot be
 * read.
 */
export function createDatabaseStore(
  database: Database,
  awaitRevision: RevisionWait["awaitRevision"],
  limits: RevisionLimits = defaultRevisionLimits,
): Store {
  async function rowsOf(statement: Statement | null): Promise<readonly EntityRow[]> {
    if (statement === null) return [];
    const found = await database.query(statement.text, statement.values).catch(explain);
    return found.map(({ row }) => JSON.parse(String(row)) as EntityRow);
  }

  const writeOne = createGroupCommit({ commit: (group, author) => writeGroup(database, group, author), most: MOST });
  const revisions = createDatabaseRevisions(database, limits);
  let writesUntilDeletion = 0;
  let deleting = false;

  /** No write waits for the deletion. If it fails, the next run deletes the remaining revisions. */
  function deleteRevisionsSometimes(): void {
    writesUntilDeletion -= 1;
    if (writesUntilDeletion > 0 || deleting) return;
    deleting = true;
    writesUntilDeletion = WRITES_BETWEEN_DELETIONS;
    void deleteOldRevisions(database, limits)
      .catch(() => undefined)
      .finally(() => {
        deleting = false;
      });
  }

  return {
    database: true,

    async list(collection, options) {
      const found = await rowsOf(listStatement(collection, options));
      const entities = found.slice(0, options.size).map((row) => entityOfRow(collection, row));
      return { entities, more: found.length > options.size };
    },

    async find(collection, by) {
      const [row] = await rowsOf(findStatement(collection, by));
      return row ? entityOfRow(collection, row) : null;
    },

    revisions: {
      list: (options) => revisions.list(options).catch(explain),
      find: (number) => revisions.find(number).catch(explain),
      changes: (range) => revisions.changes(range).catch(explain),
    },

    async write(writes, { plan = false, author = "" } = {}) {
      const done = await (plan ? writeAll(database, writes, { plan, author }) : writeOne(writes, author)).catch(
        explain,
      );
      if (done.fault) return done;
      const { effects, revision } = done;
      const wrote = !plan && effects.some(({ before, after }) => before !== null || after !== null);
      if (wrote) deleteRevisionsSometimes();
      return wrote ? { effects, programmed: (timeout) => awaitRevision(revision, timeout) } : { effects };
    },

    certificateOrders: () => readAcmeStatuses(database).catch(explain),

    unready() {
      const failure = database.failure();
      return failure === null ? [] : [failure];
    },
  };
}

/**
 * Maximum number of writes in a transaction for several callers. Each caller waits for the whole transaction. If one
 * write is rejected, the writes of each caller are repeated in a separate transaction.
 */
const MOST = 64;

/** Revisions beyond the limits are deleted after the first write of a process, and then after this number of writes. */
const WRITES_BETWEEN_DELETIONS = 100;

/**
 * Carries out the writes of several callers together: the database serializes writers anyway, and together they need
 * one statement, one commit and one notification to the nodes. If one write is rejected, nothing has been written, and
 * the writes of each caller are carried out separately.
 */
async function writeGroup(database: Database, group: readonly (readonly Write[])[], author: string) {
  const options = { plan: false, author };
  const together = group.length > 1 ? await writeAll(database, group.flat(), options) : undefined;
  if (together?.effects) {
    const { revision } = together;
    const rest = [...together.effects];
    return group.map((writes): WriteAllResult => ({ effects: rest.splice(0, writes.length), revision }));
  }
  const outcomes: Promise<WriteAllResult>[] = [];
  for (const writes of group) {
    const outcome = writeAll(database, writes, options);
    outcomes.push(outcome);
    await outcome.catch(() => undefined);
  }
  return outcomes;
}

function explain(error: unknown): never {
  throw isUnavailable(error) ? new DatabaseUnavailable(describeDatabaseError(error), { cause: error }) : error;
}
