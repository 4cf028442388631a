/** An error in a value: its path and a message. Errors in data are returned, never thrown. */
export interface Violation {
  /**
   * Members and zero-based indexes from the value's root to the error: `["config", "minute"]`, `["paths", 0]`. The path
   * of an error in a record as a whole ends in `"@entity"`, as in Kong's `fields`.
   */
  readonly path: readonly (string | number)[];
  /** Kong's text if Kong has one, such as `required field missing`. */
  readonly message: string;
  /** The position in a file if the value came from one; line and column count from 1. */
  readonly position?: { readonly file?: string; readonly line: number; readonly column: number };
}

/** A value or all of its violations. */
export type Checked<Value> =
  | { readonly value: Value; readonly violations?: undefined }
  | { readonly value?: undefined; readonly violations: readonly Violation[] };
