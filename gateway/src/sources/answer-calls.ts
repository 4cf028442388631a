/** Answers requests to endpoints of plugins. The admin API writes these requests to the database. */
import { describeDatabaseError } from "../database/describe-error.ts";
import type { Database } from "../database/driver.ts";
import { CALL_LIFETIME, CALLS_CHANNEL, insertResult, readCalls } from "../database/plugin-calls.ts";
import type { NodeStatusSource, SourceLog } from "./source.ts";

export interface AnswerCallsOptions {
  readonly database: Database;
  readonly log: SourceLog;
  /** Id of the node. */
  readonly node: string;
  readonly askPlugin: NodeStatusSource["askPlugin"];
}

/** Returns a function that stops answering, and resolves when no statement is under way. */
export async function answerCalls({ database, log, node, askPlugin }: AnswerCallsOptions) {
  /**
   * The calls that this node answers or has answered, by id. `readCalls` returns a call until its result is in the
   * database; a read that began before then may return it afterwards. So that the node runs each call only once, a call
   * stays in this map until it has expired for all nodes.
   */
  const answering = new Map<string, { readonly answered: Promise<void>; readonly until: number }>();
  let reading: Promise<void> = Promise.resolve();

  const warn = (error: unknown) =>
    log.warn({ reason: describeDatabaseError(error) }, "a request to an endpoint of a plugin was not answered");

  /** Runs for each notification, and after a reconnect, because notifications may have been missed. */
  function read(): void {
    reading = reading
      .then(async () => {
        const calls = await readCalls(database, node);
        for (const [id, { until }] of answering) if (until < performance.now()) answering.delete(id);
        for (const [id, call] of calls) {
          if (answering.has(id)) continue;
          const answered = askPlugin(call)
            .then((response) => insertResult(database, { call: id, node, response }))
            .catch(warn);
          answering.set(id, { answered, until: performance.now() + 2 * CALL_LIFETIME * 1000 });
        }
      })
      .catch(warn);
  }

  const end = await database.listen(CALLS_CHANNEL, read);
  return async () => {
    end();
    await reading;
    await Promise.all([...answering.values()].map(({ answered }) => answered));
  };
}
