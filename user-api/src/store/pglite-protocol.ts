/** What the thread that runs PGlite and the thread that uses it say to each other. */

export interface Call {
  readonly id: number;
  readonly method: "query" | "script" | "close";
  readonly text: string;
  readonly values: readonly unknown[];
}

/** `id` 0 is the answer to the start. */
export type Answer =
  | { readonly id: number; readonly rows: readonly Readonly<Record<string, unknown>>[]; readonly failure?: undefined }
  | { readonly id: number; readonly rows?: undefined; readonly failure: string };
