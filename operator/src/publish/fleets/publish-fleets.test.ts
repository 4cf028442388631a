import assert from "node:assert/strict";
import { test } from "node:test";
import {
  applyChange,
  applyDocument,
  type Checked,
  type DocumentListener,
  deriveId,
  emptySnapshot,
  type NodeReport,
  SHARED_FLEET,
  type Snapshot,
} from "@sluice/model";
import { waitFor } from "../../../../tools/process/index.ts";
import type { NodeClient } from "../node-client.ts";
import { createPublisher, type Publisher } from "../publisher.ts";

const good = ({ value, violations }: Checked<Snapshot>): Snapshot => value ?? assert.fail(JSON.stringify(violations));

/** A node that checks and serves what it is pushed. */
function servingNode() {
  let snapshot: Snapshot | null = null;
  let revision = 0;
  const report = (): NodeReport => ({ node: "n", hash: snapshot?.hash ?? null, revision, version: "0" });
  const node = {
    isStuck: false,
    pushes: 0,
    paths: () => [...(snapshot?.routes.values() ?? [])].flatMap(({ paths }) => paths ?? []).sort(),
    client: {
      state: async () => report(),
      async put(push) {
        return serve(push.revision, applyDocument(snapshot ?? emptySnapshot, push.document));
      },
      async patch(push) {
        return serve(push.revision, applyChange(snapshot ?? emptySnapshot, push.change));
      },
    } satisfies NodeClient,
  };
  function serve(pushed: number, next: Checked<Snapshot>): NodeReport {
    if (node.isStuck) throw new Error("connection reset");
    node.pushes++;
    [snapshot, revision] = [good(next), pushed];
    return report();
  }
  return node;
}

const listener = (fleet: string | undefined, port: number): DocumentListener => ({
  name: `team/${port}/http`,
  port,
  public_port: 80,
  protocol: "http",
  ...(fleet !== undefined && { fleets: [fleet] }),
});

/** Routes by path, each with the port of its listener; null: it has none. */
function snapshotOf(listeners: readonly DocumentListener[], routes: Readonly<Record<string, number | null>>): Snapshot {
  return good(
    applyDocument(emptySnapshot, {
      _format_version: "3.0",
      routes: Object.entries(routes).map(([path, port]) => ({
        id: deriveId("routes", path),
        paths: [path],
        ...(port !== null && { _sluice: { listeners: [`team/${port}/http`] } }),
      })),
      _sluice: { listeners },
    }),
  );
}

const listeners = [listener("gateway-a", 9001), listener("gateway-b", 9002), listener(undefined, 9003)];
const before = snapshotOf(listeners, { "/own": null, "/a": 9001, "/b": 9002, "/shared": 9003 });
const after = snapshotOf(listeners, { "/own": null, "/a": 9001, "/a/new": 9001, "/b": 9002, "/shared": 9003 });

async function withFleets(
  body: (
    publisher: Publisher,
    nodes: Readonly<Record<"shared" | "a" | "b", ReturnType<typeof servingNode>>>,
  ) => Promise<void>,
) {
  const nodes = { shared: servingNode(), a: servingNode(), b: servingNode() };
  const publisher = createPublisher({
    connect: (address) => nodes[address as keyof typeof nodes].client,
    term: () => 1,
    onHigherTerm() {},
    onChange() {},
    pollInterval: 5,
    retryInterval: 5,
  });
  publisher.setNodes(["shared"]);
  try {
    await body(publisher, nodes);
  } finally {
    await publisher.close();
  }
}

async function publishToAll(publisher: Publisher): Promise<number> {
  const revision = publisher.publish(before);
  publisher.setNodes(["a"], "gateway-a");
  publisher.setNodes(["b"], "gateway-b");
  const fleets = [SHARED_FLEET, "gateway-a", "gateway-b"];
  await waitFor(() => publisher.acknowledgement(revision, fleets).programmed, { what: "the first revision" });
  return revision;
}

test("the nodes of each fleet serve the Routes of the fleet's listeners, and no others", () =>
  withFleets(async (publisher, { shared, a, b }) => {
    await publishToAll(publisher);
    assert.deepEqual(
      [shared, a, b].map((node) => node.paths()),
      [["/own", "/shared"], ["/a"], ["/b"]],
    );
  }));

test("a change of one fleet is pushed to its nodes only, and acknowledged for all", () =>
  withFleets(async (publisher, { shared, a, b }) => {
    await publishToAll(publisher);
    const pushes = [shared.pushes, b.pushes];
    const revision = publisher.publish(after);
    await waitFor(() => publisher.acknowledgement(revision, ["gateway-a"]).programmed, { what: "the change" });
    assert.deepEqual(a.paths(), ["/a", "/a/new"]);
    assert.deepEqual([shared.pushes, b.pushes], pushes);
    assert.equal(publisher.acknowledgedRevision(), revision);
    assert.deepEqual(publisher.acknowledgement(revision).acknowledged, ["shared", "a", "b"]);
  }));

test("a node that fails delays its own fleet, and no other", () =>
  withFleets(async (publisher, { a }) => {
    await publishToAll(publisher);
    a.isStuck = true;
    const revision = publisher.publish(after);
    assert.equal(publisher.acknowledgement(revision, ["gateway-a"]).programmed, false);
    assert.equal(publisher.acknowledgement(revision, ["gateway-b"]).programmed, true);
    assert.equal(publisher.acknowledgement(revision, [SHARED_FLEET]).programmed, true);
  }));

test("a fleet without a node is not programmed, and other resources do not wait for it", () =>
  withFleets(async (publisher) => {
    const revision = publisher.publish(before);
    await waitFor(() => publisher.acknowledgement(revision).programmed, { what: "the shared fleet" });
    assert.equal(publisher.acknowledgement(revision, ["gateway-a"]).programmed, false);
    assert.equal(publisher.acknowledgement(revision, [SHARED_FLEET, "gateway-a"]).programmed, false);
    assert.equal(publisher.acknowledgedRevision(), revision);
  }));

test("an address that another fleet names is served as a node of that fleet", () =>
  withFleets(async (publisher, { a }) => {
    await publishToAll(publisher);
    publisher.setNodes(["b", "a"], "gateway-b");
    await waitFor(() => a.paths().join() === "/b", { what: "the document of the other fleet" });
    publisher.setNodes([], "gateway-a");
    assert.deepEqual(
      publisher.nodes().map(({ address, fleet }) => `${address} ${fleet}`),
      ["shared shared", "b gateway-b", "a gateway-b"],
    );
  }));

test("the nodes of a fleet without listeners are forgotten", () =>
  withFleets(async (publisher) => {
    await publishToAll(publisher);
    publisher.publish(snapshotOf(listeners.slice(1), { "/own": null }));
    assert.deepEqual([...publisher.fleets()], [SHARED_FLEET, "gateway-b"]);
    assert.deepEqual(
      publisher.nodes().map(({ address }) => address),
      ["shared", "b"],
    );
  }));
