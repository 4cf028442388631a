import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Snapshot } from "@sluice/model";
import type { Publisher } from "../publish/publisher.ts";
import { testWorld } from "../translate/testing-world.ts";
import { createTranslator } from "../translate/translator.ts";
import { createBatches } from "./batches.ts";
import { nothing } from "./nothing.ts";
import { createReconciler, type ReconcilerOptions } from "./reconciler.ts";

/** A reconciler over a world of the test's; what is translated to carry on, or null for the whole, is written down. */
function scene(t: TestContext) {
  const made = testWorld();
  const translator = createTranslator({ homeNamespace: "default", class: "sluice" });
  const translated: (readonly string[] | null)[] = [];
  let published = nothing.snapshot;
  let done = Promise.withResolvers<void>();
  const reconciler = createReconciler({
    cache: { resources: made.world } as ReconcilerOptions["cache"],
    batches: createBatches({ class: "sluice" }),
    translator: {
      next(world, changed) {
        const translation = translator.next(world, changed);
        if (translation) translated.push([...changed]);
        return translation;
      },
      whole(world) {
        translated.push(null);
        return translator.whole(world);
      },
    },
    empty: nothing,
    publisher: {
      revision: () => 1,
      publish(snapshot: Snapshot) {
        published = snapshot;
        return 1;
      },
      acknowledgedRevision: () => 0,
      acknowledgement: () => ({ programmed: false, acknowledged: [], lagging: [], silent: [] }),
    } as unknown as Publisher,
    writer: { want: () => true, underWay: () => 0 } as unknown as ReconcilerOptions["writer"],
    teller: { tell() {} } as unknown as ReconcilerOptions["teller"],
    unread: () => [],
    leads: () => true,
    log: {
      info() {},
      warn() {},
      debug() {},
      error: (details: object) => t.diagnostic(JSON.stringify(details)),
    } as never,
    onReconcile: () => done.resolve(),
    work: { added() {}, began() {}, ended() {} } as unknown as ReconcilerOptions["work"],
    onProgress() {},
  });
  t.after(reconciler.close);
  return {
    ...made,
    reconciler,
    translated,
    hosts: () => [...published.services.values()].map(({ host }) => host),
    async settled() {
      done = Promise.withResolvers();
      reconciler.touch();
      await done.promise;
    },
  };
}

test("statuses that were written meanwhile are no work for the next change, however many they are", async (t) => {
  const { put, reconciler, translated, settled, hosts } = scene(t);
  const names = Array.from({ length: 2000 }, (_, at) => `s${at}`);
  for (const name of names) put("Service", name, { spec: { url: `http://${name}.test` } });
  await settled();
  for (const name of names) reconciler.note("Service", `default/${name}`, false);
  put("Service", "s7", { spec: { url: "http://changed.test" } });
  reconciler.note("Service", "default/s7", true);
  await settled();
  assert.deepEqual(translated, [null, ["Service/default/s7"]]);
  assert.ok(hosts().includes("changed.test"));
});
