/** The labels under which operations are counted: a limited number, because clients choose names and documents. */

/** The name of operations without one. */
export const UNNAMED_OPERATION = "(unnamed)";
/** The name of operations that cannot be read. */
export const UNKNOWN_OPERATION = "(unknown)";
const OTHER = "(other)";
/** These names do not count towards the limit. */
const always: ReadonlySet<string> = new Set([UNNAMED_OPERATION, UNKNOWN_OPERATION]);
/** Digits of a document's hash that labels have. */
const DIGITS = 12;
/**
 * One name may have a quarter of the documents, at least one: clients that write values into their documents, instead of
 * sending variables, send ever new ones under one name.
 */
const SHARE = 4;
/** Milliseconds for which a name or a document is kept after its last use. */
const KEPT = 3_600_000;
/** Minimum milliseconds between two searches for names and documents that are no longer used. */
const INTERVAL = 60_000;

export interface OperationLabels {
  readonly name: string;
  /** The first hex digits of the document's SHA-256; empty: the document is not known. */
  readonly hash: string;
}

interface KnownDocument {
  readonly labels: OperationLabels;
  /** Milliseconds since the epoch. */
  lastUse: number;
}

interface KnownName {
  readonly name: string;
  /** By their hashes. */
  readonly documents: Map<string, KnownDocument>;
  readonly withoutDocument: OperationLabels;
  readonly withOther: OperationLabels;
  lastUse: number;
}

const others: OperationLabels = { name: OTHER, hash: OTHER };

export class CountedOperations {
  readonly #limit: number;
  readonly #now: () => number;
  readonly #names = new Map<string, KnownName>();
  /** The number of documents of all names. */
  #documents = 0;
  #searched = Number.NEGATIVE_INFINITY;

  /** @param limit Maximum number of names, and of documents of all names together */
  constructor(limit: number, now: () => number) {
    this.#limit = limit;
    this.#now = now;
    for (const name of always) this.#names.set(name, knownName(name, 0));
  }

  /** The given name, or `(other)` if the limit is reached. */
  shownName(name: string): string {
    return this.#used(name, this.#now())?.name ?? OTHER;
  }

  /** @param sha256 Of the document, in hex digits; null: the document is not known */
  labelsOf(name: string, sha256: string | null): OperationLabels {
    const now = this.#now();
    const known = this.#used(name, now);
    if (known === null) return others;
    if (sha256 === null) return known.withoutDocument;
    const document = known.documents.get(sha256) ?? this.#admittedDocument(known, sha256, now);
    if (document === null) return known.withOther;
    document.lastUse = now;
    return document.labels;
  }

  /** Null: there are too many names. */
  #used(name: string, now: number): KnownName | null {
    const known = this.#names.get(name) ?? this.#admittedName(name, now);
    if (known !== null) known.lastUse = now;
    return known;
  }

  #admittedName(given: string, now: number): KnownName | null {
    const most = this.#limit + always.size;
    if (this.#names.size >= most) this.#forgetUnused(now);
    if (this.#names.size >= most) return null;
    // A copy, because a substring keeps the whole query in memory.
    const name = Buffer.from(given).toString();
    const known = knownName(name, now);
    this.#names.set(name, known);
    return known;
  }

  #admittedDocument({ name, documents }: KnownName, sha256: string, now: number): KnownDocument | null {
    const isFull = () => this.#documents >= this.#limit || documents.size >= Math.ceil(this.#limit / SHARE);
    if (isFull()) this.#forgetUnused(now);
    if (isFull()) return null;
    const hash = Buffer.from(sha256.slice(0, DIGITS)).toString();
    const document: KnownDocument = { labels: { name, hash }, lastUse: now };
    documents.set(Buffer.from(sha256).toString(), document);
    this.#documents++;
    return document;
  }

  #forgetUnused(now: number): void {
    if (now - this.#searched < INTERVAL) return;
    this.#searched = now;
    for (const [name, { documents, lastUse }] of this.#names) {
      for (const [sha256, document] of documents) {
        if (now - document.lastUse < KEPT) continue;
        documents.delete(sha256);
        this.#documents--;
      }
      if (now - lastUse >= KEPT && !always.has(name)) this.#names.delete(name);
    }
  }
}

const knownName = (name: string, lastUse: number): KnownName => ({
  name,
  documents: new Map(),
  withoutDocument: { name, hash: "" },
  withOther: { name, hash: OTHER },
  lastUse,
});
