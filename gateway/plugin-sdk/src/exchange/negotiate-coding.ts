/** Chooses a content coding by Accept-Encoding (RFC 9110 section 12.5.3). */

const WEIGHT = /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i;

/**
 * @param accepted The values of Accept-Encoding
 * @param offered Content codings in lower case, the preferred one first
 * @returns The offered coding with the highest weight; null: the client accepts none of them
 */
export function negotiateCoding<Coding extends string>(
  accepted: readonly string[],
  offered: readonly Coding[],
): Coding | null {
  const weights = new Map<string, number>();
  for (const entry of accepted.join(",").split(",")) {
    const [coding = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
    const [weight = "q=1", ...more] = parameters;
    // An entry that is not valid is not a permission.
    if (coding !== "") weights.set(coding, WEIGHT.test(weight) && more.length === 0 ? Number(weight.slice(2)) : 0);
  }
  const others = weights.get("*") ?? 0;
  let best: Coding | null = null;
  let most = 0;
  for (const coding of offered) {
    const weight = weights.get(coding) ?? (coding === "gzip" ? weights.get("x-gzip") : undefined) ?? others;
    if (weight <= most) continue;
    best = coding;
    most = weight;
  }
  return best;
}
