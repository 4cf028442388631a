import assert from "node:assert/strict";
import { test } from "node:test";
import { type Ref, refKey } from "@sluice/crds";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import type { Owner } from "../translate/translation.ts";
import type { Problem } from "./conditions.ts";
import { createProgrammedTracker } from "./programmed-tracker.ts";
import { createStatusSync, missingPluginMessage } from "./status-sync.ts";

test("the condition of an enabled Plugin names at most ten of the nodes that do not have its plugin", () => {
  const lacking = new Map([["words", Array.from({ length: 12 }, (_, at) => `http://n${at}`)]]);
  const messageFor = (kind: string, spec: object) => missingPluginMessage({ kind, spec: { ...spec } }, lacking);
  assert.match(
    messageFor("Plugin", { plugin: "words" }) ?? "",
    /^Nodes without the plugin words answer requests in its scope with 503: http:\/\/n0, .*http:\/\/n9 and 2 more\. Give/,
  );
  assert.equal(messageFor("Plugin", { plugin: "words", enabled: false }), undefined);
  assert.equal(messageFor("Plugin", { plugin: "cors" }), undefined);
  assert.equal(messageFor("Route", { plugin: "words" }), undefined);
});

const problem: Problem = { condition: "Accepted", reason: "Invalid", message: "wrong" };

function scene() {
  const { clusterState, put, remove } = testClusterState();
  const nodes = { acknowledged: 0, lagging: ["http://a"], silent: ["http://b"], underWay: 0, isCalm: true };
  const said: string[] = [];
  const settled = new Set<string>();
  let time = 0;
  const book = createProgrammedTracker(() => time);
  const statuses = createStatusSync({
    clusterState,
    programmed: book,
    publisher: {
      revision: () => 1,
      acknowledgedRevision: () => nodes.acknowledged,
      missingPlugins: () => new Map(),
      acknowledgement: () => ({ ...nodes, programmed: false, acknowledged: [] }),
    },
    writer: {
      ensure({ name }: Ref, _, conditions) {
        said.push(`${name} ${conditions[2]?.status} ${conditions[2]?.message}`);
        return settled.has(name);
      },
      pendingCount: () => nodes.underWay,
    },
    isIdle: () => nodes.isCalm,
    now: () => time,
  });
  const owners = new Map<string, Owner>();
  const problems = new Map<string, readonly Problem[]>();
  return {
    nodes,
    settled,
    remove,
    add(name: string, own: readonly Problem[] = [], options: { readonly many?: boolean } = {}) {
      const owner: Owner = { kind: "Route", namespace: "default", name };
      const key = refKey(owner);
      const resource = put("Route", name, { spec: {} });
      owners.set(key, owner);
      problems.set(key, own);
      book.recordPublished(key, resource, own, { revision: 1, isFirst: true });
      statuses.markDirty(key, options);
    },
    openAll: statuses.retryAll,
    openAgain: (...names: readonly string[]) => statuses.retry(names.map((name) => `Route/default/${name}`)),
    open: (name: string) => statuses.markDirty(`Route/default/${name}`),
    look() {
      said.length = 0;
      const { tooEarly, hasMore: isCut } = statuses.sync(owners, problems);
      return { said: [...said], tooEarly, isCut };
    },
    pass(milliseconds: number) {
      time += milliseconds;
    },
  };
}

test("a settled resource is not synced again until it is marked dirty", () => {
  const { add, look, open, openAll, nodes, settled } = scene();
  add("a");
  add("b");
  nodes.acknowledged = 1;
  settled.add("a");
  assert.equal(look().said.length, 2);
  openAll();
  assert.deepEqual(look().said, ["b True Every ready node serves it."]);
  settled.add("b");
  openAll();
  look();
  openAll();
  assert.deepEqual(look().said, []);
  settled.delete("a");
  open("a");
  assert.equal(look().said.length, 1);
  openAll();
  assert.equal(look().said.length, 1, "a status that another writer changed stays unsettled until it is correct again");
});

test("only the resources of due retries are synced again, and only until they have settled", () => {
  const { add, look, openAgain, nodes, settled } = scene();
  for (const name of ["a", "b", "c"]) add(name);
  nodes.acknowledged = 1;
  look();
  openAgain("a", "b");
  assert.equal(look().said.length, 2);
  settled.add("a");
  openAgain("a");
  look();
  openAgain("a");
  assert.deepEqual(look().said, []);
});

test("a sync handles only dirty resources", () => {
  const { add, look, open, nodes } = scene();
  for (const name of ["a", "b", "c"]) add(name);
  nodes.acknowledged = 1;
  assert.equal(look().said.length, 3);
  assert.deepEqual(look().said, []);
  open("b");
  assert.deepEqual(look().said, ["b True Every ready node serves it."]);
});

test("resources that wait for nodes are synced when the nodes acknowledge a later revision", () => {
  const { add, look, nodes, settled, pass } = scene();
  add("a");
  pass(1000);
  assert.equal(look().said.length, 1);
  assert.deepEqual(look().said, []);
  nodes.acknowledged = 1;
  settled.add("a");
  assert.deepEqual(look().said, ["a True Every ready node serves it."]);
});

test("of very many lagging nodes, only the first ten are named", () => {
  const { add, look, nodes, pass } = scene();
  nodes.lagging = Array.from({ length: 500 }, (_, at) => `n${at}`);
  add("a");
  pass(1000);
  assert.match(look().said[0] ?? "", /Waiting for the nodes n0, .*n9 and 491 more\.$/);
});

test("waiting for nodes is reported after a grace period, with the addresses of the nodes, until the resource is programmed", () => {
  const { add, look, openAll, nodes, settled, pass } = scene();
  add("a");
  assert.deepEqual(look(), { said: [], tooEarly: true, isCut: false });
  assert.deepEqual(look(), { said: [], tooEarly: true, isCut: false });
  pass(1000);
  openAll();
  settled.add("a");
  assert.deepEqual(look(), {
    said: ["a Unknown Waiting for the nodes http://a, http://b."],
    tooEarly: false,
    isCut: false,
  });
  nodes.acknowledged = 1;
  assert.deepEqual(look().said, ["a True Every ready node serves it."]);
  openAll();
  assert.deepEqual(look().said, []);
});

test("a problem is written at once, whatever revision the nodes run", () => {
  const { add, look, settled } = scene();
  add("a", [problem]);
  settled.add("a");
  assert.deepEqual(look(), { said: ["a False wrong"], tooEarly: false, isCut: false });
  assert.deepEqual(look().said, []);
});

test("a warning is written with the state of the nodes, not before it is known", () => {
  const { add, look, nodes } = scene();
  add("a", [{ ...problem, isWarning: true }]);
  assert.deepEqual(look(), { said: [], tooEarly: true, isCut: false });
  nodes.acknowledged = 1;
  assert.deepEqual(look().said, ["a True Every ready node serves it."]);
});

test("no status is written for deleted resources", () => {
  const { add, look, nodes, remove } = scene();
  add("a");
  nodes.acknowledged = 1;
  remove("Route", "a");
  assert.deepEqual(look().said, []);
});

test("of very many resources, at most 300 are synced at a time", () => {
  const { add, look, nodes } = scene();
  nodes.acknowledged = 1;
  for (let at = 0; at < 700; at++) add(`r${at}`, [], { many: true });
  const said: string[] = [];
  for (const more of [true, true, false]) {
    const turn = look();
    assert.equal(turn.isCut, more);
    assert.ok(turn.said.length <= 300);
    said.push(...turn.said);
  }
  assert.equal(new Set(said).size, 700);
});

test("changed resources are written before resources of a bulk change, which wait until few writes are in progress", () => {
  const { add, look, open, nodes } = scene();
  nodes.acknowledged = 1;
  for (let at = 0; at < 10; at++) add(`r${at}`, [], { many: true });
  nodes.underWay = 8;
  assert.deepEqual(look(), { said: [], tooEarly: false, isCut: false });
  add("changed");
  open("r7");
  assert.deepEqual(
    look().said.map((text) => text.split(" ")[0]),
    ["changed", "r7"],
  );
  nodes.underWay = 7;
  nodes.isCalm = false;
  assert.deepEqual(look().said, [], "one write at a time while other resources change");
  nodes.underWay = 0;
  assert.equal(look().said.length, 9);
});

test("waiting for nodes is reported for resources of a bulk change only after a longer grace period", () => {
  const { add, look, nodes, openAll, pass } = scene();
  add("a", [], { many: true });
  add("broken", [problem], { many: true });
  pass(9999);
  assert.deepEqual(look(), { said: ["broken False wrong"], tooEarly: true, isCut: false });
  pass(1);
  openAll();
  assert.ok(look().said.includes("a Unknown Waiting for the nodes http://a, http://b."));
  nodes.acknowledged = 1;
  assert.ok(look().said.includes("a True Every ready node serves it."));
});
