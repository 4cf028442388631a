/** Declarative documents: text and data in, checked documents out, and back to text. */
export {
  type DeclarativeViolation,
  declarativeViolation,
  describePath,
  describeViolation,
} from "./describe.ts";
export {
  checkDocument,
  type LoadedDocument,
  type LoadedText,
  type LoadOptions,
  loadDocument,
  loadSnapshot,
  loadText,
} from "./load.ts";
export { renderDocument } from "./render.ts";
