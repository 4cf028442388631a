/** The messages between the PGlite worker thread and the main thread. */

export interface Call {
  readonly id: number;
  readonly method: "query" | "script" | "close";
  readonly text: string;
  readonly values: readonly unknown[];
}

/** `id` 0 is the response to the start. */
export type Answer =
  | { readonly id: number; readonly rows: readonly Readonly<Record<string, unknown>>[]; readonly failure?: undefined }
  | { readonly id: number; readonly rows?: undefined; readonly failure: string };
