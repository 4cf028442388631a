/** Requests and answers: what a row of the table says. */
import type { RequestOptions } from "../../../gateway/src/admin/testing.ts";

export interface Row extends RequestOptions {
  /** The behaviour, as a sentence. */
  readonly does: string;
  /** `POST /services`. A word in braces is what an earlier row kept under it. */
  readonly ask: string;
  readonly status: number;
  /** Asked only of a store that is a database, or only of one that is none. */
  readonly where?: "in a database" | "elsewhere";
  /** The whole body. */
  readonly body?: unknown;
  /** A part of the body. */
  readonly has?: object;
  /** Members of the body that are texts like these. */
  readonly matches?: Readonly<Record<string, RegExp>>;
  /** Members that the body must not have. */
  readonly lacks?: readonly string[];
  readonly message?: string | RegExp;
  /** Headers by their lower-case names; undefined: absent. */
  readonly sends?: Readonly<Record<string, string | RegExp | undefined>>;
  /** Keeps a header of the answer under a word, for later rows. */
  readonly keep?: { readonly header: string; readonly as: string };
}

/** Rows one after the other, against a listener that holds the fixture when the first is asked. */
export interface Table {
  /** What the rows' sentences say something of. */
  readonly of: string;
  readonly rows: readonly Row[];
}
