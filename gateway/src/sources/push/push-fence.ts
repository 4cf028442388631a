/**
 * Decides which pushes a node accepts: none of a term lower than the highest term seen, and none older than the
 * document that it serves. This rejects an operator that lost its leadership without knowing it yet.
 */
import type { PushPosition } from "@sluice/model";

export function createPushFence() {
  let highest = 0;
  let served = { term: 0, revision: 0 };
  /** Why the term is over; null when it is not. Records the term. */
  function outdatedTerm({ term = 0 }: Pick<PushPosition, "term">): string | null {
    if (term < highest) return `term ${term} is over: this node has seen term ${highest}`;
    highest = term;
    return null;
  }

  return {
    /** The highest term seen. */
    term: () => highest,
    outdatedTerm,
    /** Why the push is outdated; null when it is not. Records the term of the push. */
    outdatedReason({ term = 0, revision }: PushPosition): string | null {
      const late = outdatedTerm({ term });
      if (late !== null) return late;
      if (term > served.term || revision >= served.revision) return null;
      return `revision ${revision} of term ${term} is outdated: this node serves revision ${served.revision}`;
    },
    /** Records that the push is served. */
    markServed({ term = 0, revision }: PushPosition): void {
      highest = Math.max(highest, term);
      served = { term, revision };
    },
  };
}
