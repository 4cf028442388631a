/**
 * Tells of created users: this replica's subscribers at once, the other replicas' through a transport. What a transport
 * cannot carry is read from the store when it is back, for ids are in the order of creation (UUIDv7).
 */
import type { FastifyBaseLogger } from "fastify";
import { UnderWay } from "../execution/under-way.ts";
import type { User, UserStore } from "../store/store.ts";
import { type Message, readMessage, writeMessage } from "./message.ts";
import { makeRecent } from "./recent.ts";
import { earlier, makeRepair } from "./repair.ts";
import type { OpenTransport } from "./transport.ts";

export interface Events {
  /** Tells of a user who is in the store. Returns at once and never fails: creating a user is not undone by it. */
  publish(user: User): void;
  /** Calls the listener for every user from now on, of whatever replica. Returns what ends it. */
  subscribe(listener: (user: User) => void): () => void;
  health(): EventsHealth;
  /** Waits until the other replicas were told, 2 s at most. */
  close(): Promise<void>;
}

export interface EventsHealth {
  /** `process`: there is one replica and nothing to reach. */
  readonly through: Through;
  /** False: users who are created on other replicas are told of later. */
  readonly connected: boolean;
}

export type Through = "process" | "redis" | "database";

export interface EventsOptions {
  readonly through: Exclude<Through, "process">;
  readonly open: OpenTransport;
  /** Read for what was missed. */
  readonly store: Pick<UserStore, "users">;
  readonly log: Pick<FastifyBaseLogger, "info" | "warn">;
}

type Listeners = Set<(user: User) => void>;

function tell(listeners: Listeners, user: User): void {
  for (const listener of listeners) listener(user);
}

function subscribeTo(listeners: Listeners): Events["subscribe"] {
  return (given) => {
    // A function of its own, so that one listener may subscribe twice.
    const listener = (user: User): void => given(user);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
}

/** For a single process. */
export function openProcessEvents(): Events {
  const listeners: Listeners = new Set();
  return {
    publish: (user) => tell(listeners, user),
    subscribe: subscribeTo(listeners),
    health: () => ({ through: "process", connected: true }),
    close: async () => undefined,
  };
}

/**
 * Messages that may be on their way together. The others read from the store who is created beyond that: once when that
 * begins, and for who is left out later only when all is through, for each reading begins a while before.
 */
const ON_THE_WAY = 1_000;
/** How long the end may wait for what the others are still to be told, in milliseconds. */
const LAST_WORDS = 2_000;

/** For several replicas that share a store. Resolves once users who were there before are known; see `Repair.begin`. */
export async function openEvents({ through, open, store, log }: EventsOptions): Promise<Events> {
  const listeners: Listeners = new Set();
  const recent = makeRecent(100_000);
  const deliver = (user: User): void => {
    if (recent.add(user.id)) tell(listeners, user);
  };
  const onTheWay = new UnderWay();
  const send = (message: Message): Promise<void> => transport.publish(writeMessage(message));
  const repair = makeRepair({
    store,
    log,
    deliver,
    announce: (missedAfter) => send({ missedAfter }),
    reachable: () => transport.connected(),
  });
  await repair.begin();

  /** While messages pile up. */
  let burst = false;
  /** The first who was left out since the others were sent to the store. */
  let leftOut: string | undefined;
  function leaveOut(id: string): void {
    if (burst) {
      leftOut = leftOut === undefined ? id : earlier(leftOut, id);
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
      if (message === null) log.warn({ through }, "a message on the events' channel is none of ours");
      else if ("created" in message) deliver(message.created);
      else repair.read(message.missedAfter);
    },
    lost(error) {
      if (lost) return;
      lost = true;
      repair.lost();
      log.warn({ err: error, through }, "users who are created on other replicas are told of later");
    },
    connected() {
      if (lost) log.info({ through }, "events of other replicas come again");
      lost = false;
      repair.back();
    },
  });

  return {
    publish(user) {
      deliver(user);
      if (onTheWay.size >= ON_THE_WAY) return leaveOut(user.id);
      void onTheWay
        .add(send({ created: user }).catch(() => repair.unsent(user.id)))
        .then(() => onTheWay.size === 0 && drained());
    },
    subscribe: subscribeTo(listeners),
    health: () => ({ through, connected: transport.connected() }),
    async close() {
      listeners.clear();
      const late = Promise.withResolvers<boolean>();
      const timer = setTimeout(late.resolve, LAST_WORDS, false);
      const told = onTheWay.settled().then(() => {
        drained();
        return repair.finish();
      });
      const inTime = await Promise.race([told.then(() => true), late.promise]);
      clearTimeout(timer);
      if (!inTime) log.warn({ through }, "ends before other replicas were told of all users");
      repair.close();
      await transport.close();
    },
  };
}
