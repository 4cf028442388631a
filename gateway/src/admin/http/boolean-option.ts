/** Members of a query that are yes or no. */
import { invalidOptions } from "./errors.ts";

const yes: ReadonlySet<string> = new Set(["true", "1", "on", "yes"]);
const no: ReadonlySet<string> = new Set(["false", "0", "off", "no"]);

/**
 * Whether somebody says yes to `name`; saying nothing is no. Who says something else may have meant `?dry_run`, so it is
 * not guessed.
 *
 * @throws HttpError 400.
 */
export function parseBooleanOption(name: string, said: unknown): boolean {
  if (said === null || said === undefined) return false;
  const word = String(said).toLowerCase();
  if (yes.has(word)) return true;
  if (!no.has(word)) throw invalidOptions({ [name]: "expected true or false" });
  return false;
}
