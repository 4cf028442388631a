/** The value below which a share of the values lies, of values in order; with one digit. */
export const atShare = (sorted: readonly number[], share: number): number =>
  Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1));
