import assert from "node:assert/strict";
import { test } from "node:test";
import { storeProblems } from "./store-problems.ts";

const file = {
  resource: null,
  entity: null,
  place: "sluice.yml:3:5",
  reason: null,
  message: "port: expected an integer",
  remedy: "Correct this line.",
};
const route = {
  resource: { kind: "Route", namespace: "shop", name: "cart" },
  entity: { collection: "routes", id: "1" },
  place: null,
  reason: "ServiceNotFound",
  message: "there is no Service cart",
  remedy: "Create what the resource refers to.",
};

test("an error of the file has its line and its remedy", () => {
  const [problem] = storeProblems({ data: [file], total: 1, warnings: [] });
  assert.deepEqual([problem?.title, problem?.detail], ["sluice.yml:3:5 is not valid", file.message]);
  assert.equal(problem?.cure, file.remedy);
});

test("a problem of a resource has its reason and remedy, and leads to the entity", () => {
  assert.deepEqual(storeProblems({ data: [route], total: 1, warnings: [] }), [
    {
      severity: "error",
      title: "Route shop/cart: ServiceNotFound",
      detail: route.message,
      cure: route.remedy,
      at: ["entities", "routes", "1"],
      resource: route.resource,
    },
  ]);
});

test("a problem of a resource without a valid entity leads to the resource", () => {
  const [problem] = storeProblems({ data: [{ ...route, entity: null }], total: 1, warnings: [] });
  assert.deepEqual(problem?.at, ["resources", "Route", "shop", "cart"]);
});

test("of many problems the first are shown, and the others counted", () => {
  const data = Array.from({ length: 60 }, (_, at) => ({ ...file, place: `sluice.yml:${at}:1` }));
  const problems = storeProblems({ data, total: 1200, warnings: [] });
  assert.deepEqual([problems.length, problems.at(-1)?.title], [51, "1,150 further problems are not shown"]);
});

test("a certificate that does not cover its server name is a warning, which leads to the SNI", () => {
  const warning = {
    subject: "certificate of SNI a.example",
    message: "does not cover a.example (it covers b.example)",
    remedy: "Let the SNI refer to a certificate that covers the name.",
    entity: { collection: "snis", id: "1" },
  };
  assert.deepEqual(storeProblems({ data: [], total: 0, warnings: [warning] }), [
    {
      severity: "warning",
      title: "The certificate of SNI a.example",
      detail: "It does not cover a.example (it covers b.example).",
      cure: warning.remedy,
      at: ["entities", "snis", "1"],
    },
  ]);
});
