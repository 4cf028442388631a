/** Answers the requests to endpoints of plugins that the admin API has written to the database. */
import { describeDatabaseError } from "../database/describe-error.ts";
import type { Database } from "../database/driver.ts";
import { CALLS_CHANNEL, insertResult, readCalls } from "../database/plugin-calls.ts";
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
   * By id; a call is read again until its result is in the database. It runs once: if the result cannot be written, it
   * stays here, and the caller waits in vain.
   */
  const answering = new Map<string, Promise<void>>();
  let reading: Promise<void> = Promise.resolve();

  const warn = (error: unknown) =>
    log.warn({ reason: describeDatabaseError(error) }, "a request to an endpoint of a plugin was not answered");

  /** Also after a reconnect: a notification may have been missed. */
  function read(): void {
    reading = reading
      .then(async () => {
        for (const [id, call] of await readCalls(database, node)) {
          if (answering.has(id)) continue;
          const answered = askPlugin(call)
            .then((response) => insertResult(database, { call: id, node, response }))
            .then(() => void answering.delete(id))
            .catch(warn);
          answering.set(id, answered);
        }
      })
      .catch(warn);
  }

  const end = await database.listen(CALLS_CHANNEL, read);
  return async () => {
    end();
    await reading;
    await Promise.all(answering.values());
  };
}
