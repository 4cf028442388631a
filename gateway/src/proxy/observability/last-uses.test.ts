import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { LastUseLog } from "./last-uses.ts";

/** The parts of an exchange that the log reads. */
function exchangeOf(ended: number, ids: { readonly route: string; readonly consumer?: string }): LiveExchange {
  const { route, consumer } = ids;
  return {
    route: { id: route },
    consumer: consumer === undefined ? null : { id: consumer },
    credential: consumer === undefined ? null : { id: `key of ${consumer}` },
    timings: { started: ended - 1, ended },
  } as unknown as LiveExchange;
}

test("the last uses of routes, consumers and credentials are known to the minute", (context) => {
  const start = 1_000_000 * 60_000;
  context.mock.timers.enable({ apis: ["Date"], now: start + 50_000 });
  const uses = new LastUseLog();
  uses.finished(exchangeOf(1000, { route: "a", consumer: "ann" }));
  context.mock.timers.setTime(start + 59_000);
  uses.finished(exchangeOf(10_000, { route: "b" }));
  context.mock.timers.setTime(start + 61_000);
  uses.finished(exchangeOf(12_000, { route: "a" }));
  const [first, second] = [start / 1000, start / 1000 + 60];
  assert.deepEqual(uses.list("routes"), { since: start / 1000 + 50, last_uses: { b: first, a: second } });
  assert.deepEqual(uses.list("consumers").last_uses, { ann: first });
  assert.deepEqual(uses.list("credentials").last_uses, { "key of ann": first });
});

test("of more than 100,000 entities, those whose last use is the oldest are forgotten", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 60_000 });
  const uses = new LastUseLog();
  for (let at = 0; at < 100_000; at++) uses.finished(exchangeOf(1, { route: `route ${at}` }));
  context.mock.timers.setTime(120_000);
  uses.finished(exchangeOf(60_001, { route: "route 0" }));
  uses.finished(exchangeOf(60_002, { route: "one more" }));
  const { last_uses } = uses.list("routes");
  assert.equal(Object.keys(last_uses).length, 100_000);
  assert.deepEqual([last_uses["route 0"], last_uses["route 1"], last_uses["one more"]], [120, undefined, 120]);
});
