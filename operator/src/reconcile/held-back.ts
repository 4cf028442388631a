/** What a translation says of resources that a batch holds back. Pure. */
import type { Translation } from "../translate/translation.ts";
import type { HeldBack } from "./batches.ts";

/**
 * The translation without those that are held back, whose statuses are about what they were; those of batches that
 * stay incomplete come in again with what is to be told of them.
 */
export function withHeldBack(
  translation: Translation,
  { held, problems: told }: Pick<HeldBack, "held" | "problems">,
): Translation {
  if (held.size === 0 && told.size === 0) return translation;
  const owners = new Map(translation.owners);
  const problems = new Map(translation.problems);
  for (const key of held) {
    owners.delete(key);
    problems.delete(key);
  }
  for (const [key, { owner, problem }] of told) {
    owners.set(key, owner);
    problems.set(key, [problem, ...(problems.get(key) ?? [])]);
  }
  return { ...translation, owners, problems };
}
