/** The one way into a node: a document or a change is checked, compiled and swapped in, or refused with every fault. */
import {
  applyChange,
  applyDocument,
  type Change,
  type Checked,
  type Document,
  emptySnapshot,
  type NodeState,
  type Snapshot,
} from "@sluice/model";
import type { Intake } from "../sources/source.ts";

export interface IntakeOptions {
  readonly node: string;
  readonly version: string;
  /** Compiles the snapshot and serves it from now on; keeps what the previous one had and did not change. */
  readonly serve: (snapshot: Snapshot) => void;
}

export function createIntake({ node, version, serve }: IntakeOptions): Intake {
  let snapshot: Snapshot | null = null;
  let revision = 0;

  const state = (): NodeState => ({ node, hash: snapshot?.hash ?? null, revision, version });

  function take(checked: Checked<Snapshot>, newRevision: number): Checked<NodeState> {
    if (checked.violations) return { violations: checked.violations };
    if (checked.value !== snapshot) serve(checked.value);
    snapshot = checked.value;
    revision = newRevision;
    return { value: state() };
  }

  return {
    state,
    replace(document: Document, newRevision: number) {
      return take(applyDocument(snapshot ?? emptySnapshot, document), newRevision);
    },
    change(base: string, change: Change, newRevision: number) {
      if (snapshot?.hash !== base) return "stale";
      return take(applyChange(snapshot, change), newRevision);
    },
  };
}
