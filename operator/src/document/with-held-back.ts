/** Removes held-back resources from a translation. Pure. */
import type { Problem } from "../status/conditions.ts";
import type { Owner, Translation } from "../translate/translation.ts";
import type { HeldBack } from "./batches.ts";

/**
 * The translation without the resources that batches hold back, because their statuses concern their earlier versions.
 * Resources of batches that stay incomplete are added again with their problems.
 */
export function withHeldBack(
  translation: Translation,
  { held, problems: told }: Pick<HeldBack, "held" | "problems">,
): Translation {
  if (held.size === 0 && told.size === 0) return translation;
  const owners = new Map<string, Owner | undefined>();
  const problems = new Map<string, readonly Problem[] | undefined>();
  for (const key of held) {
    owners.set(key, undefined);
    problems.set(key, undefined);
  }
  for (const [key, { owner, problem }] of told) {
    owners.set(key, owner);
    problems.set(key, [problem, ...((held.has(key) ? undefined : translation.problems.get(key)) ?? [])]);
  }
  return {
    ...translation,
    owners: translation.owners.with(owners),
    problems: translation.problems.with(problems),
  };
}
