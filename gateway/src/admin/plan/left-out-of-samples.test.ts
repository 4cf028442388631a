/** What the samples of plans do not contain. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoreProblem } from "../../stores/store.ts";
import { leftOutOfSamples } from "./left-out-of-samples.ts";

const derived = (what: string) =>
  `${what} Ingresses and resources of the Gateway API: only the operator translates them`;
const told = (problems: readonly StoreProblem[], status: object | null, kind: "cluster" | "directory" | "file") =>
  leftOutOfSamples(
    { store: { problems: async () => problems }, fleet: { status: async () => status as Record<string, unknown> } },
    kind,
  );
const problem = (name: string, condition: string | null): StoreProblem => ({
  resource: { kind: "Route", namespace: "shop", name },
  entity: null,
  place: null,
  condition,
  reason: "Invalid",
  message: "spec.paths[0]: should start with: /",
  suggested: [],
});
const sentence = (name: string) =>
  `Route shop/${name} is not served as written: Accepted is False (Invalid): spec.paths[0]: should start with: /`;

test("in a store of custom resources, the samples lack invalid resources, which are named with their conditions", async () => {
  const all = [problem("bad", "Programmed"), problem("bad", "Accepted")];
  for (const kind of ["cluster", "directory"] as const)
    assert.deepEqual(await told(all, { derivedRoutes: 0 }, kind), [sentence("bad")]);
});

for (const [what, status, sentences] of [
  ["3 derived routes", { derivedRoutes: 3 }, [derived("3 routes derived from")]],
  ["1 derived route", { derivedRoutes: 1 }, [derived("1 route derived from")]],
  ["no derived route", { derivedRoutes: 0 }, []],
  ["an unknown number of derived routes, because the operator is older", {}, [derived("routes of")]],
  ["an unknown number of derived routes, because the operator does not answer", null, [derived("routes of")]],
] as const)
  test(`in a cluster with ${what}, the samples lack ${sentences.length === 0 ? "nothing" : "them"}`, async () => {
    assert.deepEqual(await told([], status, "cluster"), sentences);
  });

test("at most twenty conditions of invalid resources are listed", async () => {
  const problems = Array.from({ length: 25 }, (_, at) => problem(`r${at}`, "Accepted"));
  const sentences = await told(problems, { derivedRoutes: 0 }, "cluster");
  assert.equal(sentences.length, 21);
  assert.equal(sentences.at(-1), "5 further conditions of invalid resources: GET /problems lists them");
});

test("in other stores, the samples lack nothing that nodes serve", async () => {
  assert.deepEqual(await told([problem("bad", "Accepted")], null, "file"), []);
});
