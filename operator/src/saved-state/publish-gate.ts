/**
 * Decides when a new leader begins to publish: once the state saved by the previous leader has been read, and the
 * resources restored from it have been translated. Before that, the new leader's document may lack the last valid
 * version of a resource.
 */
import { createEmitter } from "../emitter.ts";
import type { Leadership } from "../leader-election/leader-election.ts";
import type { StateReader } from "./state-reader.ts";

export function createPublishGate(
  leadership: Pick<Leadership, "term" | "terms">,
  savedState: Pick<StateReader, "isRead">,
) {
  const terms = createEmitter<number | null>();
  let reportedTerm: number | null = null;
  /**
   * The term for which the gate is open; null: the gate is closed. `term()` compares it with the current term, because
   * leadership ends before its end is reported.
   */
  let openTerm: number | null = null;
  /** Whether the published document lacks restored resources. */
  let isStale = false;
  /** Whether the translation in progress includes the restored resources. */
  let includesRestored = false;

  function tryOpen(): void {
    if (reportedTerm === null || openTerm === reportedTerm || isStale || !savedState.isRead()) return;
    openTerm = reportedTerm;
    terms.emit(openTerm);
  }

  leadership.terms.subscribe((term) => {
    reportedTerm = term;
    if (openTerm !== null) {
      openTerm = null;
      terms.emit(null);
    }
    tryOpen();
  });

  function translationEnded(): void {
    if (includesRestored) isStale = false;
    tryOpen();
  }

  return {
    /**
     * The term in which this operator publishes and writes statuses; null: it does not lead, or it is too early.
     */
    term() {
      const now = leadership.term();
      return now === openTerm ? now : null;
    },
    /** Emits the term when the gate opens, and null when it closes. */
    terms,
    /** Called when the saved state has been read. @param isNews Whether it may change the translation. */
    stateRestored(isNews: boolean) {
      if (isNews) [isStale, includesRestored] = [true, false];
      tryOpen();
    },
    translationStarted() {
      includesRestored = true;
    },
    translationPublished: translationEnded,
    /** Called when a translation failed because of a bug. It is better to publish the existing document than none. */
    translationFailed: translationEnded,
  };
}

export type PublishGate = ReturnType<typeof createPublishGate>;
