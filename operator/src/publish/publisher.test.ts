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
import { createPublisher, type Publisher } from "./publisher.ts";

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
    forget: () => {
      state = { ...state, hash: null, revision: 0 };
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
        state = { ...state, revision, hash: hashes[revision - 1] ?? null };
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
  body: (publisher: Publisher) => Promise<void>,
): Promise<void> {
  const publisher = createPublisher({
    connect: (address) => (nodes[address] as ReturnType<typeof fakeNode>).client,
    onChange: () => {},
    lookInterval: 5,
  });
  publisher.setNodes(Object.keys(nodes));
  try {
    await body(publisher);
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
    node.forget();
    await waitFor(() => isDeepStrictEqual(node.calls, ["put 1", "put 1"]), { what: "a second push" });
  });
});

test("one node that is down does not keep the others from a revision, and is named", async () => {
  const [up, down] = [fakeNode([one.hash]), fakeNode([one.hash])];
  down.down = true;
  await withPublisher({ up, down }, async (publisher) => {
    const revision = publisher.publish(one);
    await waitFor(() => isDeepStrictEqual(publisher.acknowledgement(revision).acknowledged, ["up"]), { what: "up" });
    assert.equal(publisher.acknowledgement(revision).programmed, false, "it waits for a node that is only slow");
    await waitFor(() => isDeepStrictEqual(publisher.acknowledgement(revision).silent, ["down"]), {
      what: "the silence to count",
      timeout: 10_000,
    });
    assert.equal(publisher.acknowledgement(revision).programmed, true);
    down.down = false;
    await waitFor(() => isDeepStrictEqual(down.calls, ["put 1"]), { what: "the push to the node that came back" });
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
