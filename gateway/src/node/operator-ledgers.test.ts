import assert from "node:assert/strict";
import { test } from "node:test";
import { type FleetCountersAnswer, MAX_KEPT_COUNTERS } from "@sluice/model/serving";
import { newAccount } from "../counters/fleet/accounts.ts";
import type { ReportedCounter } from "../counters/fleet/messages.ts";
import { OperatorLedgers } from "./operator-ledgers.ts";

const reported = (name: string, used = 1, expires = Date.now() + 60_000): ReportedCounter => ({
  counter: { name, scope: "-:-:-", period: "day", windowStart: 0, expires, limit: 10 },
  accounts: [["node", { ...newAccount(1), granted: used, used }]],
  seen: undefined,
  overshoot: 0,
});

function ledgersOf() {
  const restored: ReportedCounter[] = [];
  const ledgers = new OperatorLedgers({ restore: (counters) => void restored.push(...counters) });
  const ask = (since: number) => ledgers.answer({ since, restored: [] }).body as FleetCountersAnswer;
  return { ledgers, restored, ask };
}

const namesOf = ({ counters }: FleetCountersAnswer) => counters.map(({ key }) => key);

test("the operator gets what was saved since its last call, and of each counter the last content", async () => {
  const { ledgers, ask } = ledgersOf();
  await ledgers.save([reported("one"), reported("two")]);
  const first = ask(0);
  assert.deepEqual(namesOf(first), ["day:0:one", "day:0:two"]);
  await ledgers.save([reported("one", 5), reported("ended", 1, Date.now() - 15_001)]);
  const second = ask(first.sequence);
  assert.deepEqual(
    second.counters.map(({ content }) => (content as ReportedCounter).accounts[0]?.[1].used),
    [5],
  );
  assert.deepEqual(ask(second.sequence), { sequence: second.sequence, counters: [], hasMore: false });
});

test("an answer has at most about four megabytes, and the next one continues it", async () => {
  const { ledgers, ask } = ledgersOf();
  const long = "x".repeat(1024 * 1024);
  await ledgers.save([1, 2, 3, 4, 5].map((at) => reported(`${at}${long}`)));
  const first = ask(0);
  assert.deepEqual([first.counters.length, first.hasMore], [3, true]);
  const second = ask(first.sequence);
  assert.deepEqual([second.counters.length, second.hasMore], [2, false]);
});

test("a node keeps at most 10,000 counters for the operator", async () => {
  const { ledgers, ask } = ledgersOf();
  await ledgers.save(Array.from({ length: MAX_KEPT_COUNTERS + 5 }, (_, at) => reported(`${at}`)));
  const names = namesOf(ask(0));
  assert.deepEqual([names.length, names[0]], [MAX_KEPT_COUNTERS, "day:0:5"]);
});

test("what the operator sends is restored, and an invalid call is refused", async () => {
  const { ledgers, restored, ask } = ledgersOf();
  await ledgers.save([reported("one")]);
  const { counters } = ask(0);
  assert.equal(ledgers.answer({ since: 1, restored: counters }).status, 200);
  assert.deepEqual(
    restored.map(({ counter: { name } }) => name),
    ["one"],
  );
  const [first] = counters;
  for (const body of [undefined, { since: -1, restored: [] }, { since: 0, restored: [{ ...first, content: {} }] }])
    assert.equal(ledgers.answer(body).status, 400);
  assert.equal(restored.length, 1);
});
