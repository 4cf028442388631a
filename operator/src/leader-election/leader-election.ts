/** Leader election: nodes accept documents only from the leader, and only the leader writes statuses. */
import { createEmitter } from "../emitter.ts";

export interface LeaderElection {
  /** The term in which this process leads, from 1; null while it does not lead. */
  term(): number | null;
  /** The identity of the leader (in a cluster, by default its host name and a UUID); null: no leader is known. */
  leader(): string | null;
  /** Reports the term of a node that rejects this operator: the next term is higher than that. */
  observeTerm(term: number): void;
  /** Gives up leadership. Resolves once the Lease has been released, or cannot be released in time. */
  close(): Promise<void>;
}

export interface LeaderElectionHooks {
  /** The highest term in the saved state. Called before each attempt to lead. */
  readonly highestKnownTerm: () => Promise<number>;
  /** Called whenever the result of `term()` has changed. */
  readonly onTerm: (term: number | null) => void;
  /** Called when the API server answers again after a call without a response. Watches may have been cut off too. */
  readonly onReconnected?: () => void;
}

export type StartLeaderElection = (hooks: LeaderElectionHooks) => LeaderElection;

/** For a directory of resources, on which a single operator works: it leads as soon as it knows its term. */
export const soleLeader: StartLeaderElection = ({ highestKnownTerm: floor, onTerm }) => {
  let term: number | null = null;
  let closed = false;

  function set(next: number): void {
    if (closed) return;
    term = next;
    onTerm(next);
  }

  floor().then(
    (known) => set(known + 1),
    () => set(1),
  );
  return {
    term: () => term,
    leader: () => (term === null ? null : "alone"),
    observeTerm: (other) => set(Math.max(other, term ?? 0) + 1),
    async close() {
      closed = true;
      term = null;
    },
  };
};

/**
 * The leadership of this operator. The object exists before the election starts, so that other parts can refer to it.
 *
 * @param signal When it aborts, changes of leadership are no longer reported.
 */
export function createLeadership(signal: AbortSignal) {
  const terms = createEmitter<number | null>();
  let election: LeaderElection | undefined;
  return {
    /** The term in which this operator leads; null before the election has started, and while it does not lead. */
    term: () => election?.term() ?? null,
    leader: () => election?.leader() ?? null,
    /** The new result of `term()` after each change. */
    terms,
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
    /** Gives up leadership, if the election has started. */
    close: async () => election?.close(),
  };
}

export type Leadership = ReturnType<typeof createLeadership>;
