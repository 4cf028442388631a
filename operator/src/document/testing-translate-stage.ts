/** A translate stage over a cluster state that the test controls. */
import type { TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { classOf, type Resource } from "@sluice/crds";
import { createEmitter } from "../emitter.ts";
import { createLastValidVersions } from "../saved-state/last-valid-versions.ts";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import type { ClusterChange } from "../watch/watch-stage.ts";
import type { PendingChallenges } from "./challenges.ts";
import { createTranslateStage } from "./translate-stage.ts";

export function testTranslateStage(t: TestContext) {
  const made = testClusterState();
  const changes = createEmitter<ClusterChange>();
  const orderChanges = createEmitter<void>();
  /** The challenges of orders, by the id of the certificate. */
  let challenges: PendingChallenges = new Map();
  const restored = createEmitter<ReadonlyMap<string, Resource> | null>();
  const state = { unsynced: [] as readonly string[], isRead: true };
  /** The calls to the publish gate. */
  const calls: string[] = [];
  let fails = false;
  /** The number of translations that are scheduled or in progress. */
  let pending = 0;
  const document = { added: () => pending++, started() {}, ended: () => pending--, retried() {} };
  const classes = { classOf, servedClasses: () => ["sluice"], firstClusterWideClass: () => "sluice" };
  const clusterState = made.clusterState;
  const translate = createTranslateStage({
    watch: {
      clusterState,
      classes: {
        ...classes,
        classOf(resource) {
          if (fails) {
            fails = false;
            throw new Error("a bug in the translation");
          }
          return classOf(resource);
        },
      },
      changes,
      unsynced: () => state.unsynced,
    },
    savedState: { isRead: () => state.isRead, restored },
    gate: {
      stateRestored: (isNews) => void calls.push(`stateRestored ${isNews}`),
      translationStarted: () => void calls.push("translationStarted"),
      translationPublished: () => void calls.push("translationPublished"),
      translationFailed: () => void calls.push("translationFailed"),
    },
    lastValid: createLastValidVersions(),
    orders: { challenges: () => challenges, changes: orderChanges },
    settings: { class: "sluice", homeNamespace: "default" },
    metrics: { work: { document, status: document } },
    log: { info() {}, warn() {}, debug() {}, error() {} } as never,
  });
  t.after(translate.close);
  return {
    ...made,
    translate,
    changes,
    classes,
    state,
    calls,
    restore: restored.emit,
    /** Reports that one list or event changed these Services (`namespace/name`). */
    changed(keys: readonly string[], { isMeaningful = true } = {}) {
      const resources = keys.map((key) => ({ kind: "Service" as const, key, isMeaningful }));
      changes.emit({ resources, versions: [], isMeaningful, classesChanged: false });
    },
    setChallenges(next: PendingChallenges) {
      challenges = next;
      orderChanges.emit();
    },
    failOnce() {
      fails = true;
    },
    /** Waits until no translation is scheduled or in progress; calls the function after each turn of the event loop. */
    async settled(during = () => {}) {
      while (pending > 0) {
        await turn();
        if (pending > 0) during();
      }
    },
  };
}
