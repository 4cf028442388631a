/**
 * Delivers created users: to this replica's subscribers at once, to other replicas through a transport. After an
 * outage of the transport, missed users are read from the store by their ids, which are in the order of creation
 * (UUIDv7).
 */
import type { FastifyBaseLogger } from "fastify";
import { PendingWork } from "../execution/pending-work.ts";
import type { User, UserStore } from "../store/store.ts";
import { earlierOf, makeRepair } from "./repair.ts";
import type { OpenTransport } from "./transport.ts";
import { readMessage, type TransportMessage, writeMessage } from "./transport.ts";

export interface Events {
  /**
   * Announces a user that is in the store. Returns at once and never fails: a lost event must not undo the creation.
   */
  publish(user: User): void;
  /**
   * Calls the listener for every user created from now on, on any replica. After an outage of the transport, the users
   * may include some that were created before this call. Returns a function that unsubscribes.
   */
  subscribe(listener: (user: User) => void): () => void;
  health(): EventsHealth;
  /** Waits until the other replicas have been notified, 2 s at most, and then closes the transport. */
  close(): Promise<void>;
}

export interface EventsHealth {
  /** `process`: a single replica without a transport. */
  readonly through: EventTransport;
  /** False: users created on other replicas are delivered later. */
  readonly connected: boolean;
}

export type EventTransport = "process" | "redis" | "database";

export interface EventsOptions {
  readonly through: Exclude<EventTransport, "process">;
  readonly open: OpenTransport;
  readonly store: Pick<UserStore, "users">;
  readonly log: Pick<FastifyBaseLogger, "info" | "warn">;
}

export function openProcessEvents(): Events {
  const listeners = new Set<(user: User) => void>();
  return {
    publish(user) {
      for (const listener of listeners) listener(user);
    },
    subscribe(given) {
      // A new function for each call, so that one listener can subscribe twice.
      const listener = (user: User): void => given(user);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    health: () => ({ through: "process", connected: true }),
    close: async () => listeners.clear(),
  };
}

/**
 * Maximum number of messages in flight. Users beyond that are not sent: the other replicas read them from the store. In
 * such a burst of users, the replicas are asked to read only twice: for the first user that is left out, and for the
 * later ones once the burst is over. Asking more often would be costly, because each read starts some time before the
 * given id.
 */
const MAX_IN_FLIGHT = 1_000;
/** Number of delivered ids to remember: a replica receives its own messages too, and repair.ts reads users again. */
const DELIVERED = 100_000;
/** How long closing waits for the other replicas to be notified, in milliseconds. */
const CLOSE_TIMEOUT = 2_000;

/** Events for replicas that share a store. Resolves once recently created users are known; see `begin` in repair.ts. */
export async function openEvents({ through, open, store, log }: EventsOptions): Promise<Events> {
  const here = openProcessEvents();
  const delivered = new Set<string>();
  const deliver = (user: User): void => {
    if (delivered.has(user.id)) return;
    const [oldest] = delivered.size >= DELIVERED ? delivered : [];
    if (oldest !== undefined) delivered.delete(oldest);
    delivered.add(user.id);
    here.publish(user);
  };
  const inFlight = new PendingWork();
  const send = (message: TransportMessage): Promise<void> => transport.publish(writeMessage(message));
  const repair = makeRepair({
    store,
    log,
    deliver,
    announce: (missedAfter) => send({ missedAfter }),
    reachable: () => transport.connected(),
  });
  await repair.begin();

  /** True from the first user left out until no message is in flight. */
  let burst = false;
  /** The smallest id of the users left out since the other replicas were last asked to read the store. */
  let leftOut: string | undefined;
  function leaveOut(id: string): void {
    if (burst) {
      leftOut = leftOut === undefined ? id : earlierOf(leftOut, id);
      return;
    }
    burst = true;
    repair.unsent(id);
  }
  function drained(): void {
    burst = false;
    if (leftOut !== undefined) repair.unsent(leftOut);
    leftOut = undefined;
  }

  let lost = false;
  const transport = open({
    message(text) {
      const message = readMessage(text);
      if (message === null) log.warn({ through }, "ignored a message in an unknown format on the events channel");
      else if ("created" in message) deliver(message.created);
      else repair.read(message.missedAfter);
    },
    lost(error) {
      if (lost) return;
      lost = true;
      repair.lost();
      log.warn(
        { err: error, through },
        "lost the connection to other replicas; users created there are delivered once it is back",
      );
    },
    connected() {
      if (lost) log.info({ through }, "connected to other replicas again");
      lost = false;
      repair.back();
    },
  });

  return {
    publish(user) {
      deliver(user);
      if (inFlight.size >= MAX_IN_FLIGHT) return leaveOut(user.id);
      void inFlight
        .add(send({ created: user }).catch(() => repair.unsent(user.id)))
        .then(() => inFlight.size === 0 && drained());
    },
    subscribe: here.subscribe,
    health: () => ({ through, connected: transport.connected() }),
    async close() {
      await here.close();
      const late = Promise.withResolvers<boolean>();
      const timer = setTimeout(late.resolve, CLOSE_TIMEOUT, false);
      const settled = inFlight.settled().then(() => {
        drained();
        return repair.finish();
      });
      const inTime = await Promise.race([settled.then(() => true), late.promise]);
      clearTimeout(timer);
      if (!inTime) log.warn({ through }, "closing before the other replicas were notified of all users");
      repair.close();
      await transport.close();
    },
  };
}
