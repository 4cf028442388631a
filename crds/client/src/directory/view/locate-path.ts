/** Where a member of a resource stands in the text of its file. Pure. */
import { isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from "yaml";
import type { Path } from "../../translate/index.ts";
import type { Position } from "./parse-resources.ts";

/**
 * A member at its name, an item at its start; something that is missing at what should hold it.
 *
 * @param document Which document of the text, from 0.
 */
export function locatePath(text: string, document: number, path: Path): Position {
  const lineCounter = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter, prettyErrors: false })[document];
  let node: unknown = parsed?.contents;
  let offset = parsed?.contents?.range?.[0] ?? 0;
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
      if (!pair) break;
      offset = isScalar(pair.key) ? (pair.key.range?.[0] ?? offset) : offset;
      node = pair.value;
    } else if (isSeq<{ readonly range?: readonly number[] | null }>(node) && typeof step === "number") {
      node = node.items[step];
      offset = Object(node).range?.[0] ?? offset;
    } else break;
  }
  const { line, col } = lineCounter.linePos(offset);
  return { line, column: col };
}
