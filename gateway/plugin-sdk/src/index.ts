/** `@sluice/plugin-sdk`: everything that a plugin may use. */
export * from "./exchange/entities.ts";
export * from "./exchange/exchange.ts";
export * from "./exchange/header-edits.ts";
export * from "./exchange/header-name.ts";
export * from "./exchange/header-value.ts";
export * from "./exchange/unexpected-error.ts";
export * from "./plugin.ts";
export * from "./schema/member.ts";
export * from "./schema/node.ts";
export * from "./schema/rules.ts";
export * from "./services/counters.ts";
export * from "./services/services.ts";
export {
  MAX_RENDERED,
  TemplateError,
  type TemplateScope,
  type TemplateTable,
  type TemplateValue,
} from "./templates/expression.ts";
export * from "./templates/template.ts";
export * from "./tools/identify.ts";
export * from "./tools/json-members.ts";
export * from "./tools/lru-cache.ts";
export * from "./tools/multipart.ts";
export * from "./tools/regex.ts";
export * from "./tools/string-cache.ts";
export type * from "./violation.ts";
