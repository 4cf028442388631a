import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { setImmediate } from "node:timers/promises";
import { eventsSuite } from "../../../test/conformance/user-events/suite.ts";
import type { User } from "../store/store.ts";
import { arrayStore } from "../testing.ts";
import { openEvents, openProcessEvents } from "./events.ts";
import { readMessage, type TransportMessage } from "./transport.ts";

eventsSuite({ name: "this process alone", open: async () => openProcessEvents() });

/** Events over a transport that records messages. Sending a message takes until the test settles its gate. */
async function rig() {
  const sent: { readonly message: TransportMessage | null; readonly gate: PromiseWithResolvers<void> }[] = [];
  const warnings: unknown[] = [];
  const state = { connected: true, closed: false };
  const store = arrayStore();
  const events = await openEvents({
    through: "redis",
    store,
    log: { info: () => undefined, warn: (_what: unknown, message?: unknown) => void warnings.push(message) },
    open: () => ({
      async publish(text) {
        if (!state.connected) throw new Error("away");
        const gate = Promise.withResolvers<void>();
        sent.push({ message: readMessage(text), gate });
        await gate.promise;
      },
      connected: () => state.connected,
      async close() {
        state.closed = true;
      },
    }),
  });
  const create = (): User => {
    const id = randomUUIDv7();
    const user = { id, name: id, email: `${id}@example.org` };
    void store.add(user);
    events.publish(user);
    return user;
  };
  return { events, sent, warnings, state, create };
}

const settle = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await setImmediate();
};

describe("notifications for other replicas", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
  afterEach(() => mock.timers.reset());

  it("are sent before the shutdown ends", async () => {
    const { events, sent, state, create, warnings } = await rig();
    const users = [create(), create()];
    const closed = events.close();
    await settle();
    assert.equal(state.closed, false);
    assert.deepEqual(
      sent.map(({ message }) => message),
      users.map((created) => ({ created })),
    );
    sent[0]?.gate.resolve();
    await settle();
    assert.equal(state.closed, false);
    // A message that fails during the shutdown is replaced by an announcement.
    sent[1]?.gate.reject(new Error("broken"));
    await settle();
    assert.deepEqual(sent[2]?.message, { missedAfter: users[1]?.id });
    assert.equal(state.closed, false);
    sent[2]?.gate.resolve();
    await closed;
    assert.equal(state.closed, true);
    assert.deepEqual(warnings, []);
  });

  it("delay the shutdown by two seconds at most, and a warning reports that some were not sent", async () => {
    const { events, state, create, warnings } = await rig();
    state.connected = false;
    create();
    const closed = events.close();
    await settle();
    mock.timers.tick(1_999);
    await settle();
    assert.equal(state.closed, false);
    mock.timers.tick(1);
    await closed;
    assert.equal(state.closed, true);
    assert.deepEqual(warnings, ["closing before the other replicas were notified of all users"]);
  });

  it("are bounded: beyond a thousand pending messages, one message makes the other replicas read the store", async () => {
    const { events, sent, create } = await rig();
    const users = Array.from({ length: 1_500 }, create);
    await settle();
    assert.equal(sent.length, 1_001);
    assert.deepEqual(sent.at(-1)?.message, { missedAfter: users[1_000]?.id });
    for (const { gate } of sent) gate.resolve();
    await settle();
    // The smallest id of the users created while that message was being sent: ids of one millisecond are in no order.
    const [first] = users
      .slice(1_001)
      .map(({ id }) => id)
      .toSorted();
    assert.deepEqual(sent.at(-1)?.message, { missedAfter: first });
    assert.equal(sent.length, 1_002);
    sent.at(-1)?.gate.resolve();
    create();
    await settle();
    assert.equal(sent.length, 1_003);
    sent.at(-1)?.gate.resolve();
    await events.close();
  });

  it("are left out beyond the limit: one message for the first user left out, and, after all pending messages, one for all other users left out", async () => {
    const { events, sent, create } = await rig();
    const users = Array.from({ length: 1_001 }, create);
    await settle();
    sent.at(-1)?.gate.resolve();
    const later = [];
    for (let n = 0; n < 10; n++) {
      later.push(create().id);
      await settle();
    }
    assert.equal(sent.length, 1_001);
    assert.deepEqual(sent.at(-1)?.message, { missedAfter: users[1_000]?.id });
    for (const { gate } of sent) gate.resolve();
    await settle();
    assert.equal(sent.length, 1_002);
    assert.deepEqual(sent.at(-1)?.message, { missedAfter: later.toSorted()[0] });
    sent.at(-1)?.gate.resolve();
    await events.close();
  });

  it("announce, before the shutdown ends, the users that a burst left out", async () => {
    const { events, sent, create } = await rig();
    for (let n = 0; n < 1_001; n++) create();
    await settle();
    sent.at(-1)?.gate.resolve();
    await settle();
    const { id } = create();
    const closed = events.close();
    for (const { gate } of sent) gate.resolve();
    await settle();
    assert.deepEqual(sent.at(-1)?.message, { missedAfter: id });
    sent.at(-1)?.gate.resolve();
    await closed;
  });
});
