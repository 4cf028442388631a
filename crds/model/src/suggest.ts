/** "Did you mean": finds the known name that a misspelt name most likely stands for. */

/** Longer names are not compared: the cost of a comparison is the product of both lengths. */
const MAXIMUM_LENGTH = 100;

/**
 * The candidate with the smallest edit distance to `name`, if the distance is small enough for a misspelling. One edit
 * for every three characters of the longer name is allowed (at least one), and never more than half the characters of
 * `name`. Insertions, deletions, replacements and transpositions count one each. Case is ignored, and `_` equals `-`.
 * Of equally close candidates the first is returned; undefined if none is close enough.
 */
export function closestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name === "" || name.length > MAXIMUM_LENGTH) return undefined;
  const wanted = folded(name);
  let found: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    if (candidate.length > MAXIMUM_LENGTH) continue;
    const distance = editDistance(wanted, folded(candidate));
    const allowed = Math.max(1, Math.floor(Math.max(name.length, candidate.length) / 3));
    // With more edits than half the characters of the name, a suggestion would be a guess.
    if (distance >= least || distance > allowed || distance * 2 > wanted.length) continue;
    [found, least] = [candidate, distance];
  }
  return found;
}

/** `, did you mean key-auth?`, or an empty string if no candidate is close; to be appended to a message. */
export function suggestionFor(name: string, candidates: Iterable<string>): string {
  const found = closestName(name, candidates);
  return found === undefined ? "" : `, did you mean ${found}?`;
}

const folded = (name: string): string => name.toLowerCase().replaceAll("_", "-");

/** Optimal string alignment distance. */
function editDistance(a: string, b: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const replaced = at(last, column - 1) + (same ? 0 : 1);
      let distance = Math.min(replaced, at(last, column) + 1, at(current, column - 1) + 1);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      current.push(distance);
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, b.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
