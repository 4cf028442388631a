/** Reads the schema of a service from the response to an introspection query (GraphQL, October 2021, section 4). */
import { isRecord } from "@sluice/plugin-sdk";
import type { ConstValueNode } from "graphql/language/ast.js";
import { parseConstValue } from "graphql/language/parser.js";
import {
  noSchema,
  type ServiceArgument,
  type ServiceField,
  type ServiceSchema,
  type ServiceType,
} from "./service-schema.ts";

/** Levels of lists and non-null types around a named type: seven are `[[[T!]!]!]!`. */
const LEVELS = 7;

const wrapped = (levels: number): string =>
  levels === 0 ? "kind name" : `kind name ofType { ${wrapped(levels - 1)} }`;

export const introspectionQuery = `query SluiceSchema {
  __schema {
    queryType { name } mutationType { name } subscriptionType { name }
    types { kind name fields(includeDeprecated: true) { name args { name defaultValue } type { ${wrapped(LEVELS)} } } }
  }
}`;

const ABSTRACT: ReadonlySet<unknown> = new Set(["INTERFACE", "UNION"]);

type Members = Readonly<Record<string, unknown>>;

const recordsIn = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Null: the type is nested too deeply, or is none. */
function typeOf(type: unknown): Pick<ServiceField, "typeName" | "listDepth"> | null {
  if (!isRecord(type)) return null;
  if (type.kind !== "LIST" && type.kind !== "NON_NULL")
    return typeof type.name === "string" ? { typeName: type.name, listDepth: 0 } : null;
  const inner = typeOf(type.ofType);
  return inner && { ...inner, listDepth: inner.listDepth + (type.kind === "LIST" ? 1 : 0) };
}

/** The default of an argument, which the response has as text in the syntax of GraphQL. */
function defaultOf(text: unknown): ConstValueNode | null {
  if (typeof text !== "string") return null;
  try {
    return parseConstValue(text, { noLocation: true, maxTokens: 1000 });
  } catch {
    return null;
  }
}

function fieldOf(field: Members): ServiceField {
  const type = typeOf(field.type);
  if (type === null) throw new Error(`the field ${String(field.name).slice(0, 100)} has no type that can be read`);
  const given = recordsIn(field.args).map(({ name, defaultValue }): readonly [string, ServiceArgument] => [
    String(name),
    { weight: 0, byDefault: defaultOf(defaultValue) },
  ]);
  return { ...type, weight: null, listSize: null, arguments: new Map(given) };
}

const serviceType = ({ kind, fields }: Members): ServiceType => ({
  isComposite: kind === "OBJECT" || ABSTRACT.has(kind),
  isAbstract: ABSTRACT.has(kind),
  weight: null,
  fields: new Map(recordsIn(fields).map((field) => [String(field.name), fieldOf(field)])),
});

/**
 * Weights and sizes of lists are not in the response: introspection does not show applied directives.
 *
 * @param response The parsed body of a response
 * @throws Error with a clause if the response has no schema
 */
export function readIntrospection(response: unknown): ServiceSchema {
  const { data, errors } = Object(response) as Members;
  const { __schema: schema } = Object(data) as Members;
  const { queryType, mutationType, subscriptionType, types } = Object(schema) as Members;
  const nameOf = (type: unknown, other: string) =>
    isRecord(type) && typeof type.name === "string" ? type.name : other;
  const read = new Map(recordsIn(types).map((type) => [String(type.name), serviceType(type)]));
  const { roots } = noSchema;
  const query = nameOf(queryType, roots.query);
  if (!read.has(query)) {
    const [first] = recordsIn(errors);
    const reason = typeof first?.message === "string" ? ` (${first.message.slice(0, 200)})` : "";
    throw new Error(`the response has no schema${reason}`);
  }
  return {
    types: read,
    roots: {
      query,
      mutation: nameOf(mutationType, roots.mutation),
      subscription: nameOf(subscriptionType, roots.subscription),
    },
  };
}
