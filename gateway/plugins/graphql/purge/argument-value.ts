/** The value of an argument that identifies an object, with the variables of a request. */
import type { ValueNode, VariableDefinitionNode } from "graphql/language/ast.js";
import { Kind } from "graphql/language/kinds.js";
import type { OperationVariables } from "../cost/static-cost.ts";

/** Where the id of an object is. Null: it cannot be told, or the argument has no such value. */
export type IdSource = { readonly fixed: string } | VariableId | null;

interface VariableId {
  readonly variable: string;
  /** Names of members of the variable's value. */
  readonly path: readonly string[];
  /** The value if the variable is absent. */
  readonly byDefault: string | null;
}

/** Services serialize ids as strings, and accept numbers. */
const idIn = (value: unknown): string | null =>
  typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value)) ? String(value) : null;

/** Copies of texts of a document: a substring keeps its document in memory. */
const copyOf = (text: string): string => Buffer.from(text).toString();

/**
 * @param value Undefined: the argument is absent
 * @param path Names of members of the value
 */
export function idSource(
  value: ValueNode | undefined,
  path: readonly string[],
  definitions: readonly VariableDefinitionNode[],
): IdSource {
  if (value?.kind === Kind.VARIABLE) {
    const name = value.name.value;
    const definition = definitions.find(({ variable }) => variable.name.value === name);
    const byDefault = fixedId(definition?.defaultValue, path);
    return { variable: copyOf(name), path, byDefault };
  }
  const [first, ...rest] = path;
  if (first !== undefined && value?.kind === Kind.OBJECT) {
    const member = value.fields.find(({ name }) => name.value === first);
    return idSource(member?.value, rest, definitions);
  }
  const fixed = fixedId(value, path);
  return fixed === null ? null : { fixed };
}

function fixedId(value: ValueNode | undefined, [first, ...rest]: readonly string[]): string | null {
  if (first !== undefined)
    return value?.kind === Kind.OBJECT
      ? fixedId(value.fields.find(({ name }) => name.value === first)?.value, rest)
      : null;
  return value?.kind === Kind.STRING || value?.kind === Kind.INT ? copyOf(value.value) : null;
}

export function evaluatedId(source: IdSource, variables: OperationVariables): string | null {
  if (source === null) return null;
  if ("fixed" in source) return source.fixed;
  if (!Object.hasOwn(variables, source.variable)) return source.byDefault;
  let value = variables[source.variable];
  for (const name of source.path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return idIn(value);
}
