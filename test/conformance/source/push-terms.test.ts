/** Which operator a node accepts, and the document that it serves without an operator. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import type { NodeReport, PushRefused, PushView } from "@sluice/model";
import { createIntake } from "../../../gateway/src/sources/intake.ts";
import { createPushSource, type PushSourceOptions } from "../../../gateway/src/sources/push/push-source.ts";
import { createSnapshotJournal } from "../../../gateway/src/sources/push/snapshot-journal.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { documentWithRoutes } from "./suite.ts";

const token = "t0ken";
const folder = temporaryFolder("push-terms");
after(() => folder.remove());

interface Node {
  push(term: number, revision: number, names: readonly string[]): Promise<readonly [number, NodeReport & PushRefused]>;
  /** Sends a view; resolves to the status. */
  pushView(view: object): Promise<number>;
  state(): Promise<NodeReport>;
  readonly served: readonly string[][];
  failure(): string | null;
}

async function withNode(options: Partial<PushSourceOptions>, body: (node: Node) => Promise<void>): Promise<void> {
  const source = createPushSource({ listen: { host: "127.0.0.1", port: 0 }, token, ...options });
  const served: string[][] = [];
  await source.start(
    createIntake({
      node: "n",
      version: "1",
      serve: (snapshot) => void served.push([...snapshot.services.values()].map(({ name }) => name ?? "").sort()),
    }),
  );
  const base = `http://127.0.0.1:${source.address().port}`;
  const url = `${base}/document`;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  try {
    await body({
      served,
      failure: () => source.failure(),
      state: async () => (await (await fetch(url, { headers })).json()) as NodeReport,
      async pushView(view) {
        return (await fetch(`${base}/view`, { method: "PUT", headers, body: JSON.stringify(view) })).status;
      },
      async push(term, revision, names) {
        const response = await fetch(url, {
          method: "PUT",
          headers,
          body: JSON.stringify({ term, revision, document: documentWithRoutes(names) }),
        });
        return [response.status, (await response.json()) as NodeReport & PushRefused];
      },
    });
  } finally {
    await source.stop();
  }
}

test("an operator whose term is over changes nothing, and the response names its term and the newer one", () =>
  withNode({}, async ({ push, state, served }) => {
    await push(1, 8, ["old"]);
    const [status, { term, revision }] = await push(2, 1, ["new"]);
    assert.deepEqual([status, term, revision], [200, 2, 1]);
    const [late, { message }] = await push(1, 9, ["late"]);
    assert.equal(late, 412);
    assert.equal(message, "term 1 is over: this node has seen term 2");
    assert.deepEqual(served, [["old"], ["new"]]);
    assert.equal((await state()).revision, 1);
  }));

test("a node adopts the views of the operator that leads, and they change no document", async () => {
  const views: Pick<PushView, "epoch">[] = [];
  const peer = {
    address: { host: "127.0.0.1", port: 1 },
    publish: (view: Pick<PushView, "epoch">) => void views.push(view),
  };
  await withNode({ peer }, async ({ push, pushView, state, served }) => {
    await push(2, 8, ["one"]);
    const before = await state();
    const view = { term: 2, epoch: 5, members: [{ name: "n", host: "10.0.0.1", port: 8006 }], leaving: [] };
    assert.equal(await pushView(view), 200);
    assert.equal(await pushView({ ...view, term: 1, epoch: 6 }), 412);
    assert.equal(await pushView({ ...view, members: null }), 400);
    assert.deepEqual(views, [view]);
    assert.deepEqual(await state(), before);
    assert.deepEqual(served, [["one"]]);
  });
});

test("a push that was overtaken by a later push of the same operator has no effect", () =>
  withNode({}, async ({ push, served }) => {
    await push(1, 8, ["eight"]);
    const [status, { message }] = await push(1, 7, ["seven"]);
    assert.equal(status, 412);
    assert.equal(message, "revision 7 of term 1 is outdated: this node serves revision 8");
    assert.deepEqual(served, [["eight"]]);
  }));

test("of concurrent pushes of two operators, none with the lower term is served after one with the higher term", () =>
  withNode({}, async ({ push, served }) => {
    const pushes = Array.from({ length: 20 }, (_, index) =>
      push(index % 2 ? 2 : 1, index, [index % 2 ? `leader-${index}` : `former-${index}`]),
    );
    await Promise.all(pushes);
    const first = served.findIndex(([name]) => name?.startsWith("leader"));
    assert.ok(
      served.slice(first).every(([name]) => name?.startsWith("leader")),
      JSON.stringify(served),
    );
  }));

const file = () => join(folder.path, `document-${Math.random()}`);
const log = { info() {}, warn() {}, error() {} };

test("the last pushed document is served after a start without an operator, and a push of an earlier term is refused", async () => {
  const keptIn = file();
  const keep = () => createSnapshotJournal({ file: keptIn, log });
  await withNode({ journal: keep() }, async ({ push, failure }) => {
    await push(4, 2, ["kept"]);
    assert.equal(failure(), null);
  });
  await withNode({ journal: keep(), operatorTimeout: 1 }, async ({ served, failure, state, push }) => {
    await waitFor(() => served.length > 0, { what: "the saved document" });
    assert.deepEqual(served, [["kept"]]);
    assert.match(failure() ?? "", /no operator has pushed since the start/);
    const { term, revision } = await state();
    assert.deepEqual([term, revision], [4, 2]);
    assert.equal((await push(3, 9, ["late"]))[0], 412);
    assert.equal((await push(4, 3, ["next"]))[0], 200);
    assert.equal(failure(), null);
    assert.deepEqual(served, [["kept"], ["next"]]);
  });
});

test("the saved document is not served before the operator timeout, nor after a push", async () => {
  const keptIn = file();
  const keep = () => createSnapshotJournal({ file: keptIn, log });
  await withNode({ journal: keep() }, async ({ push }) => void (await push(1, 1, ["kept"])));
  await withNode({ journal: keep(), operatorTimeout: 60_000 }, async ({ push, state, served }) => {
    assert.equal((await state()).hash, null);
    await push(1, 2, ["pushed"]);
    assert.deepEqual(served, [["pushed"]]);
  });
});
