/** Which types the result of a query may contain, and which types a mutation changes, for the plugin proxy-cache. */
import type {
  DocumentNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  SelectionSetNode,
} from "graphql/language/ast.js";
import { Kind } from "graphql/language/kinds.js";
import type { ServiceSchema, ServiceType } from "./cost/service-schema.ts";

export interface PurgeRule {
  /** Name of a field of the type of mutations. */
  readonly mutation: string;
  /** Names of object types. */
  readonly types: readonly string[];
}

/** Finds the selections of an operation, with those of its fragments, each of which is visited once. */
class SelectionWalk {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #seen = new Set<string>();
  readonly #schema: ServiceSchema;
  readonly types = new Set<string>();
  /** Whether the result may contain types that are not in `types`. */
  isOpen = false;

  constructor(document: DocumentNode, schema: ServiceSchema) {
    const fragments = document.definitions.filter((one) => one.kind === Kind.FRAGMENT_DEFINITION);
    this.#fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
    this.#schema = schema;
  }

  visitOperation({ operation, selectionSet }: OperationDefinitionNode): void {
    this.#visit(selectionSet, this.#enter(this.#schema.roots[operation]));
  }

  #visit({ selections }: SelectionSetNode, parent: ServiceType | undefined): void {
    for (const selection of selections) {
      switch (selection.kind) {
        case Kind.FIELD: {
          if (selection.selectionSet === undefined) break;
          const field = parent?.fields.get(selection.name.value);
          this.#visit(selection.selectionSet, field && this.#enter(field.typeName));
          if (field === undefined) this.isOpen = true;
          break;
        }
        case Kind.INLINE_FRAGMENT: {
          const condition = selection.typeCondition?.name.value;
          this.#visit(selection.selectionSet, condition === undefined ? parent : this.#enter(condition));
          break;
        }
        case Kind.FRAGMENT_SPREAD: {
          const fragment = this.#fragments.get(selection.name.value);
          if (fragment === undefined || this.#seen.has(fragment.name.value)) break;
          this.#seen.add(fragment.name.value);
          this.#visit(fragment.selectionSet, this.#enter(fragment.typeCondition.name.value));
          break;
        }
      }
    }
  }

  #enter(name: string): ServiceType | undefined {
    const type = this.#schema.types.get(name);
    this.types.add(name);
    // Any type may implement an interface, or belong to a union.
    if (type === undefined || type.isAbstract) this.isOpen = true;
    return type;
  }
}

/** Names of the fields on the first level, with those of fragments. */
function rootFields({ selectionSet }: OperationDefinitionNode, document: DocumentNode): ReadonlySet<string> {
  const names = new Set<string>();
  const seen = new Set<string>();
  const fragments = new Map(
    document.definitions.flatMap((one) =>
      one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one.selectionSet] as const] : [],
    ),
  );
  const visit = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) names.add(selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) visit(selection.selectionSet);
      else {
        const fragment = fragments.get(selection.name.value);
        if (fragment === undefined || seen.has(selection.name.value)) continue;
        seen.add(selection.name.value);
        visit(fragment);
      }
    }
  };
  visit(selectionSet);
  return names;
}

/** The types that any rule names, sorted. */
export const typesOfRules = (rules: readonly PurgeRule[]): readonly string[] =>
  [...new Set(rules.flatMap(({ types }) => types))].sort();

export class PurgeRules {
  readonly #rules: readonly PurgeRule[];
  readonly #types: readonly string[];

  constructor(rules: readonly PurgeRule[]) {
    this.#rules = rules;
    this.#types = typesOfRules(rules);
  }

  /**
   * The types that the result of a query may contain, or that a mutation changes: of those that the rules name, sorted.
   * If the schema does not tell the types of a result, all of them.
   */
  typesOf(operation: OperationDefinitionNode, document: DocumentNode, schema: ServiceSchema): readonly string[] {
    if (operation.operation === "mutation") {
      const fields = rootFields(operation, document);
      const changed = new Set(this.#rules.flatMap(({ mutation, types }) => (fields.has(mutation) ? types : [])));
      return this.#types.filter((type) => changed.has(type));
    }
    const walk = new SelectionWalk(document, schema);
    walk.visitOperation(operation);
    return walk.isOpen ? this.#types : this.#types.filter((type) => walk.types.has(type));
  }
}
