/**
 * Decides when a new leader begins to publish: once the state saved by the previous leader has been read, and the
 * resources restored from it have been translated. Before that, its document may lack the last valid version of a
 * resource.
 */
export interface PublishGateOptions {
  /** The term in which this process leads; null while another does. */
  readonly leaderTerm: () => number | null;
  /** Whether this process has read all saved state. */
  readonly isRead: () => boolean;
  /** Called whenever the result of `term()` has changed. */
  readonly onTerm: (term: number | null) => void;
}

export interface PublishGate {
  /**
   * The term in which this operator publishes and writes statuses; null: another operator leads, or it is too early.
   */
  term(): number | null;
  /** Leadership has changed. */
  leadershipChanged(term: number | null): void;
  /** The saved state has been read. @param isNews Whether it changes the translation. */
  stateRestored(isNews: boolean): void;
  /** A translation of the current state has started. */
  translationStarted(): void;
  /** The last started translation is published. */
  translationPublished(): void;
  /** The last started translation failed because of a bug. Publishing the existing document is better than nothing. */
  translationFailed(): void;
}

export function createPublishGate({ leaderTerm, isRead, onTerm }: PublishGateOptions): PublishGate {
  let reportedTerm: number | null = null;
  /** Compared with the current term at each call: leadership ends before it is reported. */
  let openTerm: number | null = null;
  /** The published document lacks restored resources. */
  let isStale = false;
  /** The translation in progress includes restored resources. */
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
