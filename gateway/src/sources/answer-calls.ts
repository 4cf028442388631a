/** Answers the requests to endpoints of plugins that the admin API has written to the database. */
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
   * By id. A call is read until its result is in the database, and a read that began before may still return it: it
   * stays here until no node answers it any more, so that it runs once.
   */
  const answering = new Map<string, { readonly answered: Promise<void>; readonly until: number }>();
  let reading: Promise<void> = Promise.resolve();

  const warn = (error: unknown) =>
    log.warn({ reason: describeDatabaseError(error) }, "a request to an endpoint of a plugin was not answered");

  /** Also after a reconnect: a notification may have been missed. */
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
