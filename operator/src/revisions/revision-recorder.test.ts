import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { decodeChanges, type Metadata, type RevisionStorage, type RevisionSummary } from "@sluice/crds";
import { createEmitter } from "../emitter.ts";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import { copyClusterState } from "../watch/cluster-state.ts";
import type { ClusterChange } from "../watch/watch-stage.ts";
import { createRevisionAuthors } from "./authors.ts";
import { createRevisionRecorder } from "./revision-recorder.ts";

function createTestStorage() {
  const kept = new Map<number, { readonly summary: RevisionSummary; readonly content: Buffer }>();
  const state = { isDown: false };
  const storage: RevisionStorage = {
    list: async () => [...kept.values()].map(({ summary }) => summary),
    content: async (number) => kept.get(number)?.content ?? null,
    async add(summary, content) {
      if (state.isDown) throw new Error("the API server answered 500");
      if (kept.has(summary.number)) return false;
      kept.set(summary.number, { summary, content });
      return true;
    },
    remove: async (number) => void kept.delete(number),
    close: async () => {},
  };
  return { storage, kept, state };
}

/** An operator that leads, with its own cluster state, over the given storage. */
function startRecorder(
  t: TestContext,
  {
    storage,
    revisions = 100,
    revisionsAge = 1e12,
  }: { storage: RevisionStorage; revisions?: number; revisionsAge?: number },
  made = testClusterState(),
) {
  const state = { term: 1 as number | null, unsynced: [] as string[] };
  const terms = createEmitter<number | null>();
  const authors = createRevisionAuthors();
  const outcomes: string[] = [];
  const recorder = createRevisionRecorder({
    storage,
    watch: {
      // As in the watch stage, a change replaces the map of its kind.
      get clusterState() {
        return copyClusterState(made.clusterState);
      },
      changes: createEmitter<ClusterChange>(),
      isOwn: ({ spec }) => spec?.class !== "other",
      unsynced: () => state.unsynced,
    },
    leadership: { term: () => state.term, terms },
    settings: { revisions, revisionsAge },
    authorOf: authors.authorOf,
    metrics: { recordedRevision: (outcome) => void outcomes.push(outcome) },
    log: { warn() {} },
  });
  t.after(recorder.close);
  const route = (name: string, path: string, metadata: Partial<Metadata> = {}) =>
    made.put("Route", name, { spec: { paths: [path] }, metadata: metadata as Metadata });
  return { ...made, ...recorder, authors, outcomes, state, route };
}

async function shown({ storage }: ReturnType<typeof createTestStorage>) {
  const revisions = await storage.list();
  return Promise.all(
    revisions.map(async ({ number, author, counts }) => {
      const changes = counts ? await decodeChanges((await storage.content(number)) as Buffer) : null;
      const pathOf = (side: { readonly spec?: object } | null) => Object(side?.spec).paths?.[0] ?? null;
      return [author, changes?.map(({ name, before, after }) => [name, pathOf(before), pathOf(after)]) ?? null];
    }),
  );
}

test("changes are recorded with the content before and after, one revision for each author in the order of the writes", async (t) => {
  const kept = createTestStorage();
  const { flush, route, remove, put } = startRecorder(t, kept);
  route("a", "/a", { lastManager: "helm" } as Metadata);
  await flush();
  route("a", "/b", { lastManager: "kubectl-edit" } as Metadata);
  route("new", "/new", { lastManager: "kubectl-edit" } as Metadata);
  route("other", "/other", { lastManager: "argocd" } as Metadata);
  put("Route", "foreign", { spec: { class: "other" } });
  put("Secret", "key", {});
  await flush();
  remove("Route", "new");
  await flush();
  await flush();
  assert.deepEqual(await shown(kept), [
    ["sluice-operator", []],
    [
      "kubectl-edit",
      [
        ["a", "/a", "/b"],
        ["new", null, "/new"],
      ],
    ],
    ["argocd", [["other", null, "/other"]]],
    ["unknown", [["new", "/new", null]]],
  ]);
});

test("the Kubernetes user is the author, or part of it, if the webhook saw the stored version or the deletion", async (t) => {
  const kept = createTestStorage();
  const { flush, route, remove, authors } = startRecorder(t, kept);
  await flush();
  authors.observe({ uid: "of a", generation: 1, user: "jane" });
  authors.observe({ uid: "of b", generation: 2, user: "joe" });
  route("a", "/a", { uid: "of a", lastManager: "kubectl-edit" });
  route("b", "/b", { uid: "of b", lastManager: "kubectl-edit" });
  await flush();
  assert.deepEqual(
    (await shown(kept)).slice(1).map(([author]) => author),
    ["kubectl-edit (jane)", "kubectl-edit"],
  );
  // The webhook did not see the deletion of a.
  authors.observe({ uid: "of b", generation: null, user: "joe" });
  for (const name of ["a", "b"]) remove("Route", name);
  await flush();
  assert.deepEqual((await shown(kept)).slice(3).toSorted(), [
    ["joe", [["b", "/b", null]]],
    ["unknown", [["a", "/a", null]]],
  ]);
  // Another operator's webhook saw the next resource of the same name, and its deletion.
  route("b", "/again");
  await flush();
  remove("Route", "b");
  await flush();
  assert.deepEqual((await shown(kept)).slice(5), [
    ["unknown", [["b", null, "/again"]]],
    ["unknown", [["b", "/again", null]]],
  ]);
});

test("if resources changed while no operator led, the next leader records a revision without their content; otherwise it records none", async (t) => {
  const kept = createTestStorage();
  const first = startRecorder(t, kept);
  first.route("a", "/a");
  await first.flush();
  const second = startRecorder(t, kept, first);
  await second.flush();
  assert.equal(kept.kept.size, 1);
  second.state.term = null;
  first.route("a", "/b");
  await second.flush();
  assert.equal(kept.kept.size, 1, "an operator that does not lead records nothing");
  const third = startRecorder(t, kept, first);
  third.state.unsynced.push("Route");
  await third.flush();
  assert.equal(kept.kept.size, 1, "nothing is recorded before all resources are read");
  third.state.unsynced.pop();
  await third.flush();
  assert.deepEqual(await shown(kept), [
    ["sluice-operator", []],
    ["unknown", null],
  ]);
});

test("if changes cannot be recorded, a later attempt records them before the changes that follow", async (t) => {
  const kept = createTestStorage();
  const { flush, route, outcomes } = startRecorder(t, kept);
  await flush();
  kept.state.isDown = true;
  route("a", "/a", { lastManager: "one" } as Metadata);
  await flush();
  route("a", "/b", { lastManager: "two" } as Metadata);
  kept.state.isDown = false;
  await flush();
  await flush();
  assert.deepEqual((await shown(kept)).slice(1), [
    ["one", [["a", null, "/a"]]],
    ["two", [["a", "/a", "/b"]]],
  ]);
  assert.deepEqual(outcomes, ["written", "failed", "written", "written"]);
});

test("the oldest revisions are deleted, by number and by age", async (t) => {
  for (const limits of [{ revisions: 2 }, { revisionsAge: -1 }]) {
    const kept = createTestStorage();
    const { flush, route } = startRecorder(t, { ...kept, ...limits });
    for (const path of ["/a", "/b", "/c", "/d"]) {
      route("a", path);
      await flush();
    }
    assert.deepEqual([...kept.kept.keys()], "revisions" in limits ? [3, 4] : [4]);
  }
});

test("changes that are too large are recorded without their content", async (t) => {
  const kept = createTestStorage();
  const { flush, put } = startRecorder(t, kept);
  await flush();
  const noise = Array.from({ length: 120_000 }, () => Math.random().toString(36));
  put("Route", "large", { spec: { paths: noise } });
  await flush();
  assert.deepEqual((await shown(kept)).at(-1), ["unknown", null]);
});
