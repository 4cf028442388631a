/** Brings created users to those who follow. */
import { setImmediate } from "node:timers/promises";
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
} from "graphql";
import type { Created } from "../directory/resolvers.ts";
import type { Events } from "../events/events.ts";
import { momentOf } from "../events/repair.ts";
import { makeInTime } from "../limits/time.ts";
import type { User } from "../store/store.ts";
import type { Receiver } from "./receiver.ts";

/** A checked subscription. */
export interface Following {
  readonly document: DocumentNode;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>> | undefined;
  /** Operations with the same key get the same result: one text, one operation, one set of variables, one asker. */
  readonly key: string;
  /** The resolvers' context for one event. */
  readonly context: () => object;
}

export interface Feed {
  /** Sends the receiver a result for every user who is created from now on. Returns what ends it. */
  follow(following: Following, receiver: Receiver): () => void;
  /** How many operations follow. */
  size(): number;
  /** Resolves when every user who was created so far has been sent. */
  settled(): Promise<void>;
  close(): void;
}

export interface FeedOptions {
  readonly schema: GraphQLSchema;
  readonly events: Pick<Events, "subscribe">;
  /** The result for clients: codes in place of causes. */
  readonly present: (result: ExecutionResult) => object;
  /** What one event may take; one that takes longer is told as an error. */
  readonly milliseconds: number;
  /** The error for those who cannot be told of a user, because earlier ones are not through. */
  readonly overrun: () => readonly GraphQLFormattedError[];
}

/** When a receiver began to follow. */
interface Joined {
  /** Users whom its group had been told of by then. */
  readonly told: number;
  /** Who has an id of an earlier time was certainly there before. */
  readonly milliseconds: number;
}

/** Everybody who asks the same. */
interface Group {
  readonly following: Following;
  readonly receivers: Map<Receiver, Joined>;
  /** Resolves when all that the group was told of is sent. */
  tail: Promise<void>;
  /** Users whom the group was told of. */
  told: number;
  /** Those of them who are not sent yet. */
  waiting: number;
}

/** Users whom a group may wait for, while the store answers slowly. */
const MOST_WAITING = 1_000;
/**
 * How far the clocks of replicas may differ, by which ids are made (events/repair.ts reads so much more). When messages
 * come again after they could not be carried, users come whom a follower of this moment must not hear of.
 */
const CLOCKS_DIFFER = 20_000;
/** Ids of another form say nothing of when they were made. */
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;
/** Receivers served before others get their turn at the processor. */
const SLICE = 256;

const newGroup = (following: Following): Group => ({
  following,
  receivers: new Map(),
  tail: Promise.resolve(),
  told: 0,
  waiting: 0,
});

/** Executes a subscription once for each event and group, however many follow. Users come in the order of the events. */
export function makeFeed({ schema, events, present, milliseconds, overrun }: FeedOptions): Feed {
  const groups = new Map<string, Group>();
  const inTime = makeInTime(milliseconds);

  async function executed(following: Following, user: User): Promise<ExecutionResult> {
    const { document, operationName, variables, context } = following;
    const rootValue: Created = { userCreated: user };
    return execute({
      schema,
      document,
      rootValue,
      contextValue: context(),
      variableValues: variables,
      operationName,
    });
  }

  async function resultOf(following: Following, user: User): Promise<string> {
    const result = await inTime(executed(following, user)).catch((fault: Error) => ({
      errors: [fault instanceof GraphQLError ? fault : new GraphQLError(fault.message, { originalError: fault })],
    }));
    return JSON.stringify(present(result));
  }

  /** @param number of the user among those whom the group was told of. */
  async function send({ following, receivers }: Group, user: User, number: number): Promise<void> {
    const created = UUID_V7.test(user.id) ? momentOf(user.id) : Number.POSITIVE_INFINITY;
    const isFor = ({ told, milliseconds }: Joined): boolean => told < number && created >= milliseconds;
    // They may all have gone while earlier users were sent.
    if (!receivers.values().some(isFor)) return;
    const result = await resultOf(following, user);
    let served = 0;
    for (const [receiver, joined] of receivers) {
      if (!isFor(joined)) continue;
      receiver.next(result);
      served += 1;
      if (served % SLICE === 0) await setImmediate();
    }
  }

  function tell(group: Group, user: User): void {
    if (group.waiting >= MOST_WAITING) {
      const errors = overrun();
      groups.delete(group.following.key);
      for (const receiver of group.receivers.keys()) receiver.fail(errors);
      group.receivers.clear();
      return;
    }
    group.told += 1;
    group.waiting += 1;
    const number = group.told;
    group.tail = group.tail
      .then(() => send(group, user, number))
      .finally(() => {
        group.waiting -= 1;
      });
  }

  const unsubscribe = events.subscribe((user) => {
    for (const group of groups.values()) tell(group, user);
  });

  return {
    follow(following, receiver) {
      const { key } = following;
      const group = groups.get(key) ?? newGroup(following);
      groups.set(key, group);
      group.receivers.set(receiver, { told: group.told, milliseconds: Date.now() - CLOCKS_DIFFER });
      return () => {
        group.receivers.delete(receiver);
        if (group.receivers.size === 0 && groups.get(key) === group) groups.delete(key);
      };
    },
    size: () => groups.values().reduce((sum, { receivers }) => sum + receivers.size, 0),
    async settled() {
      await Promise.all(groups.values().map(({ tail }) => tail));
    },
    close: unsubscribe,
  };
}
