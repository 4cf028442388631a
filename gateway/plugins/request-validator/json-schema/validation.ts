/** One validation of a value: the current place in the value, the first error, and limits of the cost. */

/** Names of members or indexes of items that a schema has tested: `unevaluated…` keywords do not test them again. */
export type EvaluatedItems = Set<string | number>;

/**
 * Returns whether a value is valid.
 *
 * @param evaluated Gets the names and indexes that the schema has tested; null: the caller does not need them
 */
export type ValueTest = (value: unknown, run: Validation, evaluated: EvaluatedItems | null) => boolean;

/** Thrown when a validation exceeds its limits. */
export class TooComplexError extends Error {
  override readonly name = "TooComplexError";
}

/**
 * Maximum cost of validating one value. Applying one schema to one part of the value is a step; other work counts as
 * the number of steps that take the same time.
 */
const MAX_STEPS = 1_000_000;
/** Maximum nesting of schemas that are being applied, by members of the value and by references. */
const MAX_DEPTH = 256;

/** The number of steps that matching a string with a regular expression costs: one for every 64 characters. */
export const regexSteps = (text: string): number => text.length / 64;

export class Validation {
  readonly #path: (string | number)[] = [];
  #error: { readonly pointer: string; readonly message: string } | null = null;
  #steps = 0;
  #depth = 0;
  /** Above 0 in schemas whose failure does not make the value invalid, such as the branches of `anyOf`. */
  #trials = 0;

  /** The first failure outside trials. */
  get error() {
    return this.#error ?? { pointer: "", message: "is invalid" };
  }

  fail(message: string): false {
    if (this.#trials === 0 && this.#error === null) {
      const tokens = this.#path.map((token) => `/${String(token).replaceAll("~", "~0").replaceAll("/", "~1")}`);
      this.#error = { pointer: tokens.join(""), message };
    }
    return false;
  }

  /** Counts work that takes as long as applying this many schemas. Throws TooComplexError. */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new TooComplexError("needs too many steps");
  }

  /** Runs a test one level deeper. Throws TooComplexError. */
  nested(test: () => boolean): boolean {
    this.spend(1);
    if (++this.#depth > MAX_DEPTH) throw new TooComplexError("is nested too deeply");
    const isValid = test();
    this.#depth--;
    return isValid;
  }

  /** Tests a member or an item. */
  below(token: string | number, value: unknown, test: ValueTest): boolean {
    this.#path.push(token);
    const isValid = test(value, this, null);
    this.#path.pop();
    return isValid;
  }

  /** Runs a test whose failure does not make the value invalid. */
  trial(test: () => boolean): boolean {
    this.#trials++;
    const isValid = test();
    this.#trials--;
    return isValid;
  }
}
