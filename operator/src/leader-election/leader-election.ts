/** Which operator leads: the one whose documents the nodes take, and who writes statuses. */
export interface LeaderElection {
  /** The number of the term in which this process leads, from 1; null while another does. */
  term(): number | null;
  /** Who leads, as far as is known: an identity of host name and UUID; null: nobody. */
  leader(): string | null;
  /** A node that has taken nothing of this term has seen a later one: the next term is higher than that. */
  observeTerm(term: number): void;
  /** Lets another lead, at once. */
  close(): Promise<void>;
}

export interface LeaderElectionHooks {
  /** The highest term that is known from what was kept. Asked before each attempt to lead. */
  readonly highestKnownTerm: () => Promise<number>;
  /** Told whenever `term()` has become another. */
  readonly onTerm: (term: number | null) => void;
  /** Told when what decides about the lead answers, after a call to which no answer came. Others may have been cut off from it as well. */
  readonly onReconnected?: () => void;
}

export type StartLeaderElection = (hooks: LeaderElectionHooks) => LeaderElection;

/** For a folder of resources, on which one operator works: it leads as soon as it knows its term. */
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
