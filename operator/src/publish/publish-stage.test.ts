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
import { startTestNode } from "../testing-node.ts";
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
const programmed = ({ publish }: Awaited<ReturnType<typeof scene>>) =>
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

test("nodes are found through the slices of their Service", async (t) => {
  const one = await scene(t, { discovers: true });
  one.lead(1);
  await one.change("a.test");
  assert.deepEqual(one.publish.publisher.nodes(), []);
  one.put("EndpointSlice", "nodes-1", {
    metadata: { name: "", namespace: "", labels: { "kubernetes.io/service-name": "nodes" } },
    addressType: "IPv4",
    ports: [{ name: "push", port: Number(new URL(one.node.address).port) }],
    endpoints: [{ addresses: ["127.0.0.1"] }],
  });
  one.changes.emit({
    resources: [{ kind: "EndpointSlice", key: "default/nodes-1", isMeaningful: true }],
    versions: [],
    isMeaningful: true,
    classesChanged: false,
  });
  await programmed(one);
  assert.deepEqual(one.node.pushes, [`PUT ${one.publish.publisher.revision()}`]);
});
