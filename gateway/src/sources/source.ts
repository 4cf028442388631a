/** Where a node's documents come from. Implementations: push, file; one suite runs for both (test/conformance/source). */
import type { Address, Checked, NodeState, Snapshot } from "@sluice/model";

/** What an operator or a database tells may be of a newer version: a plugin that cannot be read closes its routes. */
export const READ_NEWER = { closePlugins: true } as const;

/** Where a source delivers. A bad document changes nothing. */
export interface SnapshotSink {
  state(): NodeState;
  /**
   * Makes the next snapshot from the one that is served, and resolves once every worker of the node serves it; or to
   * its faults. Updates are taken one after the other. Rejects when it cannot be served: what was served goes on.
   */
  update(revision: number, next: (previous: Snapshot) => Checked<Snapshot>): Promise<Checked<NodeState>>;
}

export interface Source {
  /** Begins to deliver. Rejects when it can never work (a port in use, a file that is broken from the beginning). */
  start(intake: SnapshotSink): Promise<void>;
  /** Why there is no newer document than the one that is served; null when all is well. Shown in /status. */
  trouble(): string | null;
  stop(): Promise<void>;
}

/** Where a source tells what people should know. A pino logger is one. */
export interface SourceLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** What a node tells of itself. Asked after it has begun to listen. */
export interface NodeStatusSource {
  readonly state: () => NodeState;
  /** Where its status listener is. */
  readonly status: () => Address;
}
