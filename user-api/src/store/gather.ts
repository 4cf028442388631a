/** Asks the database for many at once what many requests ask for at the same time. */

export interface GatherOptions {
  /** Questions under way at a time. What is asked meanwhile waits and goes as one. */
  readonly parallel: number;
  /** Keys of one question; a caller's keys are never divided. */
  readonly most: number;
}

interface Waiting<Value> {
  readonly keys: readonly string[];
  readonly resolve: (found: ReadonlyMap<string, Value>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Under load a round trip to the database costs more than what it brings. Nobody gets the answer to a question that was
 * asked before theirs: what a caller has written it reads again. `ask` gets each key once; all get the same map.
 */
export function gather<Value>(
  ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
  { parallel, most }: GatherOptions,
): (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>> {
  const waiting: Waiting<Value>[] = [];
  let underWay = 0;
  let scheduled = false;

  /** Those who wait longest, as many as go into one question. */
  function take(): readonly Waiting<Value>[] {
    let keys = 0;
    const end = waiting.findIndex((one, index) => {
      keys += one.keys.length;
      return keys > most && index > 0;
    });
    return waiting.splice(0, end === -1 ? waiting.length : end);
  }

  function next(): void {
    scheduled = false;
    while (underWay < parallel && waiting.length > 0) {
      const callers = take();
      underWay += 1;
      const keys = new Set<string>();
      for (const caller of callers) for (const key of caller.keys) keys.add(key);
      ask([...keys])
        .then(
          (found) => {
            for (const { resolve } of callers) resolve(found);
          },
          (error: unknown) => {
            for (const { reject } of callers) reject(error);
          },
        )
        .finally(() => {
          underWay -= 1;
          next();
        });
    }
  }

  return (keys) =>
    new Promise((resolve, reject) => {
      waiting.push({ keys, resolve, reject });
      if (scheduled || underWay >= parallel) return;
      scheduled = true;
      // Behind all requests that have arrived by now.
      setImmediate(next);
    });
}
