import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { startTestCa } from "./testing-ca.ts";
import { startOrders } from "./testing-orders.ts";

const DAY = 24 * 3_600_000;
const until = (probe: () => boolean) => waitFor(probe, { what: "the state that the test expects" });

test("metrics get each ended order and the state of each certificate", async (test) => {
  const ca = await startTestCa(test);
  const ended: string[] = [];
  const { orders, clock, statuses, follow, unfollow } = startOrders(test, ca, {
    onOrder: ({ kind, result }) => ended.push(`${kind} ${result}`),
  });
  const begin = clock.now() / 1000;
  ca.faults.push({ path: "new-order", status: 500 });
  follow();
  await until(() => statuses.at(-1)?.state === "waiting");
  assert.deepEqual([...orders.gauges()], [{ id: "one", name: "shop", expires: 0, renewal: 0, failures: 1 }]);
  clock.advance(2 * 60_000 + 1);
  await until(() => statuses.at(-1)?.state === "valid");
  const [gauges] = orders.gauges();
  const days = (time = 0) => Math.round((time - begin) / 86_400);
  assert.deepEqual([days(gauges?.expires), days(gauges?.renewal), gauges?.failures], [90, 60, 0]);
  clock.advance(61 * DAY);
  await until(() => ended.length === 3);
  assert.deepEqual(ended, ["first failed", "first issued", "renewal issued"]);
  unfollow();
  assert.deepEqual([...orders.gauges()], []);
});
