import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import {
  applyChange,
  emptySnapshot,
  type NodeState,
  type PushChange,
  type PushDocument,
  type Snapshot,
} from "@sluice/model";
import { waitFor } from "../../../test/process/index.ts";
import { type NodeClient, Refused } from "./node-client.ts";
import { createPublisher, type Publisher, SILENT_AFTER } from "./publisher.ts";

const snapshotWith = (...names: string[]): Snapshot => {
  const applied = applyChange(emptySnapshot, {
    put: { services: names.map((name) => ({ name, url: `http://${name}.test` })) },
    remove: {},
  });
  if (applied.violations) throw new Error(JSON.stringify(applied.violations));
  return applied.value;
};
const [one, two] = [snapshotWith("one"), snapshotWith("one", "two")];

/** A node that keeps what it is sent and remembers how. `hash` tells what it says it runs after a push. */
function fakeNode(hashes: readonly string[]) {
  let state: NodeState = { node: "n", hash: null, revision: 0, version: "0" };
  const calls: string[] = [];
  const node = {
    calls,
    down: false,
    refuses: false,
    /** What it says it runs after a push, whatever came: a node of another version. */
    misreads: null as string | null,
    /** A new process without a document. */
    restart: () => {
      state = { ...state, node: `${state.node}n`, hash: null, revision: 0 };
    },
    client: {
      async state() {
        if (node.down) throw new Error("connection refused");
        return state;
      },
      async put({ revision }: PushDocument) {
        if (node.down) throw new Error("connection refused");
        calls.push(`put ${revision}`);
        if (node.refuses) throw new Refused("400: no");
        state = { ...state, revision, hash: node.misreads ?? hashes[revision - 1] ?? null };
        return state;
      },
      async patch({ revision, base }: PushChange) {
        if (base !== state.hash) return "stale" as const;
        calls.push(`patch ${revision}`);
        state = { ...state, revision, hash: hashes[revision - 1] ?? null };
        return state;
      },
    } satisfies NodeClient,
  };
  return node;
}

async function withPublisher(
  nodes: Record<string, ReturnType<typeof fakeNode>>,
  body: (publisher: Publisher, clock: { now: number; readonly changes: number }) => Promise<void>,
): Promise<void> {
  const clock = { now: 0, changes: 0 };
  const publisher = createPublisher({
    connect: (address) => (nodes[address] as ReturnType<typeof fakeNode>).client,
    onChange: () => {
      clock.changes++;
    },
    lookInterval: 5,
    retryInterval: 5,
    now: () => clock.now,
  });
  publisher.setNodes(Object.keys(nodes));
  try {
    await body(publisher, clock);
  } finally {
    await publisher.close();
  }
}
const programmed = (publisher: Publisher, revision: number) => () => publisher.acknowledgement(revision).programmed;

test("a node gets the whole document first and then changes", async () => {
  const node = fakeNode([one.hash, two.hash]);
  await withPublisher({ a: node }, async (publisher) => {
    await waitFor(programmed(publisher, publisher.publish(one)), { what: "the first revision" });
    await waitFor(programmed(publisher, publisher.publish(two)), { what: "the second revision" });
    assert.deepEqual(node.calls, ["put 1", "patch 2"]);
  });
});

test("equal content keeps its revision and is not pushed again", async () => {
  const node = fakeNode([one.hash]);
  await withPublisher({ a: node }, async (publisher) => {
    await waitFor(programmed(publisher, publisher.publish(one)), { what: "the first revision" });
    assert.equal(publisher.publish(snapshotWith("one")), 1);
    assert.deepEqual(node.calls, ["put 1"]);
  });
});

test("a node that restarts empty gets the whole document again", async () => {
  const node = fakeNode([one.hash, two.hash]);
  await withPublisher({ a: node }, async (publisher) => {
    await waitFor(programmed(publisher, publisher.publish(one)), { what: "the first revision" });
    node.restart();
    await waitFor(() => isDeepStrictEqual(node.calls, ["put 1", "put 1"]), { what: "a second push" });
  });
});

test("one node that is down does not keep the others from a revision, and is named after two seconds", async () => {
  const [up, down] = [fakeNode([one.hash]), fakeNode([one.hash])];
  down.down = true;
  await withPublisher({ up, down }, async (publisher, clock) => {
    const revision = publisher.publish(one);
    await waitFor(() => isDeepStrictEqual(publisher.acknowledgement(revision).acknowledged, ["up"]), { what: "up" });
    assert.deepEqual(publisher.acknowledgement(revision).lagging, ["down"], "it waits for a node that is only slow");
    assert.deepEqual([publisher.acknowledgement(revision).programmed, publisher.acknowledgedRevision()], [false, 0]);
    const before = clock.changes;
    clock.now += SILENT_AFTER + 1;
    await waitFor(() => clock.changes > before, { what: "the silence to be told" });
    await waitFor(() => publisher.acknowledgement(revision).programmed, { what: "the wait to be over" });
    assert.deepEqual(publisher.acknowledgement(revision).silent, ["down"]);
    assert.equal(publisher.acknowledgedRevision(), revision);
    down.down = false;
    await waitFor(() => isDeepStrictEqual(down.calls, ["put 1"]), { what: "the push to the node that came back" });
    await waitFor(() => publisher.acknowledgement(revision).silent.length === 0, { what: "the end of its silence" });
  });
});

test("a node that falls silent in the middle of a call is told of without waiting for the call to end", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  let changes = 0;
  const never = () => new Promise<never>(() => {});
  const publisher = createPublisher({
    connect: () => ({ state: never, put: never, patch: never }),
    onChange: () => changes++,
    now: () => now,
  });
  publisher.setNodes(["a"]);
  assert.equal(changes, 1);
  now = SILENT_AFTER + 1;
  t.mock.timers.tick(SILENT_AFTER + 1);
  assert.equal(changes, 2);
  assert.deepEqual(publisher.acknowledgement(1).silent, ["a"]);
  publisher.setNodes([]);
});

test("the same list of nodes changes nothing, a node that leaves it is forgotten", async () => {
  const [a, b] = [fakeNode([one.hash]), fakeNode([one.hash])];
  await withPublisher({ a, b }, async (publisher, clock) => {
    await waitFor(programmed(publisher, publisher.publish(one)), { what: "both" });
    const before = clock.changes;
    publisher.setNodes(["b", "a"]);
    assert.equal(clock.changes, before);
    publisher.setNodes(["b"]);
    assert.deepEqual(publisher.acknowledgement(1).acknowledged, ["b"]);
    publisher.setNodes([]);
    assert.deepEqual([publisher.acknowledgement(1).programmed, publisher.acknowledgedRevision()], [false, 0]);
  });
});

test("a node that reads a document in another way is told of, and is not pushed to again and again", async () => {
  const node = fakeNode([one.hash, two.hash]);
  node.misreads = "another hash";
  await withPublisher({ a: node }, async (publisher, clock) => {
    publisher.publish(one);
    await waitFor(() => /another version/.test(publisher.nodes()[0]?.trouble ?? ""), { what: "the trouble" });
    assert.equal(publisher.acknowledgement(1).programmed, false);
    const looked = publisher.nodes()[0]?.seen;
    clock.now++;
    await waitFor(() => publisher.nodes()[0]?.seen !== looked, { what: "another look" });
    assert.deepEqual(node.calls, ["put 1"]);
  });
});

test("a refused document is sent once more to a node that restarted, which may be of another version", async () => {
  const node = fakeNode([one.hash]);
  node.refuses = true;
  await withPublisher({ a: node }, async (publisher) => {
    publisher.publish(one);
    await waitFor(() => publisher.nodes()[0]?.trouble, { what: "the refusal" });
    node.refuses = false;
    node.restart();
    await waitFor(programmed(publisher, 1), { what: "the document on the new process" });
    assert.equal(publisher.nodes()[0]?.trouble, null);
  });
});

test("a document that a node refuses is not sent again, and the reason is kept", async () => {
  const node = fakeNode([one.hash, two.hash]);
  node.refuses = true;
  await withPublisher({ a: node }, async (publisher) => {
    publisher.publish(one);
    await waitFor(() => /refuses revision 1: 400: no/.test(publisher.nodes()[0]?.trouble ?? ""), {
      what: "the refusal",
    });
    node.refuses = false;
    await waitFor(programmed(publisher, publisher.publish(two)), { what: "the next revision" });
    assert.deepEqual(node.calls, ["put 1", "put 2"]);
  });
});

test("after a restart the operator counts on from the nodes and pushes nothing that they have", async () => {
  const node = fakeNode([one.hash, two.hash]);
  await withPublisher({ a: node }, async (publisher) => {
    await waitFor(programmed(publisher, publisher.publish(one)), { what: "the first revision" });
    await waitFor(programmed(publisher, publisher.publish(two)), { what: "the second revision" });
  });
  await withPublisher({ a: node }, async (publisher) => {
    await waitFor(() => publisher.nodes()[0]?.state?.revision === 2, { what: "the first look" });
    const revision = publisher.publish(two);
    assert.equal(revision, 3);
    await waitFor(programmed(publisher, revision), { what: "the acknowledgement by hash" });
    assert.deepEqual(node.calls, ["put 1", "patch 2"]);
  });
});
