/** Merging conditions into a status. */
import type { Condition } from "./resource.ts";

/**
 * Returns the conditions with `wanted` merged in by type; all others stay unchanged and in order. A
 * `lastTransitionTime` changes only with the status. Null when nothing would change.
 */
export function mergeConditions(
  existing: readonly Condition[],
  wanted: readonly Condition[],
  now: Date,
): readonly Condition[] | null {
  const merged = [...existing];
  let differs = false;
  for (const condition of wanted) {
    const at = merged.findIndex(({ type }) => type === condition.type);
    const before = merged[at];
    if (before && sayTheSame(before, condition)) continue;
    differs = true;
    const lastTransitionTime =
      before?.status === condition.status && before.lastTransitionTime
        ? before.lastTransitionTime
        : formatMetaTime(now);
    merged.splice(at < 0 ? merged.length : at, at < 0 ? 0 : 1, { ...condition, lastTransitionTime });
  }
  return differs ? merged : null;
}

const sayTheSame = (one: Condition, other: Condition): boolean =>
  (["status", "reason", "message", "observedGeneration"] as const).every((member) => one[member] === other[member]);

/** metav1.Time: RFC 3339 without fractions. */
export function formatMetaTime(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}
