/** The position of a resource's member in the text of its file. Pure. */
import { isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from "yaml";
import type { Path } from "../../translate/translation.ts";
import type { Position } from "./parse-resources.ts";

/**
 * The position of a member's name or an item's start; for a missing node, that of its nearest existing ancestor.
 *
 * @param document The index of the document in the text, from 0.
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
