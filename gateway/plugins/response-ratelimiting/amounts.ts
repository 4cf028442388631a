/** The amounts that a service reports in a response header, such as the number of videos that a request has used. */

/** Longer numbers could make the sum of a counter inexact. */
const AMOUNT = /^\d{1,9}$/;

/** The amount of each limit in `videos=2, images=1`. Other names and invalid amounts are ignored. */
export function reportedAmounts(values: readonly string[], names: ReadonlySet<string>): ReadonlyMap<string, number> {
  const amounts = new Map<string, number>();
  for (const part of values.flatMap((value) => value.split(","))) {
    const [name = "", amount = "", ...others] = part.split("=").map((text) => text.trim());
    if (others.length === 0 && names.has(name) && AMOUNT.test(amount)) amounts.set(name, Number(amount));
  }
  return amounts;
}
