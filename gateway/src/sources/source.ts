/** Where a node's documents come from. Implementations: push, file; one suite runs for both (test/conformance/source). */
import type { Change, Checked, Document, NodeState } from "@sluice/model";

/** Where a source delivers: checks, compiles and swaps in one synchronous step. A bad document changes nothing. */
export interface Intake {
  state(): NodeState;
  /** Takes a whole document in place of what is served. */
  replace(document: Document, revision: number): Checked<NodeState>;
  /** Takes a change to what is served; "stale" when the node serves another hash than `base`. */
  change(base: string, change: Change, revision: number): Checked<NodeState> | "stale";
}

export interface Source {
  /** Begins to deliver. Rejects when it can never work (a port in use, a file that is broken from the beginning). */
  start(intake: Intake): Promise<void>;
  /** Why there is no newer document than the one that is served; null when all is well. Shown in /status. */
  trouble(): string | null;
  stop(): Promise<void>;
}
