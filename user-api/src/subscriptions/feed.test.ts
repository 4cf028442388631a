import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { buildSchema, execute, parse } from "graphql";
import { firstIdAt } from "../events/repair.ts";
import type { Operation } from "../limits/documents.ts";
import { makeLog } from "../operations/log.ts";
import type { User } from "../store/store.ts";
import type { OperationReceiver } from "./connection.ts";
import { type FeedSubscription, makeFeed } from "./feed.ts";

const schema = buildSchema("type Query { a: Int } type User { name: String } type Subscription { userCreated: User }");
const OVERRUN = "Users are created faster than this subscription can be served";
const user = (name: string): User => ({ id: name, name, email: name });

function rig(hold: Promise<void> = Promise.resolve()) {
  let tell: (user: User) => void = () => assert.fail("the feed has not subscribed to events");
  let executions = 0;
  const feed = makeFeed({
    executor: {
      executeEvent: async ({ operation }, _consumer, rootValue) => {
        executions += 1;
        return execute({ schema, document: operation.document, rootValue });
      },
    },
    events: {
      subscribe(listener) {
        tell = listener;
        return () => {
          tell = () => undefined;
        };
      },
    },
    log: makeLog({ level: "silent" }),
  });
  const operation = { document: parse("subscription { userCreated { name } }") } as Operation;
  const following = (key: string): FeedSubscription => ({ operation, variables: {}, consumer: null, key });
  const names: string[][] = [];
  const failed: string[] = [];
  function follow(key: string): () => void {
    const own: string[] = [];
    names.push(own);
    const receiver: OperationReceiver = {
      next: (result) => void own.push(JSON.parse(result).data.userCreated.name),
      fail: (errors) => void failed.push(errors[0]?.message ?? ""),
      complete: () => assert.fail("a feed has no end"),
    };
    return feed.subscribe(following(key), receiver);
  }
  const slow = schema.getType("User") as unknown as { getFields(): Record<string, { resolve?: unknown }> };
  const field = slow.getFields().name;
  assert.ok(field);
  field.resolve = async (source: User) => {
    await hold;
    return source.name;
  };
  return { feed, follow, names, failed, tell: (name: string) => tell(user(name)), executions: () => executions };
}

describe("the feed", () => {
  it("executes each event once for all equal subscriptions, however many there are, and serves each", async () => {
    const { feed, follow, names, tell, executions } = rig();
    for (let n = 0; n < 1_000; n++) follow("a");
    follow("b");
    assert.equal(feed.size(), 1_001);
    tell("ann");
    tell("bob");
    await feed.settled();
    assert.equal(executions(), 4);
    for (const own of names) assert.deepEqual(own, ["ann", "bob"]);
  });

  it("serves no ended subscription, and keeps no state of an ended subscription", async () => {
    const { feed, follow, names, tell, executions } = rig();
    const ends = [follow("a"), follow("a"), follow("b")];
    ends[0]?.();
    ends[2]?.();
    tell("ann");
    await feed.settled();
    assert.deepEqual(names, [[], ["ann"], []]);
    ends[1]?.();
    ends[1]?.();
    tell("bob");
    await feed.settled();
    assert.deepEqual([feed.size(), executions()], [0, 1]);
  });

  it("fails subscriptions with too many waiting users, and serves later equal subscriptions", async () => {
    const gate = Promise.withResolvers<void>();
    const { feed, follow, names, failed, tell } = rig(gate.promise);
    follow("a");
    follow("a");
    for (let n = 0; n <= 1_000; n++) tell(`user${n}`);
    assert.deepEqual(failed, [OVERRUN, OVERRUN]);
    assert.equal(feed.size(), 0);
    follow("a");
    tell("next");
    gate.resolve();
    await feed.settled();
    for (let n = 0; n < 5; n++) await setImmediate();
    assert.deepEqual(names[2], ["next"]);
  });

  it("delivers to a subscription no users that were created before it, even if they are still being sent", async () => {
    const gate = Promise.withResolvers<void>();
    const { feed, follow, names, tell, executions } = rig(gate.promise);
    const leave = follow("a");
    tell("ann");
    tell("bob");
    follow("a");
    tell("cy");
    leave();
    gate.resolve();
    await feed.settled();
    // Nothing is executed for users that no subscription receives.
    assert.deepEqual([names, executions()], [[[], ["cy"]], 1]);
  });

  it("delivers no user whose id is certainly older than the subscription", async () => {
    const { feed, follow, names, tell } = rig();
    const now = Date.now();
    follow("a");
    // Such users arrive after an outage of the transport. The clocks of replicas may differ by 20 s.
    const [before, perhaps] = [firstIdAt(now - 25_000), firstIdAt(now - 15_000)];
    tell(before);
    tell(perhaps);
    tell(firstIdAt(now + 15_000));
    await feed.settled();
    assert.deepEqual(names, [[perhaps, firstIdAt(now + 15_000)]]);
  });

  it("delivers nothing once it is closed", async () => {
    const { feed, follow, names, tell } = rig();
    follow("a");
    feed.close();
    tell("ann");
    await feed.settled();
    assert.deepEqual(names, [[]]);
  });
});
