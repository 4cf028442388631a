/** Declarative documents: parsing, validation, and rendering as text. */

export { briefEntity } from "./brief.ts";
export {
  type DeclarativeViolation,
  declarativeViolation,
  describePath,
  describeViolation,
  describeWarnings,
} from "./describe.ts";
export type { FlatDocument, KnownId } from "./flatten/flatten.ts";
export {
  checkDocument,
  type LoadedDocument,
  type LoadedText,
  type LoadOptions,
  loadDocument,
  loadSnapshot,
  loadText,
} from "./load.ts";
export { type ChangedItems, type LoadedItems, loadItems } from "./load-items.ts";
export { type SyntaxFault, syntaxFaults } from "./parse/syntax-errors.ts";
export { type LocatedData, readYaml } from "./parse/yaml.ts";
export { renderDocument } from "./render.ts";
export { editNode } from "./text/edit.ts";
export { type DividedText, divideText } from "./text/items.ts";
export { type ItemText, type Layout, type ListText, layoutOf, layoutText } from "./text/layout.ts";
export { flattenText, type ItemPlace, renderItem } from "./text/render-item.ts";
