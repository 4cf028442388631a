/** Validates a value with filled-in defaults by its schema. Ajv finds violations; this file words them like Kong. */

import { isRecord, type RecordMembers, type SchemaNode, type Violation } from "@sluice/plugin-sdk";
import { Ajv, type AnySchemaObject, type ErrorObject, type ValidateFunction } from "ajv";
import type { DataValidateFunction } from "ajv/dist/types/index.js";
import type { IntOrString } from "../resources/kind.ts";
import { recordRules, textRules } from "./rules.ts";

/** All violations of a value. A schema is compiled on first use. */
export function validateValue(schema: SchemaNode, value: unknown): readonly Violation[] {
  const check = compiled(schema);
  if (check(value)) return [];
  return tellOnce((check.errors ?? []).map((error) => ({ error, path: pathOf(error, value) })));
}

const cache = new WeakMap<SchemaNode, ValidateFunction>();

function compiled(schema: SchemaNode): ValidateFunction {
  const known = cache.get(schema);
  if (known !== undefined) return known;
  const check = ajv.compile(schema as AnySchemaObject);
  cache.set(schema, check);
  return check;
}

// To optimize the generated code takes longer than to compile the schemas, and no validation is faster after it.
const ajv = new Ajv({ allErrors: true, verbose: true, code: { optimize: false } })
  .addFormat("uuid", (value) => textRules.uuid?.(value) === undefined)
  .addKeyword({ keyword: "rule", schemaType: "string", errors: true, compile: compileRule })
  .addKeyword({ keyword: "intOrString", schemaType: "object", errors: true, compile: compileIntOrString })
  .addKeyword({ keyword: "keyRule", schemaType: "string", type: "object", errors: true, compile: compileKeyRule })
  // Only the API server checks patterns. In a directory, a reference to an impossible name is reported as unresolved.
  .removeKeyword("pattern")
  // As in Kong, duplicates in a set are removed (fillDefaults) and are not a violation.
  .removeKeyword("uniqueItems")
  // Ajv's own keyword would refuse null as the value of a nullable member.
  .removeKeyword("enum")
  .addKeyword({
    keyword: "enum",
    schemaType: "array",
    type: ["string", "number"],
    validate: (words: readonly unknown[], value: unknown) => words.includes(value),
  })
  // Keywords that other code reads.
  .addVocabulary(["reference", "onDelete", "secret", "deprecatedMembers", "unsupportedMembers", "uniqueItems"])
  .addVocabulary(["referenceable"])
  .addVocabulary(["pattern", "own", "open", "cel", "listMapKeys"]);

type Fault = Partial<ErrorObject>;

/** Ajv reads a keyword's errors from a property of its validation function. */
function reporting(find: (value: unknown) => readonly Fault[]): DataValidateFunction {
  const check: DataValidateFunction = (value: unknown) => {
    const faults = find(value);
    check.errors = [...faults];
    return faults.length === 0;
  };
  return check;
}

function compileRule(rule: string, schema: AnySchemaObject): DataValidateFunction {
  if (schema.type === "object") {
    const checkRecord = ruleNamed(recordRules, rule);
    return reporting((value) =>
      isRecord(value)
        ? checkRecord(value).map(({ path, message }) => ({ keyword: "rule", message, params: { path } }))
        : [],
    );
  }
  const checkText = ruleNamed(textRules, rule);
  return reporting((value) => {
    // Only maxLength reports a string that exceeds it: rules quote the value, and may take longer for a longer value.
    if (typeof value !== "string" || value.length > (schema.maxLength ?? Number.POSITIVE_INFINITY)) return [];
    const message = checkText(value);
    return message === undefined ? [] : [{ keyword: "rule", message, params: { rule } }];
  });
}

function compileIntOrString(facts: IntOrString): DataValidateFunction {
  const { minimum = -Infinity, maximum = Infinity, maxLength, rule } = facts;
  const check = ruleNamed(textRules, rule);
  const faultOf = (value: unknown): string | undefined => {
    if (typeof value === "string")
      return value.length > maxLength ? `length must be at most ${maxLength}` : check(value);
    if (!Number.isInteger(value)) return "expected an integer or a string";
    return Number(value) >= minimum && Number(value) <= maximum ? undefined : limits(facts);
  };
  return reporting((value) => {
    const message = faultOf(value);
    return message === undefined ? [] : [{ keyword: "intOrString", message, params: {} }];
  });
}

function compileKeyRule(rule: string): DataValidateFunction {
  const check = ruleNamed(textRules, rule);
  return reporting((value) =>
    Object.keys(value as RecordMembers)
      .map((name) => check(name))
      .filter((message) => message !== undefined)
      .map((message) => ({ keyword: "keyRule", message, params: {} })),
  );
}

function ruleNamed<Rule>(rules: Readonly<Record<string, Rule>>, name: string): Rule {
  const rule = rules[name];
  if (rule === undefined) throw new Error(`a schema names the rule ${name}, which check/rules.ts does not have`);
  return rule;
}

/** The path of an error: the steps of Ajv's JSON pointer, followed by the path that the keyword reports below them. */
function pathOf({ instancePath, params }: ErrorObject, root: unknown): Violation["path"] {
  const path: (string | number)[] = [];
  let at: unknown = root;
  for (const step of instancePath.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    path.push(Array.isArray(at) ? Number(name) : name);
    at = Reflect.get(Object(at), name);
  }
  const below = params.path ?? params.missingProperty ?? params.additionalProperty ?? [];
  return path.concat(below);
}

interface Found {
  readonly error: ErrorObject;
  readonly path: Violation["path"];
}

const isBelow = (path: Violation["path"], list: Violation["path"]): boolean =>
  path.length > list.length && list.every((step, index) => step === path[index]);

/** One violation per path: the one that Kong would find first. A record as a whole may have several violations. */
function tellOnce(found: readonly Found[]): readonly Violation[] {
  const reported = new Set<string>();
  const violations: Violation[] = [];
  for (const { error, path } of found.toSorted((a, b) => rank(a.error) - rank(b.error))) {
    const place = JSON.stringify(path);
    if (reported.has(place) && path.at(-1) !== "@entity") continue;
    // A list with invalid items gets no maxItems violation: it may be short enough without the invalid items.
    if (error.keyword === "maxItems" && found.some((other) => isBelow(other.path, path))) continue;
    reported.add(place);
    const text = kongMessages[error.keyword];
    if (text === undefined) throw new Error(`no text for the keyword ${error.keyword}`);
    violations.push({ path, message: text((error.parentSchema ?? {}) as SchemaNode, error) });
  }
  return violations;
}

/** Kong's error text for one way in which a value can violate its schema. */
type Text = (schema: SchemaNode, error: ErrorObject) => string;

const expected = (schema: SchemaNode): string => {
  if (schema.type === "array") return schema.uniqueItems === true ? "a set" : "an array";
  if (schema.type === "object") return typeof schema.additionalProperties === "object" ? "a map" : "a record";
  return schema.type === "integer" ? "an integer" : `a ${schema.type}`;
};

const type: Text = (schema, { data }) =>
  data === null || data === undefined ? "required field missing" : `expected ${expected(schema)}`;

const limits = ({
  minimum = "-inf",
  maximum = "inf",
}: {
  readonly minimum?: number | string;
  readonly maximum?: number | string;
}): string => `value should be between ${minimum} and ${maximum}`;

const atLeast: Text = (_, { params }) => `length must be at least ${params.limit}`;

const atMost: Text = (_, { params }) => `length must be at most ${params.limit}`;

/**
 * A text for every keyword for which Ajv reports errors with our schemas. The order is Kong's: if a value violates
 * several keywords, only the error of the first is reported.
 */
const kongMessages: Readonly<Record<string, Text>> = {
  format: () => "expected a valid UUID",
  type,
  intOrString: (_, { message = "" }) => message,
  required: ({ reference }) => (reference === undefined ? "required field missing" : "missing primary key"),
  additionalProperties: () => "unknown field",
  enum: (schema) => `expected one of: ${schema.enum?.join(", ")}`,
  exclusiveMinimum: (_, { params }) => `value must be greater than ${params.limit}`,
  minimum: limits,
  maximum: limits,
  minLength: atLeast,
  maxLength: atMost,
  minItems: atLeast,
  maxItems: atMost,
  maxProperties: atMost,
  rule: (_, { message = "" }) => message,
  keyRule: (_, { message = "" }) => message,
};

const ranks = new Map(Object.keys(kongMessages).map((keyword, index) => [keyword, index]));

/** Of a value's errors, the one with the lowest rank is reported. An invalid UUID has rank 0, whatever its length. */
const rank = ({ keyword, params }: ErrorObject): number =>
  params.rule === "uuid" ? 0 : (ranks.get(keyword) ?? ranks.size);
