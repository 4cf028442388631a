/** Kong's error text for each way in which a value can violate its schema. */
import type { ErrorObject } from "ajv";
import type { SchemaNode } from "../schema/node.ts";

type Text = (schema: SchemaNode, error: ErrorObject) => string;

const expected = (schema: SchemaNode): string => {
  if (schema.type === "array") return schema.uniqueItems === true ? "a set" : "an array";
  if (schema.type === "object") return typeof schema.additionalProperties === "object" ? "a map" : "a record";
  return schema.type === "integer" ? "an integer" : `a ${schema.type}`;
};

const type: Text = (schema, { data }) =>
  data === null || data === undefined ? "required field missing" : `expected ${expected(schema)}`;

const limits: Text = ({ minimum = "-inf", maximum = "inf" }) => `value should be between ${minimum} and ${maximum}`;

const atLeast: Text = (_, { params }) => `length must be at least ${params.limit}`;

const atMost: Text = (_, { params }) => `length must be at most ${params.limit}`;

/**
 * By Ajv's keyword; every keyword of the schemas has its text here. The order is Kong's: if a value fails in several
 * ways, only the first is reported.
 */
export const kongMessages: Readonly<Record<string, Text>> = {
  format: () => "expected a valid UUID",
  type,
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

/** The lowest rank is reported. An invalid UUID is reported as such, whatever its length. */
export const rank = ({ keyword, params }: ErrorObject): number =>
  params.rule === "uuid" ? 0 : (ranks.get(keyword) ?? ranks.size);
