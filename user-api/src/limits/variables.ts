const isNest = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Whether lists and objects nest deeper than `limit` in a JSON value. Iterative, and stops at that depth. */
export function nestsDeeper(value: unknown, limit: number): boolean {
  let level = isNest(value) ? [value] : [];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === limit) return true;
    const below: object[] = [];
    for (const nest of level) {
      for (const member of Object.values(nest)) if (isNest(member)) below.push(member);
    }
    level = below;
  }
  return false;
}
