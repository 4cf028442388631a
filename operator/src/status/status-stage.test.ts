import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Condition, Ref } from "@sluice/crds";
import { testTranslateStage } from "../document/testing-translate-stage.ts";
import type { TranslatedDocument } from "../document/translate-stage.ts";
import { createEmitter } from "../emitter.ts";
import { createOperatorMetrics } from "../metrics.ts";
import type { PublishedDocument } from "../publish/publish-stage.ts";
import { createStatusStage } from "./status-stage.ts";

interface WrittenStatus {
  readonly name: string;
  readonly programmed: string | undefined;
  readonly generation: number | undefined;
}

/** A status stage behind a real translate stage. Every new document gets the next revision. */
function scene(t: TestContext) {
  const made = testTranslateStage(t);
  const { translate, clusterState, classes, changes } = made;
  const progress = createEmitter<PublishedDocument | null>();
  const terms = createEmitter<number | null>();
  const documents: TranslatedDocument[] = [];
  const state = { acknowledged: 0, term: 1 as number | null };
  const written: WrittenStatus[] = [];
  const recorded: string[] = [];
  translate.documents.subscribe((document) => {
    if (document.built.snapshot.hash !== documents.at(-1)?.built.snapshot.hash) documents.push(document);
    progress.emit({ document, revision: documents.length });
  });
  const status = createStatusStage({
    watch: { clusterState, classes, changes },
    translate,
    publish: {
      progress,
      publisher: {
        revision: () => documents.length,
        hash: () => documents.at(-1)?.built.snapshot.hash ?? null,
        acknowledgedRevision: () => state.acknowledged,
        missingPlugins: () => new Map(),
        failedListeners: () => new Map(),
        acknowledgement: (revision) => ({
          programmed: state.acknowledged >= revision,
          acknowledged: [],
          lagging: [],
          silent: [],
        }),
        nodes: () => [],
      },
    },
    leadership: { term: () => state.term, terms },
    gate: { term: () => state.term, terms },
    client: {
      async setConditions({ name }: Ref, conditions: readonly Condition[]) {
        const [, , programmed] = conditions;
        written.push({ name, programmed: programmed?.status, generation: programmed?.observedGeneration });
      },
    } as never,
    manager: "test",
    events: { record: ({ name }, { reason }) => void recorded.push(`${name} ${reason}`), close() {} },
    settings: { class: "sluice", namespaces: [], namespaceSelector: null },
    metrics: createOperatorMetrics(),
    log: { info() {}, warn() {}, debug() {}, error() {} } as never,
  });
  t.after(status.close);
  return {
    ...made,
    status,
    written,
    recorded,
    lead(term: number | null) {
      state.term = term;
      terms.emit(term);
    },
    hosts: (revision: number) =>
      [...(documents[revision - 1]?.built.snapshot.services.values() ?? [])].map(({ host }) => host),
    /** Lets the nodes acknowledge this revision, and gives the stage 30 turns of the event loop to write statuses. */
    async acknowledge(revision: number) {
      state.acknowledged = revision;
      progress.emit(null);
      for (let round = 0; round < 30; round++) await turn();
    },
  };
}
const service = (host: string) => ({ spec: { url: `http://${host}` } });

test("a change during the preparation of a document is programmed with the next document", async (t) => {
  const { put, changed, settled, hosts, acknowledge, written } = scene(t);
  const services = (letter: string, count: number) => {
    const names = Array.from({ length: count }, (_, at) => `s${at}`);
    for (const [at, name] of names.entries()) put("Service", name, service(`${letter}${at}.test`));
    changed(names.map((name) => `default/${name}`));
  };
  services("a", 4000);
  await settled();
  // The translation of so many Services takes several turns of the event loop.
  services("b", 950);
  let turns = 0;
  await settled(() => {
    if (++turns !== 2) return;
    put("Service", "s7", service("late.test"));
    changed(["default/s7"]);
  });
  assert.ok(turns >= 2, `the translation took ${turns} turns`);
  assert.deepEqual([hosts(2).includes("late.test"), hosts(3).includes("late.test")], [false, true]);
  const programmedWith = async (acknowledged: number) => {
    written.length = 0;
    await acknowledge(acknowledged);
    return written
      .filter(({ name, generation }) => name === "s7" && generation === 3)
      .map(({ programmed }) => programmed);
  };
  assert.deepEqual((await programmedWith(2)).includes("True"), false);
  assert.deepEqual((await programmedWith(3)).includes("True"), true);
});

test("statuses and Events are written only while this operator leads; missed ones are written when it starts to lead", async (t) => {
  const { put, changed, settled, acknowledge, written, recorded, lead, status } = scene(t);
  lead(null);
  put("Service", "good", service("a.test"));
  put("Service", "bad", { spec: { url: "no URL" } });
  changed([]);
  await settled();
  await acknowledge(1);
  assert.deepEqual([written, recorded, status.gauges.problems()], [[], [], 1]);
  lead(1);
  await acknowledge(1);
  assert.deepEqual([...new Set(recorded)], ["bad Invalid"]);
  assert.deepEqual(written.map(({ name, programmed }) => `${name} ${programmed}`).sort(), ["bad False", "good True"]);
});

test("a wait ends when the nodes have acknowledged the write", async (t) => {
  const { put, changed, settled, acknowledge, status } = scene(t);
  const { metadata } = put("Service", "a", service("a.test"));
  changed([]);
  await settled();
  const { namespace, name, generation } = metadata;
  const waiting = status.waiters.wait({ resources: [{ kind: "Service", namespace, name, generation }] });
  assert.equal(status.waiters.size, 1);
  await acknowledge(1);
  assert.equal((await waiting).programmed, true);
});
