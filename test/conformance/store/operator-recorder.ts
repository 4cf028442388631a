/** Records revisions of custom resources as the operator does. */
import assert from "node:assert/strict";
import type { ResourceClient, RevisionStorage } from "@sluice/crds";
import { readSettings, resourceKinds } from "@sluice/model";
import { pino } from "pino";
import { createEmitter } from "../../../operator/src/emitter.ts";
import { createRevisionAuthors } from "../../../operator/src/revisions/authors.ts";
import { createRevisionRecorder } from "../../../operator/src/revisions/revision-recorder.ts";
import { operatorSettings } from "../../../operator/src/settings.ts";
import { createWatchStage } from "../../../operator/src/watch/watch-stage.ts";
import { waitFor } from "../../../tools/process/index.ts";

/** The first call of `recorded` starts the watches, so it records only the first revision, which has no changes. */
export function createOperatorRecorder(client: ResourceClient, storage: RevisionStorage) {
  const closing = new AbortController();
  let started: ReturnType<typeof start> | undefined;

  function start() {
    const log = pino({ level: "silent" });
    const { value: settings } = readSettings(operatorSettings, {});
    assert.ok(settings);
    const watch = createWatchStage({ client, settings, signal: closing.signal, log });
    const leadership = { term: () => 1, terms: createEmitter<number | null>() };
    const { authorOf } = createRevisionAuthors();
    const metrics = { recordedRevision() {} };
    return {
      watch,
      recorder: createRevisionRecorder({ storage, watch, leadership, settings, authorOf, metrics, log }),
    };
  }

  return {
    /** Resolves when revisions contain all changes up to the call. */
    async recorded() {
      started ??= start();
      const { watch, recorder } = started;
      const lists = await Promise.all(resourceKinds.map(async (kind) => [kind, await client.list(kind)] as const));
      await waitFor(
        () =>
          watch.unsynced().length === 0 &&
          lists.every(([kind, list]) => {
            const seen = new Set(watch.clusterState[kind].values().map(({ metadata }) => metadata.resourceVersion));
            return seen.size === list.length && list.every(({ metadata }) => seen.has(metadata.resourceVersion));
          }),
        { what: "the watches to deliver all resources" },
      );
      await recorder.flush();
    },
    async close() {
      closing.abort();
      await (started ? started.recorder.close() : storage.close());
    },
  };
}
