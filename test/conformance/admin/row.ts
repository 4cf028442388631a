/** The form of a table of requests with their expected responses. */
import type { RequestOptions } from "../../../gateway/src/admin/testing.ts";

export interface AdminRow extends RequestOptions {
  /** The behaviour, as a sentence without its subject, which is the table's `of`. */
  readonly does: string;
  /** Such as `POST /services`. A word in braces stands for the value that an earlier row kept under this word. */
  readonly ask: string;
  readonly status: number;
  /** If set, the row runs only over a store that is a database, or only over other stores. */
  readonly where?: "in a database" | "elsewhere";
  /** The expected body. */
  readonly body?: unknown;
  /** Members that the body must contain, with their values. */
  readonly has?: object;
  /** Patterns by the name of a member of the body. The member's value, as text, must match the pattern. */
  readonly matches?: Readonly<Record<string, RegExp>>;
  /** Members that the body must not have. */
  readonly lacks?: readonly string[];
  readonly message?: string | RegExp;
  /** Expected response headers by their lower-case names; undefined if the header must be absent. */
  readonly sends?: Readonly<Record<string, string | RegExp | undefined>>;
  /** Keeps a header of the response under a name, for later rows. */
  readonly keep?: { readonly header: string; readonly as: string };
}

/** Rows in the order of their requests. The store holds the fixture before the first row. */
export interface AdminTable {
  /** The subject of the rows' sentences. */
  readonly of: string;
  readonly rows: readonly AdminRow[];
}
