/** The limits on concurrent full pushes: which nodes wait, and when they count as silent. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { applyChange, emptySnapshot, type NodeReport, type PushDocument } from "@sluice/model";
import type { ConnectNode } from "./node-client.ts";
import { SILENT_AFTER } from "./publisher.ts";
import { MAX_FULL_PUSHES, MAX_RETRY_PUSHES } from "./push-limiter.ts";
import { testPublisher } from "./testing-publisher.ts";

const snapshotOf = (name: string) => {
  const { value } = applyChange(emptySnapshot, { put: { services: [{ name, url: "http://x.test" }] }, remove: {} });
  assert.ok(value);
  return value;
};
const [one, two] = [snapshotOf("one"), snapshotOf("two")];

interface Put {
  readonly address: string;
  readonly revision: number;
  end(): void;
  fail(): void;
}

/** Nodes that answer polls immediately, and full pushes when the test allows it, on a clock that the test controls. */
async function scene(t: TestContext, count: number) {
  const gone = new Set<string>();
  /** Pushes under way. */
  const puts = new Set<Put>();
  const looks: string[] = [];
  const hashes = new Map<number, string>();
  const connect: ConnectNode = (address) => {
    let state: NodeReport = { node: address, hash: null, revision: 0, version: "0" };
    const take = ({ revision }: { readonly revision: number }) => {
      state = { ...state, revision, hash: hashes.get(revision) ?? null };
      return state;
    };
    return {
      async state() {
        looks.push(address);
        return gone.has(address) ? new Promise<never>(() => {}) : state;
      },
      put: (push: PushDocument) =>
        new Promise((resolve, reject) => {
          const put: Put = {
            address,
            revision: push.revision,
            end() {
              puts.delete(put);
              resolve(take(push));
            },
            fail() {
              puts.delete(put);
              reject(new Error("no answer"));
            },
          };
          puts.add(put);
        }),
      patch: async (push) => take(push),
    };
  };
  const { publisher, addresses, settle, pass } = await testPublisher(t, count, connect);
  return {
    addresses,
    publisher,
    puts,
    looks,
    gone,
    async publish(snapshot: typeof one) {
      const revision = publisher.publish(snapshot);
      hashes.set(revision, snapshot.hash);
      await settle();
      return revision;
    },
    async end(how: "end" | "fail", which: (put: Put) => boolean = () => true) {
      for (const put of [...puts].filter(which)) put[how]();
      await settle();
    },
    pass,
  };
}

test("with more nodes than concurrent full pushes, the revision is programmed when the last node has the document", async (t) => {
  const { publisher, puts, publish, end, pass } = await scene(t, 3 * MAX_FULL_PUSHES);
  const revision = await publish(one);
  for (let served = 0; served < 3 * MAX_FULL_PUSHES; served += MAX_FULL_PUSHES) {
    assert.equal(puts.size, MAX_FULL_PUSHES);
    await pass(SILENT_AFTER - 100);
    const { programmed, acknowledged, silent } = publisher.acknowledgement(revision);
    assert.deepEqual([programmed, acknowledged.length, silent], [false, served, []]);
    assert.equal(publisher.acknowledgedRevision(), 0);
    await end("end");
  }
  assert.ok(publisher.acknowledgement(revision).programmed);
  assert.equal(publisher.acknowledgedRevision(), revision);
});

test("a node that does not answer a full push is silent two seconds after the limiter admitted the push", async (t) => {
  const { addresses, publisher, puts, publish, end, pass } = await scene(t, MAX_FULL_PUSHES + 1);
  const revision = await publish(one);
  await pass(1500);
  await end("end");
  assert.deepEqual(
    [...puts].map(({ address }) => address),
    addresses.slice(-1),
  );
  await pass(SILENT_AFTER);
  assert.deepEqual(publisher.acknowledgement(revision).silent, []);
  assert.equal(publisher.acknowledgement(revision).programmed, false);
  await pass(100);
  assert.deepEqual(publisher.acknowledgement(revision).silent, addresses.slice(-1));
  assert.ok(publisher.acknowledgement(revision).programmed);
});

test("a node that has waited long is polled before the push: no document is sent to a dead node", async (t) => {
  const { addresses, publisher, puts, looks, gone, publish, end, pass } = await scene(t, MAX_FULL_PUSHES + 3);
  const revision = await publish(one);
  const [brief = "", dead = "", alive = ""] = addresses.slice(-3);
  gone.add(dead);
  const sent = () => [...puts].map(({ address }) => address);
  await pass(1900);
  looks.length = 0;
  await end("end", ({ address }) => address === addresses[0]);
  assert.equal(sent().at(-1), brief);
  assert.ok(!looks.includes(brief), "a node that has waited only briefly is not polled");
  await pass(200);
  await end("end");
  assert.deepEqual(sent(), [alive]);
  assert.deepEqual([looks.includes(dead), looks.includes(alive)], [true, true]);
  await pass(SILENT_AFTER + 100);
  await end("end");
  assert.deepEqual(publisher.acknowledgement(revision).silent, [dead]);
  assert.ok(publisher.acknowledgement(revision).programmed);
});

test("a node that the limiter admits late gets the document that is newest at that time", async (t) => {
  const { puts, publish, end } = await scene(t, MAX_FULL_PUSHES + 1);
  await publish(one);
  await publish(two);
  await end("end", ({ address }) => address === "http://node-0");
  const last = [...puts].at(-1);
  assert.deepEqual([last?.address, last?.revision], [`http://node-${MAX_FULL_PUSHES}`, 2]);
});

test("nodes whose pushes fail quickly wait in the regular queue, and do not count as silent", async (t) => {
  const { publisher, puts, publish, end, pass } = await scene(t, 2 * MAX_FULL_PUSHES);
  const revision = await publish(one);
  await end("fail");
  await end("fail");
  await pass(500);
  assert.equal(puts.size, MAX_FULL_PUSHES);
  await pass(SILENT_AFTER - 500);
  await end("end");
  const { programmed, lagging, silent } = publisher.acknowledgement(revision);
  assert.deepEqual([programmed, lagging.length, silent], [false, MAX_FULL_PUSHES, []]);
});

test("nodes that leave every document unanswered do not delay the other nodes, and count as silent", async (t) => {
  const hanging = 2 * MAX_FULL_PUSHES;
  const { addresses, publisher, puts, publish, end, pass } = await scene(t, hanging);
  const revision = await publish(one);
  await pass(20_000);
  await end("fail");
  await pass(20_000);
  await end("fail");
  await pass(6000);
  assert.equal(puts.size, MAX_RETRY_PUSHES);
  publisher.setNodes([...addresses, "http://new"]);
  await pass(100);
  assert.equal(puts.size, MAX_RETRY_PUSHES + 1);
  await end("end", ({ address }) => address === "http://new");
  assert.ok(publisher.acknowledgement(revision).programmed);
  assert.equal(publisher.acknowledgement(revision).silent.length, hanging);
});
