/** Combines concurrent lookups of many requests into few database queries. */

export interface BatchOptions {
  /** Maximum number of queries in flight. Lookups that arrive while so many run share the next query. */
  readonly maxQueries: number;
  /** Maximum number of keys per query. The keys of one caller are never split, even if they are more. */
  readonly maxKeys: number;
}

interface Waiting<Value> {
  readonly keys: readonly string[];
  readonly resolve: (found: ReadonlyMap<string, Value>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that looks up keys together with the keys of other callers, because under load a round trip to the
 * database costs more than a lookup. A caller never gets the result of a query that was sent before its lookup, so it
 * reads its own writes. `query` gets each key once; all callers that share a query get the same map.
 */
export function batchQueries<Value>(
  query: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
  { maxQueries, maxKeys }: BatchOptions,
): (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>> {
  const waiting: Waiting<Value>[] = [];
  let pending = 0;
  let scheduled = false;

  /** The callers that have waited longest, as many as fit into one query. */
  function take(): readonly Waiting<Value>[] {
    let keys = 0;
    const end = waiting.findIndex((one, index) => {
      keys += one.keys.length;
      return keys > maxKeys && index > 0;
    });
    return waiting.splice(0, end === -1 ? waiting.length : end);
  }

  function next(): void {
    scheduled = false;
    while (pending < maxQueries && waiting.length > 0) {
      const callers = take();
      pending += 1;
      const keys = new Set<string>();
      for (const caller of callers) for (const key of caller.keys) keys.add(key);
      query([...keys])
        .then(
          (found) => {
            for (const { resolve } of callers) resolve(found);
          },
          (error: unknown) => {
            for (const { reject } of callers) reject(error);
          },
        )
        .finally(() => {
          pending -= 1;
          next();
        });
    }
  }

  return (keys) =>
    new Promise((resolve, reject) => {
      waiting.push({ keys, resolve, reject });
      if (scheduled || pending >= maxQueries) return;
      scheduled = true;
      // Runs after all requests that have already arrived.
      setImmediate(next);
    });
}
