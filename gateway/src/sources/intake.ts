/**
 * Applies updates to a node: the next snapshot is validated, compiled and swapped in, or rejected with all violations.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type Checked,
  emptySnapshot,
  type FailedListener,
  type NodeReport,
  type PeerReport,
  pluginSetHash,
  type Snapshot,
} from "@sluice/model/serving";
import type { SnapshotSink } from "./source.ts";

export interface IntakeOptions {
  readonly node: string;
  readonly version: string;
  /** Port of the status listener; read for every report of the state. */
  readonly statusPort?: () => number;
  /** Names of plugins that the served snapshot uses and the node does not have. Default: none. */
  readonly missingPlugins?: () => readonly string[];
  /** The listeners of the served snapshot that the node does not serve. Default: none. */
  readonly failedListeners?: () => readonly FailedListener[];
  /** How the node takes part in its fleet. Default: it does not. */
  readonly peer?: () => PeerReport;
  /** Resolves when every worker serves the snapshot. On failure the previous snapshot stays active. */
  readonly serve: (snapshot: Snapshot) => void | Promise<void>;
  /** Called with the new state after every applied update. */
  readonly onUpdate?: (state: NodeReport) => void;
}

export interface Intake extends SnapshotSink {
  /**
   * Runs a function between updates, with the served snapshot. The function may change which plugins are registered. It
   * resolves to the snapshot that the workers serve by then.
   */
  runBetweenUpdates(run: (served: Snapshot) => Promise<Snapshot>): Promise<void>;
}

export function createIntake(options: IntakeOptions): Intake {
  const {
    node,
    version,
    statusPort,
    peer,
    missingPlugins = () => [],
    failedListeners = () => [],
    serve,
    onUpdate,
  } = options;
  let pluginSet = pluginSetHash();
  /** Null before the first document; a delivered empty document is not null. */
  let snapshot: Snapshot | null = null;
  let revision = 0;
  /** The end of the latest update: the next update waits until then, and starts from the resulting snapshot. */
  let turn: Promise<unknown> = Promise.resolve();

  function state(): NodeReport {
    const missing = missingPlugins();
    const failed = failedListeners();
    return {
      node,
      hash: snapshot?.hash ?? null,
      revision,
      version,
      pluginSet,
      ...(missing.length > 0 && { missingPlugins: missing }),
      ...(failed.length > 0 && { failedListeners: failed }),
      ...(statusPort && { statusPort: statusPort() }),
      ...(peer && { peer: peer() }),
    };
  }

  /** Every step runs in its own turn of the event loop, so that a node of one worker serves requests in between. */
  async function applyUpdate(newRevision: number, next: (previous: Snapshot) => Checked<Snapshot>) {
    await nextTurn();
    const checked = next(snapshot ?? emptySnapshot);
    if (checked.violations) return { violations: checked.violations };
    if (checked.value !== snapshot) {
      await nextTurn();
      await serve(checked.value);
    }
    snapshot = checked.value;
    revision = newRevision;
    onUpdate?.(state());
    const taken = state();
    await nextTurn();
    return { value: taken };
  }

  return {
    state,
    update(newRevision, next) {
      const taken = turn.then(() => applyUpdate(newRevision, next));
      turn = taken.catch(() => undefined);
      return taken;
    },
    runBetweenUpdates(run) {
      const ran = turn.then(async () => {
        const next = await run(snapshot ?? emptySnapshot);
        if (snapshot !== null) snapshot = next;
        pluginSet = pluginSetHash();
      });
      turn = ran.catch(() => undefined);
      return ran;
    },
  };
}
