/** Whether this operator leads. It exists before the election starts, so that other parts can refer to it. */
import { createEmitter, type Output } from "../emitter.ts";
import type { LeaderElection, LeaderElectionHooks, StartLeaderElection } from "./leader-election.ts";

export interface Leadership {
  /** The term in which this operator leads; null before the election has started, and while another leads. */
  term(): number | null;
  /** The identity of the leader, if known. */
  leader(): string | null;
  /** The new result of `term()` after each change. */
  readonly terms: Output<number | null>;
  /** Reports the term of a node that rejects this operator. */
  observeTerm(term: number): void;
  /** Called once the listener has started: a process that fails to start must not lead. */
  start(election: StartLeaderElection, hooks: Omit<LeaderElectionHooks, "onTerm">): void;
  /** Gives up leadership at once. */
  close(): Promise<void>;
}

/** @param signal When it aborts, changes of leadership are no longer reported. */
export function createLeadership(signal: AbortSignal): Leadership {
  const terms = createEmitter<number | null>();
  let election: LeaderElection | undefined;
  return {
    term: () => election?.term() ?? null,
    leader: () => election?.leader() ?? null,
    terms,
    observeTerm: (term) => election?.observeTerm(term),
    start(startElection, hooks) {
      election = startElection({
        ...hooks,
        onTerm(term) {
          if (!signal.aborted) terms.emit(term);
        },
      });
    },
    close: async () => election?.close(),
  };
}
