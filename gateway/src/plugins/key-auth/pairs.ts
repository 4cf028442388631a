/** Names and values of a query or a form: `a=1&b=2` (WHATWG URL, application/x-www-form-urlencoded). */

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

/** Every value of a name, in order. A name with a bracket after it (`apikey[]`) is another name. */
export function pairValues(text: string, name: string): readonly string[] {
  if (text === "") return [];
  return text
    .split("&")
    .filter((pair) => pair !== "" && nameOf(pair) === name)
    .map((pair) => decode(pair.slice(pair.indexOf("=") === -1 ? pair.length : pair.indexOf("=") + 1)));
}

/** The same text without the pairs of these names; every other byte stays. */
export function withoutPairs(text: string, names: readonly string[]): string {
  return text
    .split("&")
    .filter((pair) => !names.includes(nameOf(pair)))
    .join("&");
}
