import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { PageBounds, User } from "../store/store.ts";
import { creationTime, firstIdAt, makeRepair } from "./repair.ts";

const NOW = Date.UTC(2026, 10, 21);
const idAt = (milliseconds: number, n = 0): string =>
  firstIdAt(milliseconds).replace(/0{12}$/, n.toString(16).padStart(12, "0"));
const userAt = (milliseconds: number, n = 0): User => {
  const id = idAt(milliseconds, n);
  return { id, name: `at ${milliseconds - NOW}`, email: `${id}@example.org` };
};

function rig(users: readonly User[] = []) {
  const delivered: string[] = [];
  const announced: string[] = [];
  const warnings: unknown[] = [];
  const state = { reachable: true, storeFails: 0, announceFails: 0 };
  const repair = makeRepair({
    store: {
      async users({ after = "", first = Number.POSITIVE_INFINITY }: PageBounds = {}) {
        if (state.storeFails-- > 0) throw new Error("the store is away");
        return users.filter(({ id }) => id > after).slice(0, first);
      },
    },
    log: { warn: (_what: unknown, message?: unknown) => void warnings.push(message) },
    deliver: ({ name }) => delivered.push(name),
    async announce(after) {
      if (state.announceFails-- > 0) throw new Error("Redis is away");
      announced.push(after);
    },
    reachable: () => state.reachable,
  });
  return { repair, delivered, announced, warnings, state };
}

const settle = async (): Promise<void> => {
  for (let n = 0; n < 150; n++) await setImmediate();
};

describe("users whose messages were lost", () => {
  beforeEach(() => mock.timers.enable({ apis: ["Date", "setTimeout"], now: NOW }));
  afterEach(() => mock.timers.reset());

  it("are read once the connection is back, starting shortly before it was lost", async () => {
    const users = [userAt(NOW - 60_000), userAt(NOW - 10_000), userAt(NOW), userAt(NOW + 5_000)];
    const { repair, delivered } = rig(users);
    repair.lost();
    mock.timers.tick(30_000);
    await settle();
    assert.deepEqual(delivered, []);
    repair.back();
    await settle();
    assert.deepEqual(delivered, ["at -10000", "at 0", "at 5000"]);
    repair.back();
    await settle();
    assert.equal(delivered.length, 3, "nothing was lost since");
  });

  it("are announced to the other replicas once those can be reached, starting with the first missed user", async () => {
    const { repair, announced, state } = rig();
    state.reachable = false;
    for (const moment of [NOW + 2_000, NOW + 1_000, NOW + 3_000]) repair.unsent(idAt(moment));
    await settle();
    assert.deepEqual(announced, []);
    state.reachable = true;
    repair.back();
    await settle();
    assert.deepEqual(announced, [idAt(NOW + 1_000)]);
  });

  it("are announced at once when a single message failed", async () => {
    const { repair, announced } = rig();
    repair.unsent(idAt(NOW));
    await settle();
    assert.deepEqual(announced, [idAt(NOW)]);
  });

  it("are read when another replica announces them", async () => {
    const { repair, delivered } = rig([userAt(NOW - 60_000), userAt(NOW)]);
    repair.read(idAt(NOW));
    await settle();
    assert.deepEqual(delivered, ["at 0"]);
  });

  it("are read and announced by a new attempt after a second if the store or the transport fails", async () => {
    const { repair, delivered, announced, warnings, state } = rig([userAt(NOW)]);
    Object.assign(state, { storeFails: 2, announceFails: 1 });
    repair.unsent(idAt(NOW));
    repair.read(idAt(NOW));
    for (let n = 0; n < 4; n++) {
      await settle();
      mock.timers.tick(1_000);
    }
    await settle();
    assert.deepEqual([delivered, announced], [["at 0"], [idAt(NOW)]]);
    assert.equal(warnings.length, 3);
  });

  it("are read up to the present, even if 30,000 users were created shortly before the outage", async () => {
    const users = Array.from({ length: 30_000 }, (_, n) => userAt(NOW - 19_000, n + 1));
    const { repair, delivered, warnings } = rig([...users, userAt(NOW)]);
    repair.read(idAt(NOW));
    await settle();
    assert.equal(delivered.at(-1), "at 0");
    assert.deepEqual(warnings, []);
  });

  it("are delivered up to the number of 50,000, and a warning reports that there are more", async () => {
    const users = Array.from({ length: 52_000 }, (_, n) => userAt(NOW, n + 1));
    const { repair, delivered, warnings } = rig(users);
    repair.read(idAt(NOW));
    await settle();
    assert.equal(delivered.length, 50_000);
    assert.deepEqual(warnings, [
      "more users were created during the outage than are read from the store; subscribers do not receive the later ones",
    ]);
  });

  it("are also read for the time between the start and the first connection; recent users are delivered at the start", async () => {
    const users = [userAt(NOW - 60_000), userAt(NOW - 10_000)];
    const { repair, delivered } = rig(users);
    await repair.begin();
    assert.deepEqual(delivered, ["at -10000"], "before there are subscribers; events.ts ignores the second delivery");
    delivered.length = 0;
    // Created on a replica whose clock is slow.
    users.push(userAt(NOW - 5_000));
    repair.back();
    await settle();
    assert.deepEqual(delivered, ["at -10000", "at -5000"]);
  });

  it("are announced before the shutdown ends, and are no longer read afterwards", async () => {
    const { repair, delivered, announced, state } = rig([userAt(NOW)]);
    Object.assign(state, { reachable: false, announceFails: 1 });
    repair.unsent(idAt(NOW));
    repair.read(idAt(NOW));
    let finished = false;
    const finish = repair.finish().then(() => {
      finished = true;
    });
    await settle();
    assert.equal(finished, false, "no replica can be reached");
    state.reachable = true;
    repair.back();
    await settle();
    assert.equal(finished, false, "the first attempt fails");
    mock.timers.tick(1_000);
    await finish;
    assert.deepEqual(announced, [idAt(NOW)]);
    repair.read(idAt(NOW));
    await settle();
    assert.deepEqual(delivered, ["at 0"], "only work that began before the end");
    await repair.finish();
  });

  it("are no longer read after the close", async () => {
    const { repair, delivered } = rig([userAt(NOW)]);
    repair.close();
    repair.read(idAt(NOW));
    await settle();
    assert.deepEqual(delivered, []);
  });
});

describe("the creation time", () => {
  it("is computed from an id", () => {
    for (const moment of [0, 1, NOW, NOW + 1]) assert.equal(creationTime(firstIdAt(moment)), moment);
    assert.equal(firstIdAt(-5), "00000000-0000-7000-8000-000000000000");
  });
});
