/** A Lease that the operators of one test share, and a clock that only the test advances. */
import { Conflict, type LeaseRecord, type LeaseStore, rejectOnAbort, type VersionedLease } from "@sluice/crds";
import type { ElectionClock } from "./lease-election.ts";

export interface TestLease {
  readonly lease: VersionedLease | null;
  /** A store for one operator. It can fail, hang until `hangs` is set to false, or lose the responses to writes. */
  store(): LeaseStore & { fails: Error | null; hangs: boolean; losesResponses: boolean; readonly writes: number };
  /** Writes the Lease from outside; null: deletes it. */
  put(record: LeaseRecord | null): void;
}

export function testLease(): TestLease {
  let lease: VersionedLease | null = null;
  let versions = 0;

  const put = (record: LeaseRecord | null): VersionedLease | null => {
    lease = record && { ...record, version: `${++versions}` };
    return lease;
  };

  return {
    get lease() {
      return lease;
    },
    put,
    store() {
      let writes = 0;
      let hanging: PromiseWithResolvers<void> | null = null;
      const own = {
        fails: null as Error | null,
        get hangs() {
          return hanging !== null;
        },
        set hangs(does: boolean) {
          hanging?.resolve();
          hanging = does ? Promise.withResolvers() : null;
        },
        losesResponses: false,
        get writes() {
          return writes;
        },
        async read(signal?: AbortSignal) {
          await answer(signal);
          return lease;
        },
        async write(
          { holder, duration, transitions }: LeaseRecord,
          { before, signal }: Parameters<LeaseStore["write"]>[1],
        ) {
          await answer(signal);
          if (before?.version !== lease?.version) throw new Conflict("changed", "another writer was first");
          writes++;
          const written = put({ holder, duration, transitions }) as VersionedLease;
          if (own.losesResponses) await rejectOnAbort(new Promise(() => {}), signal);
          return written;
        },
        async close() {},
      };
      async function answer(signal?: AbortSignal): Promise<void> {
        if (own.fails) throw own.fails;
        if (hanging) await rejectOnAbort(hanging.promise, signal);
      }
      return own;
    },
  };
}

interface TestClock extends ElectionClock {
  /** Advances the clock, and runs everything whose sleep ends by then. */
  pass(milliseconds: number): Promise<void>;
}

export function testClock(): TestClock {
  let now = 0;
  const sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    now: () => now,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        const sleeper = {
          until: now + milliseconds,
          wake() {
            sleepers.delete(sleeper);
            resolve();
          },
        };
        sleepers.add(sleeper);
        if (signal.aborted) sleeper.wake();
        else signal.addEventListener("abort", sleeper.wake, { once: true });
      }),
    async pass(milliseconds) {
      const end = now + milliseconds;
      await settle();
      for (;;) {
        const next = [...sleepers].sort((one, other) => one.until - other.until)[0];
        if (!next || next.until > end) break;
        now = Math.max(now, next.until);
        next.wake();
        await settle();
      }
      now = end;
      await settle();
    },
  };
}
