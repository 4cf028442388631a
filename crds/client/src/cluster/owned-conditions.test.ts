/** The requests that a status write costs. Its results are tested in test/conformance/resource-client. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition, Resource } from "../resource.ts";
import type { ApiCall } from "./api/connection.ts";
import { clusterClientOver } from "./client.ts";

const accepted: Condition = { type: "Accepted", status: "True", reason: "Accepted", message: "It is in use." };
const since = "2026-01-01T00:00:00Z";
const said = { ...accepted, lastTransitionTime: since };
const foreign = { ...said, type: "Foreign" };
const ref = { kind: "Route", namespace: "default", name: "a" } as const;
const route = (...conditions: readonly Condition[]): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Route",
  metadata: { ...ref, uid: "u" },
  status: { conditions },
});

const { signal } = new AbortController();

async function callsOf(conditions: readonly Condition[], read: Resource | undefined): Promise<readonly ApiCall[]> {
  const calls: ApiCall[] = [];
  const client = clusterClientOver(
    {
      async call(call) {
        calls.push(call);
        return route(said, foreign);
      },
      open: () => Promise.reject(new Error("nothing is watched")),
      async close() {},
    },
    {
      log: { info() {}, warn() {}, error() {} },
      clock: { now: () => 0, random: () => 0, sleep: async () => {} },
    },
  );
  await client.setConditions(ref, conditions, { manager: "op", signal, ...(read && { read }) });
  await client.close();
  return calls;
}

const rejected: Condition = { ...accepted, status: "False", reason: "Invalid" };
/** A name, the conditions, the resource as the caller has read it, and the expected calls. */
const cases: readonly (readonly [string, readonly Condition[], Resource | undefined, readonly string[]])[] = [
  ["a first status", [accepted], route(), ["PATCH"]],
  ["a different status", [rejected], route(said), ["PATCH"]],
  ["a different status next to conditions of other writers", [rejected], route(foreign, said), ["PATCH"]],
  ["an unchanged status", [accepted], route(foreign, said), []],
  ["a different status of a resource that was not read", [rejected], undefined, ["GET", "PATCH"]],
  ["an unchanged status of a resource that was not read", [accepted], undefined, ["GET"]],
];
for (const [what, conditions, read, expected] of cases)
  test(`writing ${what} takes ${expected.join(" and ") || "no request"}`, async () => {
    const calls = await callsOf(conditions, read);
    assert.deepEqual(
      calls.map(({ method }) => method),
      expected,
    );
    assert.ok(calls.every((call) => call.signal === signal));
  });

test("a status write applies only the manager's conditions, and keeps the transition time that was read", async () => {
  const words = { ...accepted, message: "Other words." };
  const [call] = await callsOf([words], route(foreign, said));
  assert.deepEqual(call?.query, { fieldManager: "op", force: true });
  assert.deepEqual((call?.body as Resource | undefined)?.status?.conditions, [{ ...words, lastTransitionTime: since }]);
});
