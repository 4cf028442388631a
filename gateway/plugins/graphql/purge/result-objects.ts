/**
 * Finds the objects in the result of a query, so that a mutation of one object purges only the results that have it.
 * Where the objects are follows from the document and the schema; their ids are those in the result.
 */
import type { FieldNode, OperationDefinitionNode, SelectionSetNode } from "graphql/language/ast.js";
import type { ServiceSchema, ServiceType } from "../cost/service-schema.ts";
import { allObjects, oneObject } from "./purge-names.ts";
import type { Selections, SelectionVisitor } from "./selections.ts";

/** The field that identifies an object. */
const ID_FIELD = "id";
/** Selections of an operation, with those of fragments wherever they are spread, for which objects are found. */
const MAX_SELECTIONS = 500;
/** Objects of a result that are told apart. A result with more depends on all objects of their types. */
const MAX_OBJECTS = 100;

/** An object in results. */
export interface ResultObject {
  /** The type, if its objects can be purged by their ids; else null. */
  readonly type: string | null;
  /** The name that the id has in the result; null: it is not selected. */
  readonly idKey: string | null;
  /** The objects below, by their names in the result: those that have, or contain, objects with a type. */
  readonly members: ReadonlyMap<string, ResultObject>;
}

interface ObjectParts {
  readonly typeName: string;
  idKey: string | null;
  readonly members: Map<string, ObjectParts>;
}

/** Builds the tree of objects of an operation. */
class ObjectTree implements SelectionVisitor<ObjectParts> {
  readonly #schema: ServiceSchema;
  readonly #selections: Selections;
  /** Selections that may still be visited; negative: there were too many. */
  left = MAX_SELECTIONS;

  constructor(schema: ServiceSchema, selections: Selections) {
    this.#schema = schema;
    this.#selections = selections;
  }

  build(set: SelectionSetNode, typeName: string): ObjectParts {
    const parts: ObjectParts = { typeName, idKey: null, members: new Map() };
    this.#selections.visit(set, parts, this);
    return parts;
  }

  field({ name, alias, selectionSet }: FieldNode, parts: ObjectParts): void {
    if (--this.left < 0) return;
    const key = (alias ?? name).value;
    if (selectionSet === undefined) {
      if (name.value === ID_FIELD) parts.idKey = Buffer.from(key).toString();
      return;
    }
    const typeName = this.#typeOf(parts.typeName)?.fields.get(name.value)?.typeName;
    // Such a result is purged with every type.
    if (typeName === undefined) return;
    // Several selections of one name are merged in the result.
    const copy = Buffer.from(key).toString();
    const member = parts.members.getOrInsertComputed(copy, () => ({ typeName, idKey: null, members: new Map() }));
    this.#selections.visit(selectionSet, member, this);
  }

  fragment(_condition: string | undefined, parts: ObjectParts): ObjectParts | null {
    // The type of an object is the condition of its fragments: operations with interfaces and unions have no tree.
    return --this.left < 0 ? null : parts;
  }

  #typeOf(name: string): ServiceType | undefined {
    return this.#schema.types.get(name);
  }
}

/** Leaves out what contains no objects of the types. */
function objectsOf({ typeName, idKey, members }: ObjectParts, types: ReadonlySet<string>): ResultObject | null {
  const kept = new Map<string, ResultObject>();
  for (const [key, member] of members) {
    const object = objectsOf(member, types);
    if (object !== null) kept.set(key, object);
  }
  const type = types.has(typeName) ? typeName : null;
  return type === null && kept.size === 0 ? null : { type, idKey, members: kept };
}

/**
 * The objects in the results of a query without interfaces and unions. Null: there are none of these types, or the
 * query is too large.
 *
 * @param types Types whose objects can be purged by their ids
 */
export function resultObjects(
  { selectionSet }: OperationDefinitionNode,
  {
    schema,
    selections,
    types,
  }: {
    readonly schema: ServiceSchema;
    readonly selections: Selections;
    readonly types: ReadonlySet<string>;
  },
): ResultObject | null {
  const tree = new ObjectTree(schema, selections);
  const root = tree.build(selectionSet, schema.roots.query);
  return tree.left < 0 ? null : objectsOf(root, types);
}

/**
 * The names of purges on which a result depends (see purge-names.ts).
 *
 * @param types The types that the result may contain, of those that rules name
 * @param body The result as JSON, which has data
 */
export function namesInResult(root: ResultObject, types: readonly string[], body: Buffer): readonly string[] {
  const found = new Map<string, Set<string>>();
  /** Types of which the result has an object without an id, or too many objects. */
  const open = new Set<string>();
  let count = 0;
  const { data } = JSON.parse(body.toString()) as { readonly data: unknown };
  // No recursion: the depth of lists is that of the service's result.
  const waiting: { readonly value: unknown; readonly object: ResultObject }[] = [{ value: data, object: root }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, object } = next;
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) {
      for (const item of value) waiting.push({ value: item, object });
      continue;
    }
    const record = value as Readonly<Record<string, unknown>>;
    for (const [key, member] of object.members) waiting.push({ value: record[key], object: member });
    const { type, idKey } = object;
    if (type === null) continue;
    const id = idKey === null ? undefined : record[idKey];
    // A longer number has lost digits.
    if ((typeof id === "string" || Number.isSafeInteger(id)) && ++count <= MAX_OBJECTS)
      found.getOrInsertComputed(type, () => new Set<string>()).add(oneObject(type, String(id)));
    else open.add(type);
  }
  const isById = typesIn(root);
  return types.flatMap((type) =>
    !isById.has(type) || open.has(type) ? [type] : [allObjects(type), ...(found.get(type) ?? [])],
  );
}

/** The types whose objects the tree finds. */
function typesIn({ type, members }: ResultObject): ReadonlySet<string> {
  const types = new Set<string>(type === null ? [] : [type]);
  for (const member of members.values()) for (const below of typesIn(member)) types.add(below);
  return types;
}
