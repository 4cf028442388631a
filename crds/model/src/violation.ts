/** A fault in a value: where it is and, in a plain sentence, what is wrong. Faults in data are returned, never thrown. */
export interface Violation {
  /**
   * Members and zero-based indexes from the value's root to the fault: `["config", "minute"]`, `["paths", 0]`.
   * A fault of a record as a whole ends in `"@entity"`, as in Kong's `fields`.
   */
  readonly path: readonly (string | number)[];
  /** Kong's text where Kong has one, such as `required field missing`. */
  readonly message: string;
  /** Where in a file, when the value came from one; line and column count from 1. */
  readonly position?: { readonly file?: string; readonly line: number; readonly column: number };
}

/** A value or all of its faults. */
export type Checked<Value> =
  | { readonly value: Value; readonly violations?: undefined }
  | { readonly value?: undefined; readonly violations: readonly Violation[] };
