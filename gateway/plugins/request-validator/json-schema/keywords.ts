/** The keywords of JSON Schema that the plugin supports, with the drafts that define them and their valid values. */
import { compileRegex, isRecord } from "@sluice/plugin-sdk";

/** Versions of JSON Schema, oldest first. */
export const drafts = ["draft4", "draft7", "draft201909", "draft202012"] as const;
export type Draft = (typeof drafts)[number];

export type SchemaObject = Readonly<Record<string, unknown>>;

/** Where subschemas are in the value of a keyword. */
type Subschemas = "one" | "list" | "by name" | "one or list" | "by name, or names";

interface Keyword {
  readonly from?: Draft;
  readonly until?: Draft;
  readonly subschemas?: Subschemas;
  /** The error of a value, such as `must be a number`; null: the value is valid. */
  fault?(value: unknown, draft: Draft): string | null;
}

const must = (isValid: (value: unknown, draft: Draft) => boolean, expected: string) => ({
  fault: (value: unknown, draft: Draft) => (isValid(value, draft) ? null : `must be ${expected}`),
});

const isText = (value: unknown): value is string => typeof value === "string";
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const types = ["null", "boolean", "object", "array", "number", "string", "integer"];

const count = must((value) => Number.isSafeInteger(value) && Number(value) >= 0, "a non-negative integer");
const number = must(Number.isFinite, "a number");
const limit = must(
  (value, draft) => (draft === "draft4" ? typeof value === "boolean" : Number.isFinite(value)),
  "a number (in draft 4 a boolean)",
);
const text = must(isText, "a string");
const texts = must(isTexts, "a list of strings");

const regex = (value: unknown): string | null => {
  if (!isText(value)) return "must be a regular expression";
  const [violation] = compileRegex(value).violations ?? [];
  return violation === undefined ? null : `is an invalid regular expression: ${violation.message}`;
};

const unsupported = { fault: () => "is not supported" };

/** Other keywords are ignored, as JSON Schema demands. */
export const keywords: Readonly<Record<string, Keyword>> = {
  $ref: text,
  $id: text,
  id: { ...text, until: "draft4" },
  $anchor: { ...text, from: "draft201909" },
  $dynamicRef: { ...unsupported, from: "draft202012" },
  $recursiveRef: { ...unsupported, from: "draft201909", until: "draft201909" },
  type: must(
    (value) => {
      const list = Array.isArray(value) ? value : [value];
      return list.length > 0 && list.every((each) => types.includes(each));
    },
    `one or several of ${types.join(", ")}`,
  ),
  enum: must(Array.isArray, "a list"),
  const: { from: "draft7" },
  minimum: number,
  maximum: number,
  exclusiveMinimum: limit,
  exclusiveMaximum: limit,
  multipleOf: must((value) => Number.isFinite(value) && Number(value) > 0, "a number above 0"),
  minLength: count,
  maxLength: count,
  pattern: { fault: regex },
  format: text,
  minItems: count,
  maxItems: count,
  uniqueItems: must((value) => typeof value === "boolean", "a boolean"),
  minContains: { ...count, from: "draft201909" },
  maxContains: { ...count, from: "draft201909" },
  minProperties: count,
  maxProperties: count,
  required: texts,
  dependentRequired: {
    from: "draft201909",
    ...must((value) => isRecord(value) && Object.values(value).every(isTexts), "an object of lists of strings"),
  },
  items: { subschemas: "one or list" },
  prefixItems: { from: "draft202012", subschemas: "list" },
  additionalItems: { until: "draft201909", subschemas: "one" },
  unevaluatedItems: { from: "draft201909", subschemas: "one" },
  contains: { from: "draft7", subschemas: "one" },
  properties: { subschemas: "by name" },
  patternProperties: {
    subschemas: "by name",
    fault: (value) => (isRecord(value) ? (Object.keys(value).map(regex).find(isText) ?? null) : null),
  },
  additionalProperties: { subschemas: "one" },
  unevaluatedProperties: { from: "draft201909", subschemas: "one" },
  propertyNames: { from: "draft7", subschemas: "one" },
  dependencies: { until: "draft7", subschemas: "by name, or names" },
  dependentSchemas: { from: "draft201909", subschemas: "by name" },
  allOf: { subschemas: "list" },
  anyOf: { subschemas: "list" },
  oneOf: { subschemas: "list" },
  not: { subschemas: "one" },
  if: { from: "draft7", subschemas: "one" },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { from: "draft7", subschemas: "one" },
  else: { from: "draft7", subschemas: "one" },
  definitions: { subschemas: "by name" },
  $defs: { from: "draft201909", subschemas: "by name" },
};

const isSchema = (value: unknown): boolean => isRecord(value) || typeof value === "boolean";

function isIn(draft: Draft, { from = "draft4", until = "draft202012" }: Keyword): boolean {
  const at = drafts.indexOf(draft);
  return at >= drafts.indexOf(from) && at <= drafts.indexOf(until);
}

/** The keywords of a schema that its draft defines. */
export const keywordsOf = (schema: SchemaObject, draft: Draft): SchemaObject =>
  Object.fromEntries(
    Object.entries(schema).filter(([name]) => {
      const keyword = Object.hasOwn(keywords, name) ? keywords[name] : undefined;
      return keyword !== undefined && isIn(draft, keyword);
    }),
  );

/** The subschemas in a keyword's value, with their paths below the keyword; null: the value has another form. */
function subschemasIn(kind: Subschemas, value: unknown): readonly (readonly [path: string, value: unknown])[] | null {
  if (kind.includes("list") && Array.isArray(value)) return value.map((each, index) => [`/${index}`, each]);
  if (kind.startsWith("one") && isSchema(value)) return [["", value]];
  if (!kind.startsWith("by name") || !isRecord(value)) return null;
  const named = Object.entries(value).map(([name, each]) => [`/${name}`, each] as const);
  return kind === "by name" ? named : named.filter(([, each]) => !isTexts(each));
}

/** Maximum levels of subschemas. */
const MAX_LEVELS = 64;

/** Every error in a schema, with the path to it, such as `/properties/a/pattern`. */
export function schemaFaults(schema: unknown, draft: Draft, at = "", level = 0): readonly string[] {
  const place = at === "" ? "the schema" : at;
  if (typeof schema === "boolean") return [];
  if (level > MAX_LEVELS) return [`${place} is nested in more than ${MAX_LEVELS} other schemas`];
  if (!isRecord(schema)) return [`${place} must be an object or a boolean`];
  return Object.entries(keywordsOf(schema, draft)).flatMap(([name, value]) => {
    const keyword = keywords[name];
    const fault = keyword?.fault?.(value, draft) ?? null;
    if (fault !== null) return [`${at}/${name} ${fault}`];
    if (keyword?.subschemas === undefined) return [];
    const found = subschemasIn(keyword.subschemas, value);
    if (found === null) return [`${at}/${name} must contain schemas`];
    return found.flatMap(([below, each]) => schemaFaults(each, draft, `${at}/${name}${below}`, level + 1));
  });
}
