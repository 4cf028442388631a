/** The conformance suite of `Events`. The test of each implementation calls it. */
import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, afterEach, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Events, EventsOptions } from "../../../user-api/src/events/events.ts";
import type { User, UserStore } from "../../../user-api/src/store/store.ts";

export interface EventsSuiteOptions {
  /** The implementation's name, for the report. */
  readonly name: string;
  /** Opens the events of one replica. All open replicas share one transport. */
  readonly open: (options: Pick<EventsOptions, "store" | "log">) => Promise<Events>;
  /** Absent for an implementation without replicas. */
  readonly between?: TransportProxy;
}

/** A proxy between the replicas and the server that carries their messages. */
export interface TransportProxy {
  /** Closes all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Forwards no more data and closes no connection: a replica notices only through its heartbeat. */
  freeze(): void;
  /** Closes frozen connections and accepts new ones. */
  mend(): Promise<void>;
  /** Sends a text on the events' channel, as a foreign client would. */
  say(text: string): Promise<void>;
}

const user = (name: string): User => {
  const id = randomUUIDv7();
  return { id, name, email: `${id}@example.org` };
};

/** The store that the replicas share: users in the order of their ids. */
function sharedUsers(): Pick<UserStore, "users"> & { add(user: User): void } {
  const all: User[] = [];
  return {
    add(one) {
      all.push(one);
      all.sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    users: async ({ after = "", first = all.length } = {}) => all.filter(({ id }) => id > after).slice(0, first),
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate();
}

export function eventsSuite({ name, open, between }: EventsSuiteOptions): void {
  describe(`event delivery through ${name}`, () => {
    const ends: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const end of ends.splice(0)) await end();
    });

    async function replicas(count: number) {
      const store = sharedUsers();
      const warnings: string[] = [];
      const log: EventsOptions["log"] = {
        info: () => undefined,
        warn: (_what: unknown, message?: string) => void warnings.push(message ?? ""),
      };
      const opened = await Promise.all(Array.from({ length: count }, () => open({ store, log })));
      const received = opened.map((events) => {
        const names: string[] = [];
        events.subscribe(({ name }) => names.push(name));
        ends.push(() => events.close());
        return names;
      });
      await until(() => opened.every((events) => events.health().connected));
      const create = (replica: number, name: string): void => {
        const created = user(name);
        store.add(created);
        opened[replica]?.publish(created);
      };
      return { opened, received, create, warnings };
    }

    it("notifies every subscriber of each user once, in order", async () => {
      const count = between === undefined ? 1 : 3;
      const { received, create } = await replicas(count);
      const expected = ["a", "b", "c", "Zoë 🐙"];
      for (const name of expected) create(0, name);
      await until(() => received.every(({ length }) => length >= expected.length));
      // A later user shows that no earlier one was delivered twice.
      create(count - 1, "last");
      await until(() => received.every((names) => names.includes("last")));
      for (const names of received) assert.deepEqual(names, [...expected, "last"]);
    });

    it("calls a function with several subscriptions once for each, and no longer after the last has ended", async () => {
      const { opened, create, received } = await replicas(1);
      const names: string[] = [];
      const listener = ({ name }: User) => names.push(name);
      const [first, second] = [opened[0]?.subscribe(listener), opened[0]?.subscribe(listener)];
      create(0, "a");
      await until(() => received[0]?.length === 1);
      first?.();
      create(0, "b");
      await until(() => received[0]?.length === 2);
      second?.();
      create(0, "c");
      await until(() => received[0]?.length === 3);
      assert.deepEqual(names, ["a", "a", "b"]);
    });

    if (between === undefined) return;
    after(() => between.mend());

    it("detects a silent connection within a heartbeat and two seconds", async () => {
      const { opened } = await replicas(1);
      between.freeze();
      const began = performance.now();
      await until(() => opened.every((events) => !events.health().connected));
      const took = performance.now() - began;
      // With the suites' heartbeat of 0.2 s, this should take 2.2 s. The rest of the limit is for a busy machine.
      assert.ok(took < 3_500, `${took} ms`);
      await between.mend();
    });

    for (const [outage, begin] of [
      ["ends", () => between.cut()],
      ["falls silent", async () => between.freeze()],
    ] as const) {
      it(`recovers when the connection ${outage}: writers notice nothing, and missed users are delivered afterwards`, async () => {
        const { opened, received, create } = await replicas(2);
        create(0, "before");
        await until(() => received.every(({ length }) => length === 1));
        await begin();
        create(0, "meanwhile");
        assert.deepEqual(received[0], ["before", "meanwhile"]);
        await until(() => opened.every((events) => !events.health().connected));
        create(1, "from the other");
        assert.deepEqual(received[1], ["before", "from the other"]);
        await between.mend();
        await until(() => received.every(({ length }) => length === 3));
        await until(() => opened.every((events) => events.health().connected));
        create(0, "after");
        await until(() => received.every((names) => names.at(-1) === "after"));
        assert.deepEqual(
          received.map((names) => names.toSorted()),
          [
            ["after", "before", "from the other", "meanwhile"],
            ["after", "before", "from the other", "meanwhile"],
          ],
        );
      });
    }

    it("starts while the server that carries messages is unreachable, and delivers the users that other replicas created in the meantime once the server is back", async () => {
      await between.cut();
      const store = sharedUsers();
      store.add(user("before"));
      const log = { info: () => undefined, warn: () => undefined };
      const events = await open({ store, log });
      ends.push(() => events.close());
      const names: string[] = [];
      events.subscribe(({ name }) => names.push(name));
      assert.equal(events.health().connected, false);
      const created = user("ann");
      store.add(created);
      events.publish(created);
      assert.deepEqual(names, ["ann"]);
      store.add(user("by another"));
      await between.mend();
      await until(() => events.health().connected);
      await until(() => names.length > 1);
      assert.deepEqual(names, ["ann", "by another"]);
    });

    it("ignores each message of another program with a warning", async () => {
      const { received, create, warnings } = await replicas(2);
      const texts = ["", "hello", "null", "[]", "{}", '{"created":{"id":1}}', `{"missedAfter":"${"x".repeat(36)}"}`];
      for (const text of texts) await between.say(text);
      create(0, "ann");
      await until(() => received.every(({ length }) => length === 1));
      assert.deepEqual(received, [["ann"], ["ann"]]);
      // The replicas may deliver the user before they have read all messages of the other program.
      await until(() => warnings.length >= texts.length * 2);
      assert.equal(warnings.length, texts.length * 2);
    });
  });
}
