import assert from "node:assert/strict";
import { get, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { type StatusFacts, startStatusListener, statusBody, unreadyReason } from "./listener.ts";

const facts = (changes: Partial<StatusFacts> = {}): StatusFacts => ({
  state: () => ({ node: "n", hash: "abc", revision: 7, version: "0.1.0" }),
  failure: () => null,
  draining: () => false,
  connections: () => ({ accepted: 5, handled: 5, active: 2, reading: 0, writing: 1, waiting: 1, requests: 9 }),
  metrics: {
    text: async function* () {
      yield* ["metric", " 1\n"].map((piece) => Buffer.from(piece));
    },
    data: async function* () {
      yield '{"gauges":[]}\n';
    },
  },
  refused: async () => [],
  upstreams: () => ({ u: { t: { health: "HEALTHY", weight: 100, addresses: [] } } }),
  ...changes,
});
const empty = () => ({ node: "n", hash: null, revision: 0, version: "0.1.0" });

const readiness: [string, Partial<StatusFacts>, string | null][] = [
  ["is ready with a document", {}, null],
  ["is not ready while it drains", { draining: () => true }, "draining"],
  [
    "is not ready before its first document",
    { state: empty },
    "no configuration available (no document has arrived yet)",
  ],
  [
    "reports why there is no document",
    { state: empty, failure: () => "kong.yaml: gone" },
    "no configuration available (kong.yaml: gone)",
  ],
  ["is not ready while none of its workers runs", { unserved: () => "no worker is running" }, "no worker is running"],
  ["is not ready before it knows its fleet", { unjoined: () => "no view" }, "no view"],
  [
    "names the missing document before the missing fleet",
    { state: empty, unjoined: () => "no view" },
    "no configuration available (no document has arrived yet)",
  ],
  [
    "stays ready with its old document when a newer document is refused",
    { failure: () => "kong.yaml:1:1: broken" },
    null,
  ],
];
for (const [what, changes, reason] of readiness)
  test(`a node ${what}`, () => assert.equal(unreadyReason(facts(changes)), reason));

test("the status has Kong's and Sluice's members", async () => {
  const body = await statusBody(facts());
  assert.deepEqual(body.server, {
    connections_accepted: 5,
    connections_handled: 5,
    connections_active: 2,
    connections_reading: 0,
    connections_writing: 1,
    connections_waiting: 1,
    total_requests: 9,
  });
  assert.equal(body.configuration_hash, "abc");
  assert.deepEqual(body.sluice, { node: "n", version: "0.1.0", revision: 7, trouble: null, refused_destinations: [] });
  assert.equal((await statusBody(facts({ state: empty }))).configuration_hash, "0".repeat(32));
});

test("the status listener serves status, readiness, metrics and the health of targets, and answers other paths with 404", async () => {
  const listener = await startStatusListener(facts({ draining: () => true }), { host: "127.0.0.1", port: 0 });
  try {
    const at = (path: string) => fetch(`http://127.0.0.1:${listener.address.port}${path}`);
    assert.equal((await at("/status")).status, 200);
    assert.equal((await at("/status/")).status, 200);
    for (const path of ["/status/ready", "/readyz"]) assert.equal((await at(path)).status, 503, path);
    for (const path of ["/status/live", "/healthz", "/livez"]) assert.equal((await at(path)).status, 200, path);
    const metrics = await at("/metrics");
    assert.equal(await metrics.text(), "metric 1\n");
    assert.match(metrics.headers.get("content-type") ?? "", /text\/plain/);
    const data = await fetch(`http://127.0.0.1:${listener.address.port}/metrics`, {
      headers: { accept: "application/x-ndjson" },
    });
    assert.deepEqual(await data.json(), { gauges: [] });
    const health = await at("/upstreams/health");
    assert.deepEqual(await health.json(), { u: { t: { health: "HEALTHY", weight: 100, addresses: [] } } });
    const missing = await at("/nothing");
    assert.deepEqual([missing.status, await missing.json()], [404, { message: "Not found" }]);
  } finally {
    await listener.close();
  }
});

test("metrics are generated as they are read, and no further once the reader has disconnected", async () => {
  let [made, isOver] = [0, false];
  const slice = Buffer.alloc(100_000, "x");
  async function* text() {
    try {
      for (; made < 1000; made++) {
        yield slice;
        await new Promise(setImmediate);
      }
    } finally {
      isOver = true;
    }
  }
  const metrics = { ...facts().metrics, text };
  const listener = await startStatusListener(facts({ metrics }), { host: "127.0.0.1", port: 0 });
  try {
    const url = `http://127.0.0.1:${listener.address.port}/metrics`;
    const response = await new Promise<IncomingMessage>((resolve) => get(url, { agent: false }, resolve));
    response.once("readable", () => response.read(1));
    let before = -1;
    // The buffers of both sockets limit the text that is generated for a client that does not read.
    await waitFor(
      () => {
        const stands = made === before;
        before = made;
        return stands && made > 0;
      },
      { what: "the generation of slices to pause", interval: 100 },
    );
    assert.ok(made < 500, `${made} slices are made`);
    response.destroy();
    await waitFor(() => isOver, { what: "the generation of slices to end" });
    assert.ok(made < 1000);
    assert.equal((await fetch(`http://127.0.0.1:${listener.address.port}/status`)).status, 200);
  } finally {
    await listener.close();
  }
});
