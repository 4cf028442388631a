import assert from "node:assert/strict";
import { test } from "node:test";
import { BATCH, BATCH_COMPLETE, BATCH_REMOVE, BATCH_UNDO, type Kind, type Resource } from "@sluice/crds";
import { conditionsOf, type Problem } from "../status/conditions.ts";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import type { ClusterState } from "../watch/cluster-state.ts";
import { BATCH_INCOMPLETE, BATCH_REPORT_DELAY, createBatches, type HeldBack, WATCH_SKEW } from "./batches.ts";

const ONE = "0a1b2c3d-0000-4000-8000-000000000001";
const OTHER = "0a1b2c3d-0000-4000-8000-000000000002";

interface Mark {
  readonly id?: string;
  readonly size?: number;
  readonly removes?: true;
  readonly completes?: true;
  readonly undo?: string;
}

const annotations = ({ id = ONE, size = 2, removes, completes, undo }: Mark): Record<string, string> => ({
  [BATCH]: `${id}/${size}`,
  ...(removes && { [BATCH_REMOVE]: id }),
  ...(completes && { [BATCH_COMPLETE]: id }),
  ...(undo !== undefined && { [BATCH_UNDO]: undo }),
});

/** An operator that observes resources, on a clock that the test controls. */
function scene() {
  let time = 0;
  let batches = createBatches({ class: "sluice", now: () => time });
  const { clusterState, put, remove } = testClusterState();

  function write(kind: Kind, name: string, url: string, mark?: Mark, members: Partial<Resource> = {}): void {
    const before = clusterState[kind as keyof ClusterState].get(`default/${name}`) ?? null;
    const metadata = { name, namespace: "default", ...(mark && { annotations: annotations(mark) }) };
    batches.observe(kind, before, put(kind, name, { ...members, metadata, spec: { url, ...members.spec } }));
  }

  return {
    clusterState,
    write,
    remove,
    look: (): HeldBack => batches.holdBack(clusterState),
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
    restart() {
      batches = createBatches({ class: "sluice", now: () => time });
      for (const kind of ["Service", "Route", "Secret"] as const)
        for (const resource of clusterState[kind].values()) batches.observe(kind, undefined, resource);
    },
  };
}

/** The Services to publish, as `name=url`. */
const services = ({ clusterState }: HeldBack): string =>
  [...clusterState.Service.values()]
    .map(({ metadata, spec }) => `${metadata.name}=${spec?.url}`)
    .sort()
    .join(" ");
/** A resource with the conditions that the operator writes for these problems. */
function saying(...problems: readonly Problem[]): Partial<Resource> {
  const resource = { metadata: {} } as Resource;
  return { status: { conditions: conditionsOf(resource, problems, { programmed: true, message: "" }) } };
}
const messagesOf = ({ problems }: HeldBack): readonly string[] =>
  [...problems].map(([key, { problem }]) => `${key} ${problem.reason} ${problem.message}`);

test("without a batch the cluster state is unchanged", () => {
  const { write, look, clusterState } = scene();
  write("Service", "a", "1");
  assert.deepEqual(look(), { clusterState, held: new Set(), problems: new Map(), recheckAfter: null });
  assert.equal(look().clusterState, clusterState);
});

test("until a batch is complete, a changed resource is used in its previous version and a new one counts as absent", () => {
  const { write, look } = scene();
  write("Service", "a", "1");
  write("Service", "a", "2", { size: 3 });
  assert.equal(services(look()), "a=1");
  write("Service", "b", "2", { size: 3 });
  assert.equal(services(look()), "a=1");
  assert.deepEqual([...look().held], ["Service/default/a", "Service/default/b"]);
  assert.deepEqual(messagesOf(look()), []);
  write("Secret", "s", "2", { size: 3, completes: true });
  assert.equal(services(look()), "a=2 b=2");
  assert.equal(look().held.size, 0);
});

test("the previous version of a Secret is used until a batch that changes it is complete", () => {
  const { write, look } = scene();
  write("Secret", "s", "1");
  write("Secret", "s", "2", {});
  assert.equal(look().clusterState.Secret.get("default/s")?.spec?.url, "1");
});

test("a resource that a batch removes stays until the batch is complete, and is then absent even before its deletion", () => {
  const { write, look, remove } = scene();
  write("Service", "a", "1");
  write("Service", "a", "1", { removes: true });
  assert.equal(services(look()), "a=1");
  write("Service", "b", "1", { completes: true });
  assert.equal(services(look()), "b=1");
  remove("Service", "a");
  assert.equal(services(look()), "b=1");
  write("Service", "b", "1");
  assert.equal(services(look()), "b=1");
});

test("a resource that changes twice within an incomplete batch is used in its version from before the batch", () => {
  const { write, look } = scene();
  write("Service", "a", "1");
  write("Service", "a", "2", {});
  write("Service", "a", "3", {});
  assert.equal(services(look()), "a=1");
});

test("when a batch overwrites an incomplete one, the version from before both is used until the second batch is complete", () => {
  const { write, look } = scene();
  write("Service", "a", "1");
  write("Service", "a", "2", {});
  look();
  write("Service", "a", "3", { id: OTHER });
  assert.equal(services(look()), "a=1");
});

test("when a batch overwrites a complete one, the version of the first is used until the second batch is complete", () => {
  const { write, look } = scene();
  write("Service", "a", "1");
  write("Service", "a", "2", { size: 1, completes: true });
  assert.equal(services(look()), "a=2");
  write("Service", "a", "3", { id: OTHER });
  assert.equal(services(look()), "a=2");
});

test("an undone batch leaves no resource held back", () => {
  const { write, look, remove } = scene();
  write("Service", "a", "1");
  write("Service", "a", "2", { size: 3 });
  write("Service", "b", "2", { size: 3 });
  remove("Service", "b");
  write("Service", "a", "1");
  assert.equal(services(look()), "a=1");
  assert.deepEqual(look(), {
    clusterState: look().clusterState,
    held: new Set(),
    problems: new Map(),
    recheckAfter: null,
  });
});

test("a batch that stays incomplete is reported only after a while", () => {
  const { write, look, pass } = scene();
  write("Service", "a", "1");
  write("Service", "a", "2", { size: 3 });
  write("Service", "b", "2", { size: 3 });
  assert.equal(look().recheckAfter, BATCH_REPORT_DELAY);
  pass(BATCH_REPORT_DELAY - 1);
  assert.deepEqual([messagesOf(look()), look().recheckAfter], [[], 1]);
  pass(1);
  const start = `the batch ${ONE} is incomplete (2 of 3 resources were written)`;
  assert.deepEqual(messagesOf(look()), [
    `Service/default/a ${BATCH_INCOMPLETE} ${start}: the previous version of this resource is served; write the batch again`,
    `Service/default/b ${BATCH_INCOMPLETE} ${start}: this resource is not served; write the batch again`,
  ]);
  assert.equal(look().recheckAfter, null);
});

test("resources of another class are held back, but their problems are not reported", () => {
  const { write, look, pass } = scene();
  write("Service", "a", "1", {}, { spec: { class: "another" } });
  look();
  pass(BATCH_REPORT_DELAY);
  assert.deepEqual([services(look()), messagesOf(look())], ["", []]);
});

test("after a restart during a batch, new resources are not served, and changed ones are served in their current version", () => {
  const { write, look, pass, restart } = scene();
  const published = saying();
  const heldBack = saying({ condition: "Accepted", reason: BATCH_INCOMPLETE, message: "" });
  const foreign = { type: "Audited", status: "True", reason: "Fine", message: "" };
  const audited = { status: { conditions: [foreign] } } as Partial<Resource>;
  write("Service", "unknown", "2", { size: 9 });
  write("Service", "new", "2", { size: 9, undo: "null" });
  write("Service", "reported", "2", { size: 9, undo: "null" }, heldBack);
  write("Service", "reported-without-undo", "2", { size: 9 }, heldBack);
  write("Service", "audited", "2", { size: 9 }, audited);
  write("Service", "changed", "2", { size: 9, undo: "{}" });
  write("Service", "known", "2", { size: 9 }, published);
  write("Service", "going", "2", { size: 9, removes: true });
  restart();
  assert.equal(services(look()), "changed=2 going=2 known=2");
  const names = ["audited", "new", "reported", "reported-without-undo", "unknown"];
  assert.deepEqual(
    [...look().held].sort(),
    names.map((name) => `Service/default/${name}`),
  );
  pass(BATCH_REPORT_DELAY);
  assert.equal(look().problems.size, 8);
  assert.match(
    messagesOf(look()).at(-1) ?? "",
    /the current version of this resource is served; write the batch again$/,
  );
});

test("after a restart, a batch whose last write is seen counts as complete after a delay, although some annotations are gone", () => {
  const { write, look, pass, restart } = scene();
  write("Service", "a", "2", { size: 3, undo: "null" });
  write("Service", "b", "2", { size: 3, completes: true, undo: "null" });
  restart();
  assert.equal(services(look()), "");
  assert.equal(look().recheckAfter, WATCH_SKEW);
  pass(WATCH_SKEW);
  assert.equal(services(look()), "a=2 b=2");
  assert.deepEqual([messagesOf(look()), look().recheckAfter], [[], null]);
});

test("after a restart, resources that were created by a complete batch and served before are served at once", () => {
  const { write, look, restart } = scene();
  write("Service", "a", "2", { size: 3, undo: "null" }, saying());
  write("Service", "b", "2", { size: 3, completes: true, undo: "null" }, saying());
  restart();
  assert.equal(services(look()), "a=2 b=2");
});
