/** The form of a table of requests with their expected responses. */
import type { RequestOptions } from "../../../gateway/src/admin/testing.ts";

export interface Row extends RequestOptions {
  /** The behaviour, as a sentence. */
  readonly does: string;
  /** Such as `POST /services`. A word in braces is a value that an earlier row kept under this name. */
  readonly ask: string;
  readonly status: number;
  /** Sent only to a store that is a database, or only to one that is not. */
  readonly where?: "in a database" | "elsewhere";
  /** The expected body. */
  readonly body?: unknown;
  /** Members that the body must contain. */
  readonly has?: object;
  /** Members of the body with a pattern for their text. */
  readonly matches?: Readonly<Record<string, RegExp>>;
  /** Members that the body must not have. */
  readonly lacks?: readonly string[];
  readonly message?: string | RegExp;
  /** Expected headers by their lower-case names; undefined: absent. */
  readonly sends?: Readonly<Record<string, string | RegExp | undefined>>;
  /** Keeps a header of the response under a name, for later rows. */
  readonly keep?: { readonly header: string; readonly as: string };
}

/** Rows in the order in which they are sent. The store holds the fixture before the first row. */
export interface Table {
  /** The subject of the rows' sentences. */
  readonly of: string;
  readonly rows: readonly Row[];
}
