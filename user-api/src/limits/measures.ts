/** Measures documents and variables of requests. A document is not validated yet: the schema may lack its fields. */
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/**
 * What the schema knows of a selected field. `field` is undefined for a field that the schema does not have, for an
 * introspection field, and for every field below one of these.
 */
export interface SelectedField {
  readonly typeName: string;
  readonly field: GraphQLField<unknown, unknown> | undefined;
}

export interface OperationMeasure {
  /** A field's measure, introspection included; `below` is the measure of its selection set, 0 without one. */
  field(node: FieldNode, below: number, known: SelectedField): number;
  join(one: number, other: number): number;
}

export interface MeasureOptions {
  readonly schema: GraphQLSchema;
  readonly fragments: Fragments;
}

/** Whether a field belongs to introspection. MaxIntrospectionDepthRule of graphql-js limits such fields. */
export const isIntrospection = (node: FieldNode): boolean => node.name.value.startsWith("__");

/**
 * Measures a selection set on a type. Each fragment is measured once, however often it is spread: a chain of
 * fragments that each spread the next one twice would otherwise take exponential time. A fragment that spreads itself
 * counts as 0 at that place; NoFragmentCyclesRule rejects it.
 */
export function measureOperation(
  { selections: all, typeName: root }: { readonly selections: SelectionSetNode; readonly typeName: string },
  { field, join }: OperationMeasure,
  { schema, fragments }: MeasureOptions,
): number {
  const known = new Map<string, number>();

  function ofSet({ selections }: SelectionSetNode, typeName: string): number {
    let total = 0;
    for (const selection of selections) total = join(total, ofSelection(selection, typeName));
    return total;
  }

  function ofSelection(selection: SelectionNode, typeName: string): number {
    switch (selection.kind) {
      case Kind.FIELD: {
        // Below introspection no definitions are looked up; `field` decides how introspection counts.
        const definition = isIntrospection(selection) ? undefined : fieldOf(schema, typeName, selection.name.value);
        const inner = definition === undefined ? "" : getNamedType(definition.type).name;
        const below = selection.selectionSet === undefined ? 0 : ofSet(selection.selectionSet, inner);
        return field(selection, below, { typeName, field: definition });
      }
      case Kind.INLINE_FRAGMENT:
        return ofSet(selection.selectionSet, selection.typeCondition?.name.value ?? typeName);
      case Kind.FRAGMENT_SPREAD: {
        const name = selection.name.value;
        const before = known.get(name);
        if (before !== undefined) return before;
        known.set(name, 0);
        const fragment = fragments.get(name);
        const found = fragment === undefined ? 0 : ofSet(fragment.selectionSet, fragment.typeCondition.name.value);
        known.set(name, found);
        return found;
      }
    }
  }

  return ofSet(all, root);
}

function fieldOf(schema: GraphQLSchema, typeName: string, name: string): GraphQLField<unknown, unknown> | undefined {
  const type = schema.getType(typeName);
  if ((!isObjectType(type) && !isInterfaceType(type)) || isIntrospectionType(type)) return undefined;
  const fields = type.getFields();
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

export const depthMeasure: OperationMeasure = {
  field: (node, below) => (isIntrospection(node) ? 0 : 1 + below),
  join: Math.max,
};

/** The number of fields on the first level, including those of fragments. */
export const rootFields: OperationMeasure = { field: () => 1, join: (one, other) => one + other };

export const UNPAGED = 10;

export type Variables = Readonly<Record<string, unknown>>;

const isList = ({ type }: GraphQLField<unknown, unknown>): boolean =>
  isListType(isNonNullType(type) ? type.ofType : type);

export interface CostOptions {
  /** The maximum length of a paged list. */
  readonly page: number;
  readonly variables: Variables;
  /** Called when the cost depends on a variable. */
  readonly onVariable?: () => void;
}

export function costMeasure({ page, variables, onVariable = () => {} }: CostOptions): OperationMeasure {
  function itemsOf(node: FieldNode, { field }: SelectedField): number {
    if (field === undefined || !isList(field)) return 1;
    if (!field.args.some(({ name }) => name === "first")) return UNPAGED;
    const value = node.arguments?.find(({ name }) => name.value === "first")?.value;
    if (value?.kind === Kind.VARIABLE) onVariable();
    const first = value?.kind === Kind.VARIABLE ? variables[value.name.value] : undefined;
    const count = value?.kind === Kind.INT ? Number(value.value) : first;
    // A value that is not a number is rejected later, or the variable's default applies.
    return typeof count === "number" && count >= 0 ? Math.min(count, page) : page;
  }

  return {
    field: (node, below, known) => (isIntrospection(node) ? 0 : itemsOf(node, known) * (1 + below)),
    join: (one, other) => one + other,
  };
}

const isNest = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Whether lists and objects nest deeper than `limit` in a JSON value. Iterative, and stops at that depth. */
export function nestsDeeper(value: unknown, limit: number): boolean {
  let level = isNest(value) ? [value] : [];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === limit) return true;
    const below: object[] = [];
    for (const nest of level) {
      for (const member of Object.values(nest)) if (isNest(member)) below.push(member);
    }
    level = below;
  }
  return false;
}
