import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Condition, Ref, Resource } from "@sluice/crds";
import type { Snapshot } from "@sluice/model";
import type { Publisher } from "../publish/publisher.ts";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import { createTranslator } from "../translate/translator.ts";
import { createBatches } from "./batches.ts";
import { emptyBuild } from "./build-snapshot.ts";
import { createReconciler, type ReconcilerOptions } from "./reconciler.ts";

/** A reconciler over a world of the test's; what is translated to carry on, or null for the whole, is written down. */
function scene(t: TestContext) {
  const made = testClusterState();
  const translator = createTranslator({ homeNamespace: "default", class: "sluice" });
  const translated: (readonly string[] | null)[] = [];
  const published: Snapshot[] = [];
  const nodes = { acknowledged: 0 };
  const said: { readonly name: string; readonly programmed: string | undefined; readonly generation?: number }[] = [];
  let done = Promise.withResolvers<void>();
  const reconciler = createReconciler({
    cache: { resources: made.clusterState } as ReconcilerOptions["cache"],
    batches: createBatches({ class: "sluice" }),
    translator: {
      translateIncremental(clusterState, changed) {
        const translation = translator.translateIncremental(clusterState, changed);
        if (translation) translated.push([...changed]);
        return translation;
      },
      translateAll(clusterState) {
        translated.push(null);
        return translator.translateAll(clusterState);
      },
    },
    empty: emptyBuild,
    publisher: {
      revision: () => published.length,
      publish(snapshot: Snapshot) {
        if (snapshot.hash !== published.at(-1)?.hash) published.push(snapshot);
        return published.length;
      },
      acknowledgedRevision: () => nodes.acknowledged,
      acknowledgement: () => ({ programmed: false, acknowledged: [], lagging: [], silent: [] }),
    } as unknown as Publisher,
    writer: {
      ensure({ name }: Ref, _: Resource, [, , condition]: readonly Condition[]) {
        said.push({ name, programmed: condition?.status, generation: condition?.observedGeneration });
        return false;
      },
      pendingCount: () => 0,
    } as unknown as ReconcilerOptions["writer"],
    events: { record() {} } as unknown as ReconcilerOptions["events"],
    unsynced: () => [],
    leads: () => true,
    log: {
      info() {},
      warn() {},
      debug() {},
      error: (details: object) => t.diagnostic(JSON.stringify(details)),
    } as never,
    onReconcile: () => done.resolve(),
    work: { added() {}, started() {}, ended() {} } as unknown as ReconcilerOptions["work"],
    onProgress() {},
  });
  t.after(reconciler.close);
  return {
    ...made,
    reconciler,
    translated,
    nodes,
    said,
    /** Hosts of the Services in the document of a revision. */
    hosts: (revision = published.length) =>
      [...(published[revision - 1]?.services.values() ?? [])].map(({ host }) => host),
    /** Has changes translated and published. The function, if given, is called after each turn of the event loop until then. */
    async settled(during = () => {}) {
      done = Promise.withResolvers();
      reconciler.schedule();
      let isDone = false;
      void done.promise.then(() => {
        isDone = true;
      });
      while (!isDone) {
        await turn();
        if (!isDone) during();
      }
    },
  };
}

test("status writes cause no work for the next change, however many they are", async (t) => {
  const { put, reconciler, translated, settled, hosts } = scene(t);
  const names = Array.from({ length: 2000 }, (_, at) => `s${at}`);
  for (const name of names) put("Service", name, { spec: { url: `http://${name}.test` } });
  await settled();
  for (const name of names) reconciler.markDirty("Service", `default/${name}`, false);
  put("Service", "s7", { spec: { url: "http://changed.test" } });
  reconciler.markDirty("Service", "default/s7", true);
  await settled();
  assert.deepEqual(translated, [null, ["Service/default/s7"]]);
  assert.ok(hosts().includes("changed.test"));
});

test("a change during the preparation of a document is programmed with the next document", async (t) => {
  const { put, reconciler, settled, hosts, nodes, said } = scene(t);
  const services = (letter: string, count: number) => {
    for (let at = 0; at < count; at++) {
      put("Service", `s${at}`, { spec: { url: `http://${letter}${at}.test` } });
      reconciler.markDirty("Service", `default/s${at}`, true);
    }
  };
  services("a", 4000);
  await settled();
  // So many that they take several turns.
  services("b", 950);
  let turns = 0;
  await settled(() => {
    if (++turns !== 2) return;
    put("Service", "s7", { spec: { url: "http://late.test" } });
    reconciler.markDirty("Service", "default/s7", true);
    reconciler.schedule();
  });
  assert.ok(turns >= 2, `it took ${turns} turns`);
  await settled();
  assert.deepEqual([hosts(2).includes("late.test"), hosts(3).includes("late.test")], [false, true]);
  const lookWith = async (acknowledged: number) => {
    said.length = 0;
    nodes.acknowledged = acknowledged;
    for (let look = 0; look < 30; look++) {
      reconciler.syncStatuses();
      await turn();
    }
    return said.filter(({ name, generation }) => name === "s7" && generation === 3).map(({ programmed }) => programmed);
  };
  assert.deepEqual((await lookWith(2)).includes("True"), false);
  assert.deepEqual((await lookWith(3)).includes("True"), true);
});
