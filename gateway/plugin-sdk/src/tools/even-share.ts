/** A part of all calls, evenly spread. */

/**
 * Returns a function that is true for this part of its calls, evenly spread.
 *
 * @param percentage From 0 to 100.
 */
export function evenShare(percentage: number): () => boolean {
  if (percentage >= 100) return () => true;
  let sum = 0;
  return () => {
    sum += percentage;
    if (sum < 100) return false;
    sum -= 100;
    return true;
  };
}
