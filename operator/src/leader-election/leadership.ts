/** Whether this operator leads. It exists before the election starts, so that other parts can refer to it. */
import { createEmitter } from "../emitter.ts";
import type { LeaderElection, LeaderElectionHooks, StartLeaderElection } from "./leader-election.ts";

/** @param signal When it aborts, changes of leadership are no longer reported. */
export function createLeadership(signal: AbortSignal) {
  const terms = createEmitter<number | null>();
  let election: LeaderElection | undefined;
  return {
    /** The term in which this operator leads; null before the election has started, and while another leads. */
    term: () => election?.term() ?? null,
    /** The identity of the leader, if known. */
    leader: () => election?.leader() ?? null,
    /** The new result of `term()` after each change. */
    terms,
    /** Reports the term of a node that rejects this operator. */
    observeTerm: (term: number) => election?.observeTerm(term),
    /** Called once the listener has started: a process that fails to start must not lead. */
    start(startElection: StartLeaderElection, hooks: Omit<LeaderElectionHooks, "onTerm">) {
      election = startElection({
        ...hooks,
        onTerm(term) {
          if (!signal.aborted) terms.emit(term);
        },
      });
    },
    /** Gives up leadership at once. */
    close: async () => election?.close(),
  };
}

export type Leadership = ReturnType<typeof createLeadership>;
