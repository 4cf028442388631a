/** Which types the result of a query may contain, and which types a mutation changes, for the plugin proxy-cache. */
import type { DocumentNode, FieldNode, OperationDefinitionNode } from "graphql/language/ast.js";
import type { ServiceSchema, ServiceType } from "../cost/service-schema.ts";
import type { OperationVariables } from "../cost/static-cost.ts";
import { evaluatedId, type IdSource, idSource } from "./argument-value.ts";
import { objectPurge, typePurge } from "./purge-names.ts";
import { type ResultObject, resultObjects } from "./result-objects.ts";
import { fragmentsOf, Selections, type SelectionVisitor } from "./selections.ts";

export interface PurgeRule {
  /** Name of a field of the type of mutations. */
  readonly mutation: string;
  /** Names of object types. */
  readonly types: readonly string[];
  /** Path of the argument with the id of the changed object; null: all objects of the types may have changed. */
  readonly id: string | null;
}

/** One object of each of these types changes; without an id that can be told, all objects of the types. */
interface ChangedObject {
  readonly types: readonly string[];
  readonly id: IdSource;
}

/** What an operation means for stored results. */
export interface OperationPurges {
  /**
   * Of a query, the types that its result may contain; of a mutation, the names of what it purges (see purge-names.ts).
   * Only types that rules name.
   */
  readonly names: readonly string[];
  /** What a mutation purges by the ids in its arguments. */
  readonly changed: readonly ChangedObject[];
  /** Where the result of a query has objects that are purged by their ids; null: nowhere, or it cannot be told. */
  readonly objects: ResultObject | null;
}

export const noPurges: OperationPurges = { names: [], changed: [], objects: null };

/** Changed objects of one mutation that are told apart. */
const MAX_CHANGED = 50;

/** The types in a result. Each fragment is entered once. */
class TypesInResult implements SelectionVisitor<ServiceType | undefined> {
  readonly #selections: Selections;
  readonly #schema: ServiceSchema;
  readonly #entered = new Set<string>();
  readonly types = new Set<string>();
  /** Whether the result may contain types that are not in `types`. */
  isOpen = false;

  constructor(selections: Selections, schema: ServiceSchema) {
    this.#selections = selections;
    this.#schema = schema;
  }

  visitOperation({ operation, selectionSet }: OperationDefinitionNode): void {
    this.#selections.visit(selectionSet, this.#enter(this.#schema.roots[operation]), this);
  }

  field({ name, selectionSet }: FieldNode, parent: ServiceType | undefined): void {
    if (selectionSet === undefined) return;
    const field = parent?.fields.get(name.value);
    if (field === undefined) this.isOpen = true;
    this.#selections.visit(selectionSet, field && this.#enter(field.typeName), this);
  }

  fragment(condition: string | undefined, parent: ServiceType | undefined, name: string | undefined) {
    if (name !== undefined && this.#entered.has(name)) return null;
    if (name !== undefined) this.#entered.add(name);
    return condition === undefined ? parent : this.#enter(condition);
  }

  #enter(name: string): ServiceType | undefined {
    const type = this.#schema.types.get(name);
    this.types.add(name);
    // Any type may implement an interface, or belong to a union.
    if (type === undefined || type.isAbstract) this.isOpen = true;
    return type;
  }
}

/** The fields on the first level, with those of fragments. */
function rootFields({ selectionSet }: OperationDefinitionNode, selections: Selections): readonly FieldNode[] {
  const fields: FieldNode[] = [];
  const entered = new Set<string>();
  selections.visit(selectionSet, true, {
    field: (field) => void fields.push(field),
    fragment(_condition, context, name) {
      if (name !== undefined && entered.has(name)) return null;
      if (name !== undefined) entered.add(name);
      return context;
    },
  });
  return fields;
}

/** The names of everything that any rule purges, sorted. */
export const namesOfRules = (rules: readonly PurgeRule[]): readonly string[] =>
  [...new Set(rules.flatMap(({ types }) => types.flatMap(typePurge)))].sort();

/** What an operation purges with the variables of a request, or the types in its result: separated by commas. */
export function evaluatePurges({ names, changed }: OperationPurges, variables: OperationVariables): string {
  if (changed.length === 0) return names.join();
  const objects = changed.flatMap(({ types, id }) => {
    const value = evaluatedId(id, variables);
    return types.flatMap((type) => (value === null ? typePurge(type) : objectPurge(type, value)));
  });
  return [...new Set([...names, ...objects])].join();
}

export class PurgeRules {
  readonly #rules: readonly PurgeRule[];
  readonly #types: readonly string[];
  /** Types whose objects can be purged by their ids. */
  readonly #typesById: ReadonlySet<string>;

  constructor(rules: readonly PurgeRule[]) {
    this.#rules = rules;
    this.#types = [...new Set(rules.flatMap(({ types }) => types))].sort();
    this.#typesById = new Set(rules.flatMap(({ types, id }) => (id === null ? [] : types)));
  }

  purgesOf(operation: OperationDefinitionNode, document: DocumentNode, schema: ServiceSchema): OperationPurges {
    const selections = new Selections(fragmentsOf(document));
    if (operation.operation === "mutation") return this.#changes(operation, selections);
    const found = new TypesInResult(selections, schema);
    found.visitOperation(operation);
    // If the schema does not tell the types of a result, it may contain all of them.
    if (found.isOpen) return { ...noPurges, names: this.#types };
    const names = this.#types.filter((type) => found.types.has(type));
    const types = this.#typesById;
    const mayHaveObjects = operation.operation === "query" && names.some((name) => types.has(name));
    const objects = mayHaveObjects ? resultObjects(operation, { schema, selections, types }) : null;
    return { ...noPurges, names, objects };
  }

  #changes(operation: OperationDefinitionNode, selections: Selections): OperationPurges {
    const names = new Set<string>();
    const changed: ChangedObject[] = [];
    for (const { name, arguments: given = [] } of rootFields(operation, selections)) {
      for (const { mutation, types, id } of this.#rules) {
        if (mutation !== name.value) continue;
        const [argument, ...path] = id === null ? [] : id.split(".");
        const value = given.find((each) => each.name.value === argument)?.value;
        const source = idSource(value, path, operation.variableDefinitions ?? []);
        if (source !== null && changed.length < MAX_CHANGED) changed.push({ types, id: source });
        else for (const type of types) for (const each of typePurge(type)) names.add(each);
      }
    }
    return { ...noPurges, names: [...names].sort(), changed };
  }
}
