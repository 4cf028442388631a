/** The one way into a node: the next snapshot is made, compiled and swapped in, or refused with every fault. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Checked, emptySnapshot, type NodeState, type Snapshot } from "@sluice/model/serving";
import type { SnapshotSink } from "../sources/source.ts";

export interface IntakeOptions {
  readonly node: string;
  readonly version: string;
  /** Port of the status listener; asked whenever the state is told. */
  readonly statusPort?: () => number;
  /** Serves the snapshot from now on, everywhere once it resolves. When it fails, what was served goes on. */
  readonly serve: (snapshot: Snapshot) => void | Promise<void>;
  /** Told what is served after every update that was taken. */
  readonly onUpdate?: (state: NodeState) => void;
}

export function createIntake({ node, version, statusPort, serve, onUpdate }: IntakeOptions): SnapshotSink {
  /** Null before the first document: an empty one that was delivered is something else than none. */
  let snapshot: Snapshot | null = null;
  let revision = 0;
  /** One update after the other, so that each begins with what the one before has left. */
  let turn: Promise<unknown> = Promise.resolve();

  const state = (): NodeState => ({
    node,
    hash: snapshot?.hash ?? null,
    revision,
    version,
    ...(statusPort && { statusPort: statusPort() }),
  });

  /** Every step in a turn of its own: on a node of one worker requests are served between them. */
  async function take(newRevision: number, next: (previous: Snapshot) => Checked<Snapshot>) {
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
      const taken = turn.then(() => take(newRevision, next));
      turn = taken.catch(() => undefined);
      return taken;
    },
  };
}
