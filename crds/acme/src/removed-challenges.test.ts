import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { machineClock } from "./machine-clock.ts";
import { startTestCa } from "./testing-ca.ts";
import { startOrders } from "./testing-orders.ts";

const until = (probe: () => boolean) => waitFor(probe, { what: "the state that the test expects" });

test("a certificate that is no longer ordered leaves no challenges, and one that is ordered again gets new ones", async (test) => {
  const ca = await startTestCa(test);
  ca.validates = false;
  const { storage, statuses, follow, unfollow } = startOrders(test, ca, { clock: machineClock });
  follow();
  await until(() => ca.requests.includes("challenge"));
  assert.equal(storage.published.length, 1);
  ca.validates = true;
  unfollow();
  follow();
  await until(() => statuses.at(-1)?.state === "valid");
  assert.deepEqual(
    storage.published.map(({ length }) => length),
    [1, 0, 1, 0],
  );
});

test("challenges that have not reached all nodes when their certificate is removed are removed afterwards", async (test) => {
  const ca = await startTestCa(test);
  const { storage, follow, unfollow } = startOrders(test, ca);
  const { promise: acknowledged, resolve: acknowledge } = Promise.withResolvers<void>();
  storage.onPublish = (challenges) => (challenges.length > 0 ? acknowledged : Promise.resolve());
  follow();
  await until(() => storage.published.length === 1);
  unfollow();
  acknowledge();
  await until(() => storage.published.length === 2);
  assert.deepEqual(storage.published[1], []);
  assert.ok(!ca.requests.includes("challenge"), "the CA is not asked to validate");
});

test("a process that ends leaves its challenges to the next one", async (test) => {
  const ca = await startTestCa(test);
  ca.validates = false;
  const { storage, follow, close } = startOrders(test, ca, { clock: machineClock });
  follow();
  await until(() => ca.requests.includes("challenge"));
  await close();
  assert.equal(storage.published.length, 1);
});
