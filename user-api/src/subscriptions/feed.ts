/** Sends created users to subscribers. */
import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import { asGraphqlError, createFailure, formatError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { creationTime } from "../events/repair.ts";
import type { Executor, RequestedOperation } from "../execution/executor.ts";
import type { Consumer } from "../policy/caller.ts";
import type { User } from "../store/store.ts";
import type { OperationReceiver } from "./connection.ts";

export interface FeedSubscription extends RequestedOperation {
  readonly consumer: Consumer | null;
  /** Operations with the same key get the same result: same text, operation, variables and consumer. */
  readonly key: string;
}

export type Feed = ReturnType<typeof makeFeed>;

export interface FeedOptions {
  readonly executor: Pick<Executor, "executeEvent">;
  readonly events: Pick<Events, "subscribe">;
  readonly log: FastifyBaseLogger;
}

/** The moment when a receiver subscribed. */
interface Joined {
  /** The group's `sequence` when the receiver subscribed. */
  readonly sequence: number;
  /** Users whose ids have an earlier time existed before the subscription, even if the clocks of replicas differ. */
  readonly milliseconds: number;
}

/** All receivers with the same key. */
interface Group {
  readonly subscription: FeedSubscription;
  readonly receivers: Map<OperationReceiver, Joined>;
  /** Resolves when all users passed to the group are sent. */
  tail: Promise<void>;
  /** The number of users passed to the group so far. */
  sequence: number;
  /** The number of users that are not sent yet. */
  waiting: number;
}

/** The maximum number of pending users per group. Users become pending while the store responds slowly. */
const MAX_PENDING = 1_000;
/**
 * The maximum difference between the clocks of replicas, which make the ids; events/repair.ts reads as far back. Users
 * created during an outage of the transport arrive after it, and must not reach subscribers that joined after their
 * creation.
 */
const MAX_CLOCK_DIFFERENCE = 20_000;
/** Ids of another form contain no time of creation. */
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;
/** The number of receivers that are served before the event loop may run other work. */
const SLICE = 256;

/** Executes a subscription once per event and group, however many receivers a group has. Keeps the order of events. */
export function makeFeed({ executor, events, log }: FeedOptions) {
  const groups = new Map<string, Group>();

  async function resultOf(subscription: FeedSubscription, user: User): Promise<string> {
    const { data, errors } = await executor
      .executeEvent(subscription, subscription.consumer, { userCreated: user })
      .catch((fault: unknown) => ({ data: undefined, errors: [asGraphqlError(fault)] }));
    if (errors === undefined) return JSON.stringify({ data });
    // Events belong to no request: a new id connects the error that clients see with its log line.
    const id = randomUUID();
    const errorContext = { log: log.child({ requestId: id }), id };
    return JSON.stringify({ data, errors: errors.map((error) => formatError(error, errorContext)) });
  }

  /** @param number The position of the user among those passed to the group. */
  async function send({ subscription, receivers }: Group, user: User, number: number): Promise<void> {
    const created = UUID_V7.test(user.id) ? creationTime(user.id) : Number.POSITIVE_INFINITY;
    const isFor = ({ sequence, milliseconds }: Joined): boolean => sequence < number && created >= milliseconds;
    // All receivers may have left while earlier users were sent.
    if (!receivers.values().some(isFor)) return;
    const result = await resultOf(subscription, user);
    let served = 0;
    for (const [receiver, joined] of receivers) {
      if (!isFor(joined)) continue;
      receiver.next(result);
      served += 1;
      if (served % SLICE === 0) await setImmediate();
    }
  }

  function enqueue(group: Group, user: User): void {
    if (group.waiting >= MAX_PENDING) {
      const overrun = createFailure("SLOW_CONSUMER", "Users are created faster than this subscription can be served");
      groups.delete(group.subscription.key);
      for (const receiver of group.receivers.keys()) receiver.fail([overrun.toJSON()]);
      group.receivers.clear();
      return;
    }
    group.sequence += 1;
    group.waiting += 1;
    const number = group.sequence;
    group.tail = group.tail
      .then(() => send(group, user, number))
      .finally(() => {
        group.waiting -= 1;
      });
  }

  const unsubscribe = events.subscribe((user) => {
    for (const group of groups.values()) enqueue(group, user);
  });

  return {
    /** Sends the receiver a result for every user created from now on. Returns a function that stops it. */
    subscribe(subscription: FeedSubscription, receiver: OperationReceiver): () => void {
      const { key } = subscription;
      const group = groups.getOrInsertComputed(key, () => ({
        subscription,
        receivers: new Map(),
        tail: Promise.resolve(),
        sequence: 0,
        waiting: 0,
      }));
      group.receivers.set(receiver, { sequence: group.sequence, milliseconds: Date.now() - MAX_CLOCK_DIFFERENCE });
      return () => {
        group.receivers.delete(receiver);
        if (group.receivers.size === 0 && groups.get(key) === group) groups.delete(key);
      };
    },
    size: () => groups.values().reduce((sum, { receivers }) => sum + receivers.size, 0),
    /** Resolves when every user created so far has been sent. */
    async settled() {
      await Promise.all(groups.values().map(({ tail }) => tail));
    },
    close: unsubscribe,
  };
}
