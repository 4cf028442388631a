/** Reads JSON more strictly than JSON.parse: ambiguous text is rejected. */

export type JsonResult =
  | { readonly value: unknown; readonly fault?: undefined }
  | {
      readonly fault:
        | "unparsable"
        | { readonly depth: number }
        | { readonly twice: string }
        | { readonly values: number };
    };

export interface JsonLimits {
  readonly depth: number;
  /** Maximum number of values, counted by opening brackets and commas. */
  readonly values: number;
  /** The last of duplicate names counts, as in a declarative file. Default: duplicates are rejected. */
  readonly duplicates?: true;
}

/** Rejects duplicate names in an object by default: RFC 8259 section 4 leaves open which one counts. */
export function readJson(text: string, { depth, values, duplicates }: JsonLimits): JsonResult {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: "unparsable" };
  }
  // The text is valid JSON: from here on only names, brackets and commas matter.
  const open: (Set<string> | null)[] = [];
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "{" || character === "[") {
      if (open.push(character === "{" ? new Set() : null) > depth) return { fault: { depth } };
      if (++count > values) return { fault: { values } };
    } else if (character === "}" || character === "]") {
      open.pop();
    } else if (character === ",") {
      if (++count > values) return { fault: { values } };
    } else if (character === '"') {
      const end = endOfText(text, at);
      const names = open.at(-1);
      if (names && isName(text, end)) {
        const name: string = JSON.parse(text.slice(at, end + 1));
        if (names.has(name) && !duplicates) return { fault: { twice: name } };
        names.add(name);
      }
      at = end;
    }
  }
  return { value };
}

function endOfText(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let from = at;
  while (text[from - 1] === "\\") from--;
  return (at - from) % 2 === 1;
}

const SPACE = new Set([" ", "\t", "\n", "\r"]);

function isName(text: string, end: number): boolean {
  let at = end + 1;
  while (SPACE.has(text[at] ?? "")) at++;
  return text[at] === ":";
}
