/**
 * Which pushes a node still takes: nothing of a term lower than the highest that it has seen, and
 * nothing older than what it serves. An operator that lost its lead and does not know it yet is kept out so.
 */
import type { PushPlace } from "@sluice/model";

export interface PushFence {
  /** The highest term that was seen. */
  term(): number;
  /** Why the push comes too late; null when it does not. Its term has been seen from then on. */
  outdatedReason(place: PushPlace): string | null;
  /** The push is served. */
  markServed(place: PushPlace): void;
}

export function createPushFence(): PushFence {
  let highest = 0;
  let served = { term: 0, revision: 0 };
  return {
    term: () => highest,
    outdatedReason({ term = 0, revision }) {
      if (term < highest) return `term ${term} is over: this node has seen term ${highest}`;
      highest = term;
      if (term > served.term || revision >= served.revision) return null;
      return `revision ${revision} of term ${term} is outdated: this node serves revision ${served.revision} of it`;
    },
    markServed({ term = 0, revision }) {
      highest = Math.max(highest, term);
      served = { term, revision };
    },
  };
}
