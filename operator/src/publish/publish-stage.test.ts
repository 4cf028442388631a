import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { testTranslateStage } from "../document/testing-translate-stage.ts";
import { createEmitter } from "../emitter.ts";
import { createOperatorMetrics } from "../metrics.ts";
import { createLastValidVersions } from "../saved-state/last-valid-versions.ts";
import { createStateReader } from "../saved-state/state-reader.ts";
import { createStateStore } from "../saved-state/state-store.ts";
import { testStore } from "../saved-state/testing-store.ts";
import { startTestNode, type TestNode } from "../testing-node.ts";
import { createNodeConnector } from "./node-client.ts";
import { createPublishStage, type PublishedDocument } from "./publish-stage.ts";

const TOKEN = "token-of-the-test";
const log = { info() {}, warn() {}, debug() {}, error() {} } as never;

/** A publish stage behind a real translate stage, with one test node and a store in memory. */
async function scene(t: TestContext, { discovers = false } = {}) {
  const made = testTranslateStage(t);
  const node = await startTestNode(TOKEN);
  const terms = createEmitter<number | null>();
  const state = { term: null as number | null };
  const observedTerms: number[] = [];
  const leadership = { terms, observeTerm: (term: number) => void observedTerms.push(term) };
  const backend = testStore();
  const store = createStateStore({ store: backend, log });
  const abort = new AbortController();
  const connector = createNodeConnector({ token: TOKEN });
  const publish = createPublishStage({
    watch: made,
    translate: made.translate,
    leadership,
    gate: { term: () => state.term, terms },
    savedState: createStateReader({ store, leadership, signal: abort.signal, log }),
    store,
    lastValid: createLastValidVersions(),
    settings: { nodes: discovers ? [] : [node.address], documentInterval: 1 },
    nodeService: discovers ? { namespace: "default", name: "nodes" } : null,
    connector,
    metrics: createOperatorMetrics(),
    log,
  });
  const progress: (PublishedDocument | null)[] = [];
  publish.progress.subscribe((one) => void progress.push(one));
  t.after(async () => {
    abort.abort();
    await publish.close();
    await connector.close();
    await node.stop();
  });
  return {
    ...made,
    node,
    publish,
    progress,
    saved: async () => (JSON.parse((await backend.manifest())?.text ?? "{}") as { hash?: string }).hash,
    lead(term: number | null) {
      state.term = term;
      terms.emit(term);
    },
    async change(host: string) {
      made.put("Service", "users", { spec: { url: `http://${host}` } });
      made.changed(["default/users"]);
      await made.settled();
    },
  };
}
type Scene = Awaited<ReturnType<typeof scene>>;
const programmed = ({ publish }: Scene) =>
  waitFor(() => publish.publisher.acknowledgement(publish.publisher.revision()).programmed, {
    what: "the node's acknowledgement",
  });

test("a document has its revision at once, and is pushed as soon as this operator leads", async (t) => {
  const one = await scene(t);
  await one.change("a.test");
  const [published] = one.progress.flatMap((published) => published ?? []);
  assert.deepEqual([published?.revision, published?.document.isFirst], [1, true]);
  await waitFor(() => one.publish.publisher.nodes()[0]?.state, { what: "the node to be known" });
  assert.deepEqual([one.node.pushes, one.publish.gauges.revision()], [[], 1]);
  one.progress.length = 0;
  one.lead(1);
  await programmed(one);
  assert.ok(one.progress.length > 0);
  assert.ok(one.progress.every((document) => document === null));
  assert.deepEqual(one.publish.gauges.nodes(), { current: 1, lagging: 0, silent: 0 });
});

test("the state that the nodes acknowledged is saved", async (t) => {
  const one = await scene(t);
  one.lead(1);
  await one.change("a.test");
  await programmed(one);
  await waitFor(async () => (await one.saved()) === one.publish.publisher.hash(), { what: "the state to be saved" });
  assert.ok(one.publish.gauges.savedAt());
});

/** Puts an EndpointSlice with a node into the cluster. */
function putSlice({ put, changes }: Scene, name: string, { address }: TestNode, conditions: object = {}): void {
  put("EndpointSlice", name, {
    metadata: { name: "", namespace: "", labels: { "kubernetes.io/service-name": "nodes" } },
    addressType: "IPv4",
    ports: [{ name: "push", port: Number(new URL(address).port) }],
    endpoints: [{ addresses: ["127.0.0.1"], conditions }],
  });
  changes.emit({
    resources: [{ kind: "EndpointSlice", key: `default/${name}`, isMeaningful: true }],
    versions: [],
    isMeaningful: true,
    classesChanged: false,
  });
}

test("nodes are found through the slices of their Service", async (t) => {
  const one = await scene(t, { discovers: true });
  one.lead(1);
  await one.change("a.test");
  assert.deepEqual(one.publish.publisher.nodes(), []);
  putSlice(one, "nodes-1", one.node);
  await programmed(one);
  assert.deepEqual(one.node.pushes, [`PUT ${one.publish.publisher.revision()}`]);
});

/** The names of the members, and of the nodes that leave. */
const namesIn = ({ view }: TestNode): string =>
  view ? [view.members, view.leaving].map((list) => list.map(({ name }) => name).join("+")).join(" leaving ") : "none";

test("a node whose Pod terminates stays in the view as leaving until it has left, also if it serves no more", async (t) => {
  const one = await scene(t, { discovers: true });
  const other = await startTestNode(TOKEN);
  t.after(other.stop);
  one.node.takePart({ name: "a", state: "present" });
  other.takePart({ name: "b", state: "present" });
  one.lead(1);
  await one.change("a.test");
  const both = (wanted: string) =>
    waitFor(() => namesIn(one.node) === wanted && namesIn(other) === wanted, {
      what: `the view ${wanted} on both nodes`,
    });
  putSlice(one, "nodes-1", one.node);
  putSlice(one, "nodes-2", other);
  await both("a+b leaving ");
  putSlice(one, "nodes-2", other, { ready: false, serving: false, terminating: true });
  await both("a leaving b");
  other.takePart({ name: "b", state: "left" });
  await both("a leaving ");
  assert.equal(one.publish.publisher.nodes().length, 2);
  await other.stop();
  await waitFor(() => one.publish.publisher.nodes().length === 1, { what: "the ended node to be forgotten" });
});

test("a node that has ended is removed from the view, and its successor joins under another name", async (t) => {
  const one = await scene(t);
  one.node.takePart({ name: "a", state: "present" });
  one.lead(1);
  await one.change("a.test");
  await waitFor(() => namesIn(one.node) === "a leaving ", { what: "the first view" });
  const epoch = one.node.view?.epoch ?? 0;
  await one.node.restart();
  one.node.takePart({ name: "b", state: "present" });
  await waitFor(() => namesIn(one.node) === "b leaving ", { what: "the view with the new process" });
  assert.ok((one.node.view?.epoch ?? 0) > epoch);
});
