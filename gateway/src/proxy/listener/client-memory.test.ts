import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientMemory } from "./client-memory.ts";

const LIMIT = 1000;

function startMemory() {
  const lines: object[] = [];
  const closed: string[] = [];
  const memory = new ClientMemory(LIMIT, { warn: (details) => void lines.push(details) });
  return { memory, lines, closed, account: (name: string) => memory.account(() => closed.push(name)) };
}

test("new streams may use three quarters of the limit, and are refused beyond that while no bytes are unread", () => {
  const { memory, account, closed, lines } = startMemory();
  const busy = account("busy");
  assert.deepEqual([busy.admit(750), busy.admit(1), account("other").admit(1)], [true, false, false]);
  busy.release(50);
  assert.deepEqual([account("other").admit(50), memory.held, closed], [true, 750, []]);
  assert.equal(lines.length, 1, "refusals are logged at most once per interval");
});

test("above half of the limit, a connection with more unread bytes than its share may open no more streams", () => {
  const { account } = startMemory();
  const idle = account("idle");
  const greedy = account("greedy");
  assert.ok(greedy.admit(100));
  greedy.wait(10, 100);
  assert.ok(greedy.admit(100), "below half of the limit shares do not apply");
  assert.ok(idle.admit(400));
  assert.equal(greedy.admit(1), false);
  assert.ok(idle.admit(1), "other connections may use their shares");
});

test("the connection with the most bytes that have been unread for a second is closed to make room for new streams", (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const { memory, account, closed } = startMemory();
  const [little, much, recent] = [account("little"), account("much"), account("recent")];
  for (const waiting of [little, much, recent]) assert.ok(waiting.admit(200));
  little.wait(10, 200);
  much.wait(20, 200);
  now = 900;
  recent.wait(100, 200);
  assert.equal(account("early").admit(50), false, "no bytes have been unread for a second");
  now = 1100;
  assert.ok(account("late").admit(50));
  assert.deepEqual(closed, ["much"]);
  assert.equal(memory.held, 200 + 10 + 200 + 100 + 50);
  much.taken(20, 200);
  much.release(200);
  assert.equal(memory.held, 560, "no memory is released twice");
});

for (const [says, taken, closes] of [
  ["half of the unread bytes", 200, []],
  ["a few of the unread bytes", 4, ["slow"]],
] as const) {
  test(`a connection whose client reads ${says} each half second is ${closes.length > 0 ? "" : "not "}closed to make room`, (context) => {
    let now = 0;
    context.mock.method(performance, "now", () => now);
    const { account, closed } = startMemory();
    const slow = account("slow");
    assert.ok(account("busy").admit(400));
    for (slow.wait(400); now < 2000; slow.wait(taken)) {
      now += 500;
      slow.taken(taken);
    }
    account("new").admit(100);
    assert.deepEqual(closed, closes);
  });
}

test("the limit includes unread bytes: the connection with the most unread bytes is closed, even if it is the connection that adds bytes", () => {
  const { memory, account, closed } = startMemory();
  const [small, large] = [account("small"), account("large")];
  small.wait(300);
  large.wait(600);
  large.wait(200);
  assert.deepEqual([closed, memory.held], [["large"], 300]);
});

test("when a connection closes, its memory is released once, and it may open no more streams", () => {
  const { memory, account } = startMemory();
  const one = account("one");
  one.admit(100);
  one.wait(10, 100);
  one.close();
  one.close();
  assert.deepEqual([memory.held, one.admit(1)], [0, false]);
});
