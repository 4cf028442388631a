/** Helpers for code that walks a schema and a value together. */
import type { SchemaNode } from "./node.ts";

/** A record's own member; undefined for names that the record does not have, inherited ones included. */
export const memberSchemaOf = (schema: SchemaNode, name: string): SchemaNode | undefined =>
  schema.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;

/** The schema of a mapping's values; undefined for everything else. */
export const valuesOf = ({ additionalProperties }: SchemaNode): SchemaNode | undefined =>
  typeof additionalProperties === "object" ? additionalProperties : undefined;

/** A JSON object: neither null nor a list. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
