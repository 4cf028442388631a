import assert from "node:assert/strict";
import { test } from "node:test";
import { storeProblems } from "./store-problems.ts";

const file = {
  resource: null,
  entity: null,
  place: "sluice.yml:3:5",
  reason: null,
  message: "port: expected an integer",
};
const route = {
  resource: { kind: "Route", namespace: "shop", name: "cart" },
  entity: { collection: "routes", id: "1" },
  place: null,
  reason: "ServiceNotFound",
  message: "there is no Service cart",
};

test("an error of the file has its line, and says what the nodes serve", () => {
  const [problem] = storeProblems({ data: [file], total: 1 }, "file");
  assert.deepEqual([problem?.title, problem?.detail], ["sluice.yml:3:5 is not valid", file.message]);
  assert.match(problem?.cure ?? "", /the last valid version of the file/);
});

test("conditions of a resource that are false for one reason are one problem, which leads to the entity", () => {
  const longer = { ...route, message: `${route.message}; it is not served` };
  assert.deepEqual(storeProblems({ data: [route, longer], total: 2 }, "cluster"), [
    {
      severity: "error",
      title: "Route shop/cart: ServiceNotFound",
      detail: longer.message,
      cure: "Create what the resource refers to, or correct the reference: kubectl -n shop edit routes.sluice.dev cart",
      at: ["entities", "routes", "1"],
    },
  ]);
});

for (const [reason, store, cure] of [
  ["SecretNotFound", "cluster", /Create the Secret/],
  ["RefNotPermitted", "cluster", /ReferenceGrant/],
  ["Invalid", "cluster", /^Correct the resource: kubectl -n shop edit/],
  ["Invalid", "directory", /^Correct the resource, in its file/],
] as const)
  test(`the cure of ${reason} in a ${store} says what to change`, () =>
    assert.match(storeProblems({ data: [{ ...route, reason }], total: 1 }, store)[0]?.cure ?? "", cure));

test("of many problems the first are shown, and the others counted", () => {
  const data = Array.from({ length: 60 }, (_, at) => ({ ...file, place: `sluice.yml:${at}:1` }));
  const problems = storeProblems({ data, total: 1200 }, "file");
  assert.deepEqual([problems.length, problems.at(-1)?.title], [51, "1,150 further problems are not shown"]);
});
