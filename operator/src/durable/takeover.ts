/**
 * When who leads begins to publish: once what the operator before kept has been looked at, and what was restored of it
 * is translated. Before that a document stands ready that may lack the last valid version of a resource.
 */
export interface TakeoverOptions {
  /** The term in which this process leads; null while another does. */
  readonly lead: () => number | null;
  /** Whether there is nothing kept that this process has not looked at. */
  readonly isRead: () => boolean;
  /** Told whenever `term()` has become another. */
  readonly onTerm: (term: number | null) => void;
}

export interface Takeover {
  /** The term in which is published, and statuses are written; null: another operator leads, or it is too early. */
  term(): number | null;
  /** Who leads has changed. */
  lead(term: number | null): void;
  /** What was kept has been read. @param isNews Whether something else is to be translated now. */
  read(isNews: boolean): void;
  /** All there is, is being translated. */
  began(): void;
  /** What was begun last is published. */
  published(): void;
  /** What was begun last cannot be translated, for a fault of ours: what stands ready is better than nothing. */
  failed(): void;
}

export function createTakeover({ lead, isRead, onTerm }: TakeoverOptions): Takeover {
  let told: number | null = null;
  /** Compared with who leads at each question: a lead ends before it is told. */
  let open: number | null = null;
  /** What is published lacks what was restored. */
  let isStale = false;
  /** What is being translated has what was restored. */
  let isFresh = false;

  function begin(): void {
    if (told === null || open === told || isStale || !isRead()) return;
    open = told;
    onTerm(open);
  }

  function end(): void {
    if (isFresh) isStale = false;
    begin();
  }

  return {
    term() {
      const now = lead();
      return now === open ? now : null;
    },
    lead(term) {
      told = term;
      if (open !== null) {
        open = null;
        onTerm(null);
      }
      begin();
    },
    read(isNews) {
      if (isNews) [isStale, isFresh] = [true, false];
      begin();
    },
    began() {
      isFresh = true;
    },
    published: end,
    failed: end,
  };
}
