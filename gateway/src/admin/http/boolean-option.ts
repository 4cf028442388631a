/** Boolean options of a request. */
import { invalidOptions } from "./errors.ts";

const yes: ReadonlySet<string> = new Set(["true", "1", "on", "yes"]);
const no: ReadonlySet<string> = new Set(["false", "0", "off", "no"]);

/**
 * Parses the option `name`; absent means false. An unknown value is an error, because guessing could turn a `?dry_run`
 * into a write.
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
