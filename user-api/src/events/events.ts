/**
 * Tells of created users: this replica's subscribers at once, the other replicas' through a transport. What a transport
 * cannot carry is read from the store when it is back, for ids are in the order of creation (UUIDv7).
 */
import type { FastifyBaseLogger } from "fastify";
import type { User, UserStore } from "../store/store.ts";
import { type Message, readMessage, writeMessage } from "./message.ts";
import { makeRecent } from "./recent.ts";
import { makeRepair } from "./repair.ts";
import type { OpenTransport } from "./transport.ts";

export interface Events {
  /** Tells of a user who is in the store. Returns at once and never fails: creating a user is not undone by it. */
  publish(user: User): void;
  /** Calls the listener for every user from now on, of whatever replica. Returns what ends it. */
  subscribe(listener: (user: User) => void): () => void;
  health(): EventsHealth;
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

/** For several replicas that share a store. */
export function openEvents({ through, open, store, log }: EventsOptions): Events {
  const listeners: Listeners = new Set();
  const recent = makeRecent(20_000);
  const deliver = (user: User): void => {
    if (recent.add(user.id)) tell(listeners, user);
  };
  const send = (message: Message): Promise<void> => transport.publish(writeMessage(message));
  const repair = makeRepair({
    store,
    log,
    deliver,
    announce: (missedAfter) => send({ missedAfter }),
    reachable: () => transport.connected(),
  });

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
      send({ created: user }).catch(() => repair.unsent(user.id));
    },
    subscribe: subscribeTo(listeners),
    health: () => ({ through, connected: transport.connected() }),
    async close() {
      repair.close();
      listeners.clear();
      await transport.close();
    },
  };
}
