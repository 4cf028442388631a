import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import {
  applyChange,
  emptySnapshot,
  type NodeReport,
  type PushChange,
  type PushDocument,
  type Snapshot,
} from "@sluice/model";
import { waitFor } from "../../../tools/process/index.ts";
import { type NodeClient, PushRefusedError } from "./node-client.ts";
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

/** A node that records each push and its form. After the push of a revision it reports the hash of that revision. */
function fakeNode(hashes: readonly string[]) {
  let state: NodeReport = { node: "n", hash: null, revision: 0, version: "0" };
  const calls: string[] = [];
  let seen = 0;
  const outdated = (term = 0) => state.term !== undefined && term < state.term;
  const node = {
    calls,
    /** Waits until the node has been polled this number of times from now on. */
    looks: async (count: number) => {
      const until = seen + count;
      await waitFor(() => seen >= until, { what: `${count} polls of the node` });
    },
    /** Remembers the highest term, as real nodes do. */
    knowsTerms: () => {
      state = { ...state, term: 0 };
    },
    term: () => state.term,
    takesFromAnother: (term: number) => {
      state = { ...state, term, hash: "another's" };
    },
    /** From now on, the node does not serve these listeners. */
    failsToServe: (...failedListeners: NonNullable<NodeReport["failedListeners"]>) => {
      state = { ...state, failedListeners };
    },
    down: false,
    refuses: false,
    /** The hash that the node reports after every full push, like a node of another version; null: the right hash. */
    misreads: null as string | null,
    /** Simulates a new process without a document. */
    restart: () => {
      state = { ...state, node: `${state.node}n`, hash: null, revision: 0 };
    },
    client: {
      async state() {
        seen++;
        if (node.down) throw new Error("connection refused");
        return state;
      },
      async put({ term, revision }: PushDocument) {
        if (node.down) throw new Error("connection refused");
        if (outdated(term)) throw new Error("412: its term is over");
        if (state.term !== undefined && term !== undefined) state = { ...state, term };
        calls.push(`put ${revision}`);
        if (node.refuses) throw new PushRefusedError("400: no");
        state = { ...state, revision, hash: node.misreads ?? hashes[revision - 1] ?? null };
        return state;
      },
      async patch({ term, revision, base }: PushChange) {
        if (outdated(term)) throw new Error("412: its term is over");
        if (base !== state.hash) return "stale" as const;
        if (state.term !== undefined && term !== undefined) state = { ...state, term };
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
    term: () => 1,
    onHigherTerm: () => {},
    onChange: () => {
      clock.changes++;
    },
    pollInterval: 5,
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

test("a node gets the full document first and then changes", async () => {
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

test("listeners that nodes do not serve are known by name, and a change of them is reported", async () => {
  const nodes = { a: fakeNode([one.hash]), b: fakeNode([one.hash]) };
  await withPublisher(nodes, async (publisher, clock) => {
    await waitFor(programmed(publisher, publisher.publish(one)), { what: "the first revision" });
    const before = clock.changes;
    const failed = { name: "team/web/http", port: 9000, reason: "in use" };
    nodes.b.failsToServe(failed);
    await waitFor(() => publisher.failedListeners().size === 1, { what: "the listener to be reported" });
    assert.deepEqual([...publisher.failedListeners()], [[failed.name, [{ address: "b", reason: "in use" }]]]);
    assert.ok(clock.changes > before);
  });
});

test("a node that restarts without a document gets the full document again", async () => {
  const node = fakeNode([one.hash, two.hash]);
  await withPublisher({ a: node }, async (publisher) => {
    await waitFor(programmed(publisher, publisher.publish(one)), { what: "the first revision" });
    node.restart();
    await waitFor(() => isDeepStrictEqual(node.calls, ["put 1", "put 1"]), { what: "a second push" });
  });
});

test("a node that is down delays no push to other nodes, and counts as silent after two seconds", async () => {
  const [up, down] = [fakeNode([one.hash]), fakeNode([one.hash])];
  down.down = true;
  await withPublisher({ up, down }, async (publisher, clock) => {
    const revision = publisher.publish(one);
    await waitFor(() => isDeepStrictEqual(publisher.acknowledgement(revision).acknowledged, ["up"]), {
      what: "the acknowledgement of the node that is up",
    });
    assert.deepEqual(
      publisher.acknowledgement(revision).lagging,
      ["down"],
      "a node that is not silent yet counts as lagging",
    );
    assert.deepEqual([publisher.acknowledgement(revision).programmed, publisher.acknowledgedRevision()], [false, 0]);
    const before = clock.changes;
    clock.now += SILENT_AFTER + 1;
    await waitFor(() => clock.changes > before, { what: "the silence to be reported" });
    await waitFor(() => publisher.acknowledgement(revision).programmed, { what: "the revision to be programmed" });
    assert.deepEqual(publisher.acknowledgement(revision).silent, ["down"]);
    assert.equal(publisher.nodes().find(({ address }) => address === "down")?.lastAnswerAt, null);
    assert.equal(publisher.acknowledgedRevision(), revision);
    down.down = false;
    await waitFor(() => isDeepStrictEqual(down.calls, ["put 1"]), { what: "the push to the node that came back" });
    await waitFor(() => publisher.acknowledgement(revision).silent.length === 0, { what: "the end of its silence" });
  });
});

test("a node that becomes silent during a call is reported before the call ends", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  let changes = 0;
  const never = () => new Promise<never>(() => {});
  const publisher = createPublisher({
    connect: () => ({ state: never, put: never, patch: never }),
    term: () => 1,
    onHigherTerm: () => {},
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

test("the same list of nodes has no effect, and a removed node is forgotten", async () => {
  const [a, b] = [fakeNode([one.hash]), fakeNode([one.hash])];
  await withPublisher({ a, b }, async (publisher, clock) => {
    await waitFor(programmed(publisher, publisher.publish(one)), { what: "both nodes to have the revision" });
    const before = clock.changes;
    publisher.setNodes(["b", "a"]);
    assert.equal(clock.changes, before);
    publisher.setNodes(["b"]);
    assert.deepEqual(publisher.acknowledgement(1).acknowledged, ["b"]);
    publisher.setNodes([]);
    assert.deepEqual([publisher.acknowledgement(1).programmed, publisher.acknowledgedRevision()], [false, 0]);
  });
});

test("a node that computes a different hash is reported, and is not pushed to repeatedly", async () => {
  const node = fakeNode([one.hash, two.hash]);
  node.misreads = "another hash";
  await withPublisher({ a: node }, async (publisher, clock) => {
    publisher.publish(one);
    await waitFor(() => /another version/.test(publisher.nodes()[0]?.lastError ?? ""), {
      what: "the node's error to be reported",
    });
    assert.equal(publisher.acknowledgement(1).programmed, false);
    const looked = publisher.nodes()[0]?.lastAnswerAt;
    clock.now++;
    await waitFor(() => publisher.nodes()[0]?.lastAnswerAt !== looked, { what: "another poll" });
    assert.deepEqual(node.calls, ["put 1"]);
  });
});

test("a refused document is sent once more to a node that restarted, because the restarted node may have another version", async () => {
  const node = fakeNode([one.hash]);
  node.refuses = true;
  await withPublisher({ a: node }, async (publisher) => {
    publisher.publish(one);
    await waitFor(() => publisher.nodes()[0]?.lastError, { what: "the refusal to be reported" });
    node.refuses = false;
    node.restart();
    await waitFor(programmed(publisher, 1), { what: "the document on the new process" });
    assert.equal(publisher.nodes()[0]?.lastError, null);
  });
});

test("a refused document is not sent again, and the error of the node names the revision and the reason", async () => {
  const node = fakeNode([one.hash, two.hash]);
  node.refuses = true;
  await withPublisher({ a: node }, async (publisher) => {
    publisher.publish(one);
    await waitFor(() => /refuses revision 1: 400: no/.test(publisher.nodes()[0]?.lastError ?? ""), {
      what: "the refusal to be reported",
    });
    node.refuses = false;
    await waitFor(programmed(publisher, publisher.publish(two)), { what: "the next revision" });
    assert.deepEqual(node.calls, ["put 1", "put 2"]);
  });
});

test("after a restart the operator continues the nodes' revisions and pushes no document that the nodes have", async () => {
  const node = fakeNode([one.hash, two.hash]);
  await withPublisher({ a: node }, async (publisher) => {
    await waitFor(programmed(publisher, publisher.publish(one)), { what: "the first revision" });
    await waitFor(programmed(publisher, publisher.publish(two)), { what: "the second revision" });
  });
  await withPublisher({ a: node }, async (publisher) => {
    await waitFor(() => publisher.nodes()[0]?.state?.revision === 2, { what: "the first poll" });
    const revision = publisher.publish(two);
    assert.equal(revision, 3);
    await waitFor(programmed(publisher, revision), { what: "the acknowledgement by hash" });
    assert.deepEqual(node.calls, ["put 1", "patch 2"]);
  });
});

test("while another operator leads, nodes are polled and no document is pushed; once this operator leads, all nodes get the document", async () => {
  const node = fakeNode([one.hash, one.hash, one.hash]);
  let term: number | null = null;
  const publisher = createPublisher({
    connect: () => node.client,
    term: () => term,
    onHigherTerm: () => {},
    onChange: () => {},
    pollInterval: 5,
    retryInterval: 5,
  });
  publisher.setNodes(["a"]);
  try {
    const before = publisher.publish(one);
    await waitFor(() => publisher.nodes()[0]?.state?.revision === 0, { what: "a poll of the node" });
    assert.deepEqual(node.calls, []);
    term = 1;
    publisher.termChanged();
    await waitFor(programmed(publisher, publisher.revision()), { what: "the push" });
    assert.deepEqual(node.calls, ["put 2"]);
    assert.equal(before, 1);
    term = null;
    publisher.termChanged();
    publisher.publish(two);
    await node.looks(3);
    assert.deepEqual(node.calls, ["put 2"]);
  } finally {
    await publisher.close();
  }
});

test("a node with the same document learns a new term at once, by an empty change", async () => {
  const node = fakeNode([one.hash, one.hash]);
  node.knowsTerms();
  let term = 1;
  const publisher = createPublisher({
    connect: () => node.client,
    term: () => term,
    onHigherTerm: () => {},
    onChange: () => {},
    pollInterval: 5,
    retryInterval: 5,
  });
  publisher.setNodes(["a"]);
  try {
    publisher.publish(one);
    await waitFor(() => node.term() === 1, { what: "the first term" });
    term = 4;
    publisher.termChanged();
    await waitFor(() => node.term() === 4, { what: "the next term" });
    await node.looks(3);
    assert.deepEqual(node.calls, ["put 1", "patch 2"]);
  } finally {
    await publisher.close();
  }
});

const outranks: readonly (readonly [what: string, state: Partial<NodeReport>, expected: readonly number[]])[] = [
  ["a later term", { term: 9 }, [9]],
  ["a later revision of this operator's term", { term: 5, revision: 30 }, [5]],
  ["an earlier term with a higher revision", { term: 4, revision: 30 }, []],
  ["no term", { revision: 30 }, []],
];
for (const [what, state, expected] of outranks)
  test(`a node that has seen ${what} ${expected.length > 0 ? "causes" : "does not cause"} a call of onHigherTerm`, async () => {
    const node = fakeNode([]);
    const heard = new Set<number>();
    const publisher = createPublisher({
      connect: () => ({
        ...node.client,
        async state() {
          return { ...(await node.client.state()), hash: "other", ...state };
        },
        put: () => Promise.reject(new Error("412: outdated")),
      }),
      term: () => 5,
      onHigherTerm: (term) => void heard.add(term),
      onChange: () => {},
      pollInterval: 5,
      retryInterval: 5,
    });
    try {
      // The snapshot is published before the state of the node is known.
      publisher.publish(one);
      publisher.setNodes(["a"]);
      await node.looks(3);
      assert.deepEqual([...heard], expected);
    } finally {
      await publisher.close();
    }
  });

test("a node that accepted pushes in this term and then follows another operator does not cause a call of onHigherTerm", async () => {
  const node = fakeNode([one.hash]);
  node.knowsTerms();
  const heard: number[] = [];
  const publisher = createPublisher({
    connect: () => node.client,
    term: () => 1,
    onHigherTerm: (term) => void heard.push(term),
    onChange: () => {},
    pollInterval: 5,
    retryInterval: 5,
  });
  publisher.setNodes(["a"]);
  try {
    publisher.publish(one);
    await waitFor(() => node.term() === 1, { what: "the push" });
    node.takesFromAnother(2);
    await waitFor(() => publisher.nodes()[0]?.lastError?.includes("412"), { what: "the refused push" });
    assert.deepEqual(heard, []);
  } finally {
    await publisher.close();
  }
});
