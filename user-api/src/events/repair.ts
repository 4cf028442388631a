/** Makes good for messages that were not carried: reads from the store who was created meanwhile. */
import type { FastifyBaseLogger } from "fastify";
import type { User, UserStore } from "../store/store.ts";

export interface Repair {
  /**
   * Takes the time until the first connection for lost. Resolves once it knows who was created shortly before: whoever
   * is found after that is news, whatever the clocks say. Before there are listeners, for `deliver` gets them all.
   */
  begin(): Promise<void>;
  /** From now on messages of others may be missed. */
  lost(): void;
  /** Messages come again. */
  back(): void;
  /** The others were not told of this user. */
  unsent(id: string): void;
  /** Somebody says that users behind this id may have been missed. */
  read(after: string): void;
  /** Reads no more. Resolves once the others were told of all that they missed. */
  finish(): Promise<void>;
  close(): void;
}

export interface RepairOptions {
  readonly store: Pick<UserStore, "users">;
  readonly log: Pick<FastifyBaseLogger, "warn">;
  /** Told of every user who is found; it knows who is old news. */
  readonly deliver: (user: User) => void;
  /** Tells the other replicas that they may have missed users behind this id. */
  readonly announce: (missedAfter: string) => Promise<void>;
  /** Whether there is somebody to announce to. */
  readonly reachable: () => boolean;
}

/**
 * Clocks of replicas differ, a user is in the store a little after its id was made, and a connection is found to be
 * dead a little after it died: so many milliseconds are read again.
 */
const OVERLAP = 20_000;
/**
 * Users read at a time, and how many times: 20 s of 2,500 users a second. Who comes later learns it from `users`, and
 * the log says so. Those who were told of are remembered beyond that (events.ts), so that nobody is told of twice.
 */
const PAGE = 500;
const PAGES = 100;
const RETRY = 1_000;

/** The smallest UUIDv7 of a moment, in milliseconds since 1970. */
export function firstIdAt(milliseconds: number): string {
  const hex = Math.max(0, Math.floor(milliseconds)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
}

/** When a UUIDv7 was made. */
export const momentOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

export const earlier = (one: string | undefined, other: string): string =>
  one === undefined || other < one ? other : one;

export function makeRepair({ store, log, deliver, announce, reachable }: RepairOptions): Repair {
  /** What is still to be read and to be announced. */
  let toRead: string | undefined;
  let toAnnounce: string | undefined;
  let lostSince: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let working = false;
  let finishing = false;
  let closed = false;
  const finished = Promise.withResolvers<void>();

  async function readFrom(after: string): Promise<void> {
    let last = firstIdAt(momentOf(after) - OVERLAP);
    for (let page = 0; page < PAGES; page++) {
      const users = await store.users({ after: last, first: PAGE });
      for (const user of users) deliver(user);
      const end = users.at(-1);
      if (end === undefined || users.length < PAGE) return;
      last = end.id;
    }
    log.warn({ limit: PAGE * PAGES }, "more users were created meanwhile than subscribers are told of");
  }

  /** Takes what is to be read, and puts it back when that fails. */
  async function readAll(): Promise<void> {
    const after = toRead ?? "";
    toRead = undefined;
    await readFrom(after).catch((error: unknown) => {
      toRead = earlier(toRead, after);
      throw error;
    });
  }

  async function announceAll(): Promise<void> {
    const after = toAnnounce ?? "";
    toAnnounce = undefined;
    await announce(after).catch((error: unknown) => {
      toAnnounce = earlier(toAnnounce, after);
      throw error;
    });
  }

  function next(): (() => Promise<void>) | undefined {
    if (closed) return undefined;
    if (toRead !== undefined && !finishing) return readAll;
    return toAnnounce !== undefined && reachable() ? announceAll : undefined;
  }

  async function work(): Promise<void> {
    if (working || closed) return;
    working = true;
    clearTimeout(timer);
    try {
      // Nothing may wait between finding nothing to do and not working any more: who comes then would be forgotten.
      for (let step = next(); step !== undefined; step = next()) await step();
    } catch (error) {
      log.warn({ err: error }, "cannot tell yet of users who were created meanwhile");
      if (!closed) timer = setTimeout(work, RETRY).unref();
    }
    working = false;
    if (finishing && toAnnounce === undefined) finished.resolve();
  }

  return {
    begin() {
      lostSince = firstIdAt(Date.now());
      return readFrom(lostSince);
    },
    lost() {
      lostSince ??= firstIdAt(Date.now());
    },
    back() {
      if (lostSince !== undefined) toRead = earlier(toRead, lostSince);
      lostSince = undefined;
      void work();
    },
    unsent(id) {
      toAnnounce = earlier(toAnnounce, id);
      if (reachable()) void work();
    },
    read(after) {
      toRead = earlier(toRead, after);
      void work();
    },
    finish() {
      finishing = true;
      void work();
      return finished.promise;
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
