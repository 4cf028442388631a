/** Whether lists and objects nest deeper than `limit` in a JSON value. Looks no deeper than that, and does not recurse. */
export function nestsDeeper(value: unknown, limit: number): boolean {
  let level = [value].filter(isNest);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === limit) return true;
    level = level.flatMap((nest) => Object.values(nest).filter(isNest));
  }
  return false;
}

const isNest = (value: unknown): value is object => typeof value === "object" && value !== null;
