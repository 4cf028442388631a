/** The model: what entities are, and everything that derives from it. Imports nothing internal. */

export { type Fields, type SchemaViolation, schemaViolation } from "./check/error.ts";
export { type CheckedEntity, type CheckOptions, checkConfig, checkEntity } from "./check/index.ts";
export { withPort } from "./check/rules/hosts.ts";
export { flatRedis } from "./check/shorthand.ts";
export * from "./document/index.ts";
export type * from "./document.ts";
export * from "./entities/index.ts";
export { type NestedList, nestedLists, type Reference, references } from "./entities/references.ts";
export { coerce } from "./form/coerce.ts";
export { decodeForm, type FormParts } from "./form/index.ts";
export { crds } from "./generate/crd.ts";
export { crdFiles } from "./generate/files.ts";
export { canonical, deriveId, deriveNamelessId, idOf, uuidV5 } from "./ids.ts";
export { mergeEntity } from "./merge/index.ts";
export { toCamel, toSnake } from "./names.ts";
export { normalizePath } from "./path.ts";
export * from "./plugins/index.ts";
export { type Period, periods } from "./plugins/rate-limiting.ts";
export type * from "./push.ts";
export { compileRegex, type PrefixMatch, type Regex } from "./regex.ts";
export * from "./resources/index.ts";
export { type SchemaNode, schemaNode } from "./schema/node.ts";
export * from "./settings/index.ts";
export * from "./snapshot/index.ts";
export type * from "./snapshot.ts";
export type * from "./violation.ts";
export type * from "./wait.ts";
