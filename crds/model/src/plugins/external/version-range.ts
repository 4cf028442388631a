/** The part of npm's version ranges that plugin packages need for `peerDependencies`. */

type Version = readonly [major: number, minor: number, patch: number];

const parse = (text: string): Version | undefined => {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)$/.exec(text) ?? [];
  return patch === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
};

const compare = (one: Version, other: Version): number => one[0] - other[0] || one[1] - other[1] || one[2] - other[2];

/** The first version above those that `^` includes: the leftmost number that is not 0 is raised by one. */
const caretEnd = ([major, minor, patch]: Version): Version => {
  if (major > 0) return [major + 1, 0, 0];
  return minor > 0 ? [0, minor + 1, 0] : [0, 0, patch + 1];
};

function comparatorContains(comparator: string, version: Version): boolean | undefined {
  if (comparator === "*") return true;
  const [, operator = "", text = ""] = /^(\^|~|>=|<|=?)(.*)$/.exec(comparator) ?? [];
  const bound = parse(text);
  if (bound === undefined) return undefined;
  if (operator === "<") return compare(version, bound) < 0;
  if (operator === ">=") return compare(version, bound) >= 0;
  if (operator === "^") return compare(version, bound) >= 0 && compare(version, caretEnd(bound)) < 0;
  if (operator === "~") return compare(version, bound) >= 0 && compare(version, [bound[0], bound[1] + 1, 0]) < 0;
  return compare(version, bound) === 0;
}

/**
 * Whether a range such as `^0.1.0`, `>=0.1.0 <0.3.0` or `~1.2.0 || ^2.0.0` contains a version. Undefined for a range or
 * a version in another notation.
 */
export function rangeContains(range: string, version: string): boolean | undefined {
  const wanted = parse(version);
  if (wanted === undefined) return undefined;
  const alternatives = range.split("||").map((alternative) => {
    const parts = alternative.trim().split(/\s+/);
    const results = parts.map((part) => comparatorContains(part, wanted));
    return results.includes(undefined) ? undefined : results.every(Boolean);
  });
  return alternatives.includes(undefined) ? undefined : alternatives.some(Boolean);
}
