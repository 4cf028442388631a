/** The quantile `share` (0 to 1) of ascending values, rounded to one decimal; NaN if there are no values. */
export const atShare = (sorted: readonly number[], share: number): number =>
  Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1));
