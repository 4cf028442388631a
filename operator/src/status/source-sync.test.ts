import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createEmitter } from "../emitter.ts";
import type { PublishedDocument } from "../publish/publish-stage.ts";
import type { Publisher } from "../publish/publisher.ts";
import { createSourceSync } from "./source-sync.ts";

/**
 * A leading operator with one node, and one node of the fleet `own`, to which the sources whose key begins with `own`
 * belong. `served` and `servedByOwn` are the revisions that the nodes have acknowledged.
 */
function syncScene(t: { after(end: () => void): void }) {
  const progress = createEmitter<PublishedDocument | null>();
  const state = { isUpToDate: true, revision: 1, served: 0, servedByOwn: 0, lookups: 0 };
  const called: string[] = [];
  const publisher = {
    revision: () => state.revision,
    acknowledgement(revision: number, fleets?: readonly string[]) {
      state.lookups++;
      return { programmed: (fleets ? state.servedByOwn : state.served) >= revision };
    },
  } as Publisher;
  const sync = createSourceSync({
    translate: { isUpToDate: () => state.isUpToDate },
    publish: { progress, publisher },
    gate: { term: () => 1, terms: createEmitter<number | null>() },
    all: () => [],
    onTranslated: (key) => called.push(`translated ${key}`),
    onProgrammed: (key) => called.push(`programmed ${key}`),
    fleetsOf: (key) => (key.startsWith("own") ? ["own"] : undefined),
  });
  t.after(sync.close);
  return {
    /** How often an acknowledgement was looked up. */
    lookups: () => state.lookups,
    /** The calls since the last change of the state. */
    called,
    /** Marks the source, and syncs. */
    mark(key: string): void {
      sync.mark([key]);
      sync.sync();
    },
    /** Changes the state, and returns the calls of a sync after it. */
    after(change: Partial<typeof state>): readonly string[] {
      Object.assign(state, change);
      called.length = 0;
      progress.emit(null);
      return [...called];
    },
  };
}

test("a source is translated once a document has all changes, and programmed once nodes serve this document", (t) => {
  const { mark, after } = syncScene(t);
  after({ isUpToDate: false });
  mark("one");
  assert.deepEqual(after({}), []);
  assert.deepEqual(after({ isUpToDate: true, revision: 2 }), ["translated one"]);
  assert.deepEqual(after({ served: 1 }), []);
  assert.deepEqual(after({ served: 2 }), ["programmed one"]);
  assert.deepEqual(after({ served: 3 }), []);
});

test("a source that changes again is not programmed by the revision before the change, and other sources are", (t) => {
  const { mark, after } = syncScene(t);
  mark("one");
  mark("two");
  after({ isUpToDate: false });
  mark("one");
  assert.deepEqual(after({ served: 1 }), ["programmed two"]);
  assert.deepEqual(after({ isUpToDate: true, revision: 2 }), ["translated one"]);
  assert.deepEqual(after({ served: 2 }), ["programmed one"]);
});

test("many sources wait together for the nodes of their fleet", (t) => {
  const { mark, after, lookups } = syncScene(t);
  after({ isUpToDate: false });
  for (let at = 0; at < 40; at++) for (const name of ["one", "own"]) mark(`${name} ${at}`);
  after({ isUpToDate: true, revision: 2 });
  const before = lookups();
  const programmed = after({ servedByOwn: 2 });
  assert.equal(programmed.length, 40);
  assert.ok(programmed.every((call) => call.startsWith("programmed own")));
  assert.equal(lookups() - before, 2);
  assert.equal(after({ served: 2 }).length, 40);
});

test("the calls for very many sources take several turns of the event loop, and none is lost", async (t) => {
  const { mark, after, called } = syncScene(t);
  after({ isUpToDate: false });
  for (let at = 0; at < 250; at++) mark(`source ${at}`);
  const first = after({ isUpToDate: true, revision: 2, served: 2 });
  assert.ok(first.length < 250, `${first.length} calls in the first turn`);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  assert.equal(new Set(called).size, 500);
});

for (const [end, run] of [
  ["the nodes serve the document", ({ after }) => void after({ served: 2 })],
  ["a second has passed", () => mock.timers.tick(1000)],
] satisfies readonly [string, (scene: ReturnType<typeof syncScene>) => void][])
  test(`the calls for very many sources begin when ${end}`, (t) => {
    mock.timers.enable({ apis: ["setTimeout"] });
    t.after(() => mock.timers.reset());
    const scene = syncScene(t);
    const { mark, after, called } = scene;
    after({ isUpToDate: false });
    for (let at = 0; at < 150; at++) mark(`source ${at}`);
    assert.deepEqual(after({ isUpToDate: true, revision: 2 }), []);
    run(scene);
    assert.ok(called.includes("translated source 0"));
  });

test("a source that changes again before its call is called after the document with the change", (t) => {
  const { mark, after } = syncScene(t);
  after({ isUpToDate: false });
  for (let at = 0; at < 150; at++) mark(`source ${at}`);
  const first = after({ isUpToDate: true, revision: 2, served: 2 });
  assert.ok(!first.includes("translated source 149"));
  after({ isUpToDate: false });
  mark("source 149");
  for (let turn = 0; turn < 3; turn++) assert.ok(!after({}).includes("translated source 149"));
  assert.ok(after({ isUpToDate: true, revision: 3 }).includes("translated source 149"));
});
