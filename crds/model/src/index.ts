/** The model: what entities are, and everything that derives from it. Imports nothing internal. */
export type * from "./document.ts";
export * from "./entities/index.ts";
export { toCamel, toSnake } from "./names.ts";
export * from "./plugins/index.ts";
export { type Period, periods } from "./plugins/rate-limiting.ts";
export type * from "./push.ts";
export * from "./resources/index.ts";
export type * from "./snapshot.ts";
export type * from "./violation.ts";
export type * from "./wait.ts";
