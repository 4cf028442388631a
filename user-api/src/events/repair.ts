/** Recovers from lost messages: reads from the store the users that were created during an outage. */
import type { FastifyBaseLogger } from "fastify";
import type { User, UserStore } from "../store/store.ts";

export interface RepairOptions {
  readonly store: Pick<UserStore, "users">;
  readonly log: Pick<FastifyBaseLogger, "warn">;
  /** Called with every user that is found. Ignores users that it has delivered before. */
  readonly deliver: (user: User) => void;
  /** Tells the other replicas that they may have missed the users from this id on. */
  readonly announce: (missedAfter: string) => Promise<void>;
  readonly reachable: () => boolean;
}

/**
 * The users of this many milliseconds before an outage are read again. Clocks of replicas differ, a user is stored a
 * little after its id was made, and a dead connection is detected late.
 */
const OVERLAP = 20_000;
/** The number of users in a page, which one query reads from the store. */
const PAGE = 500;
/**
 * The maximum number of pages that are read: enough for 20 s of 2,500 users a second. Users beyond that are not
 * delivered; clients find them with `users`, and a warning is logged. events.ts remembers more delivered ids than are
 * read here, so that no user is delivered twice.
 */
const PAGES = 100;
/** Milliseconds before the next attempt after a failure. */
const RETRY = 1_000;

/** The smallest UUIDv7 of a time, in milliseconds since 1970. */
export function firstIdAt(milliseconds: number): string {
  const hex = Math.max(0, Math.floor(milliseconds)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
}

/** The time at which a UUIDv7 was made, in milliseconds since 1970. */
export const creationTime = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

export const earlierOf = (one: string | undefined, other: string): string =>
  one === undefined || other < one ? other : one;

export function makeRepair({ store, log, deliver, announce, reachable }: RepairOptions) {
  /** The id from which users are still to be read. */
  let toRead: string | undefined;
  /** The id from which users are still to be announced. */
  let toAnnounce: string | undefined;
  let lostSince: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let working = false;
  let finishing = false;
  let closed = false;
  const finished = Promise.withResolvers<void>();

  async function readFrom(after: string): Promise<void> {
    let last = firstIdAt(creationTime(after) - OVERLAP);
    for (let page = 0; page < PAGES; page++) {
      const users = await store.users({ after: last, first: PAGE });
      for (const user of users) deliver(user);
      const end = users.at(-1);
      if (end === undefined || users.length < PAGE) return;
      last = end.id;
    }
    log.warn(
      { limit: PAGE * PAGES },
      "more users were created during the outage than are read from the store; subscribers do not receive the later ones",
    );
  }

  /** Reads the pending users; on failure they stay pending. */
  async function readAll(): Promise<void> {
    const after = toRead ?? "";
    toRead = undefined;
    await readFrom(after).catch((error: unknown) => {
      toRead = earlierOf(toRead, after);
      throw error;
    });
  }

  async function announceAll(): Promise<void> {
    const after = toAnnounce ?? "";
    toAnnounce = undefined;
    await announce(after).catch((error: unknown) => {
      toAnnounce = earlierOf(toAnnounce, after);
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
      // There is no await between finding no work and leaving the loop: work added in between would be forgotten.
      for (let step = next(); step !== undefined; step = next()) await step();
    } catch (error) {
      log.warn({ err: error }, "cannot read or announce the users created during the outage yet; retrying");
      if (!closed) timer = setTimeout(work, RETRY).unref();
    }
    working = false;
    if (finishing && toAnnounce === undefined) finished.resolve();
  }

  return {
    /**
     * Treats the time until the first connection as an outage. Resolves once all recently created users were passed to
     * `deliver`, which remembers them: a user that is not among them is new, even if clocks differ. Call this before
     * there are listeners.
     */
    begin(): Promise<void> {
      lostSince = firstIdAt(Date.now());
      return readFrom(lostSince);
    },
    /** Call this when messages of other replicas may be missed from now on. */
    lost(): void {
      lostSince ??= firstIdAt(Date.now());
    },
    /** Call this when messages arrive, again or for the first time: reads the users created since `lost` or `begin`. */
    back(): void {
      if (lostSince !== undefined) toRead = earlierOf(toRead, lostSince);
      lostSince = undefined;
      void work();
    },
    /** Announces a user that could not be sent to the other replicas, once they can be reached. */
    unsent(id: string): void {
      toAnnounce = earlierOf(toAnnounce, id);
      if (reachable()) void work();
    },
    /** Reads the users from this id on: another replica reports that this one may have missed them. */
    read(after: string): void {
      toRead = earlierOf(toRead, after);
      void work();
    },
    /** Stops reading. Resolves once the other replicas have been told of all users that could not be sent to them. */
    finish(): Promise<void> {
      finishing = true;
      void work();
      return finished.promise;
    },
    close(): void {
      closed = true;
      clearTimeout(timer);
    },
  };
}
