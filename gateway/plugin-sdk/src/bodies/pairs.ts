/** Parses names and values of a query or form: `a=1&b=2` (WHATWG URL, application/x-www-form-urlencoded). */

function decode(text: string): string {
  if (!/[%+]/.test(text)) return text;
  const spaced = text.replaceAll("+", " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

const nameOf = (pair: string) => decode(pair.split("=", 1)[0] ?? "");

/** All values of a name, in order. A name followed by a bracket (`apikey[]`) is a different name. */
export function pairValues(text: string, name: string): readonly string[] {
  if (text === "") return [];
  return text
    .split("&")
    .filter((pair) => pair !== "" && nameOf(pair) === name)
    .map((pair) => decode(pair.slice(pair.indexOf("=") === -1 ? pair.length : pair.indexOf("=") + 1)));
}

/** The text without the pairs of these names; all other bytes are unchanged. */
export function withoutPairs(text: string, names: readonly string[]): string {
  return text
    .split("&")
    .filter((pair) => !names.includes(nameOf(pair)))
    .join("&");
}
