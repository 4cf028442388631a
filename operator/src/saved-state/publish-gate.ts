/**
 * When who leads begins to publish: once what the operator before kept has been looked at, and what was restored of it
 * is translated. Before that a document stands ready that may lack the last valid version of a resource.
 */
export interface PublishGateOptions {
  /** The term in which this process leads; null while another does. */
  readonly leaderTerm: () => number | null;
  /** Whether there is nothing kept that this process has not looked at. */
  readonly isRead: () => boolean;
  /** Told whenever `term()` has become another. */
  readonly onTerm: (term: number | null) => void;
}

export interface PublishGate {
  /** The term in which is published, and statuses are written; null: another operator leads, or it is too early. */
  term(): number | null;
  /** Who leads has changed. */
  leadershipChanged(term: number | null): void;
  /** What was kept has been read. @param isNews Whether something else is to be translated now. */
  stateRestored(isNews: boolean): void;
  /** All there is, is being translated. */
  translationStarted(): void;
  /** What was begun last is published. */
  translationPublished(): void;
  /** What was begun last cannot be translated, for a fault of ours: what stands ready is better than nothing. */
  translationFailed(): void;
}

export function createPublishGate({ leaderTerm, isRead, onTerm }: PublishGateOptions): PublishGate {
  let reportedTerm: number | null = null;
  /** Compared with who leads at each question: a lead ends before it is told. */
  let openTerm: number | null = null;
  /** What is published lacks what was restored. */
  let isStale = false;
  /** What is being translated has what was restored. */
  let includesRestored = false;

  function tryOpen(): void {
    if (reportedTerm === null || openTerm === reportedTerm || isStale || !isRead()) return;
    openTerm = reportedTerm;
    onTerm(openTerm);
  }

  function translationEnded(): void {
    if (includesRestored) isStale = false;
    tryOpen();
  }

  return {
    term() {
      const now = leaderTerm();
      return now === openTerm ? now : null;
    },
    leadershipChanged(term) {
      reportedTerm = term;
      if (openTerm !== null) {
        openTerm = null;
        onTerm(null);
      }
      tryOpen();
    },
    stateRestored(isNews) {
      if (isNews) [isStale, includesRestored] = [true, false];
      tryOpen();
    },
    translationStarted() {
      includesRestored = true;
    },
    translationPublished: translationEnded,
    translationFailed: translationEnded,
  };
}
