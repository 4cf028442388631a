/** Measures a document before it is validated: what is found here need not fit the schema. */
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** What the schema says of a field; undefined where the document does not fit it, and below introspection. */
export interface Known {
  readonly typeName: string;
  readonly field: GraphQLField<unknown, unknown> | undefined;
}

/** How a document is measured. */
export interface Measure {
  /** A field's measure; `below` is the one of the fields below it, 0 without any; of introspection too. */
  field(node: FieldNode, below: number, known: Known): number;
  /** Of fields that stand side by side. */
  join(one: number, other: number): number;
}

export interface MeasureOptions {
  readonly schema: GraphQLSchema;
  readonly fragments: Fragments;
}

/** Introspection asks about the schema; graphql-js' MaxIntrospectionDepthRule bounds it. */
export const isIntrospection = (node: FieldNode): boolean => node.name.value.startsWith("__");

/**
 * Measures a selection set on a type. Each fragment is measured once, however often it is spread: fragments that
 * spread each other twice would take for ever. A fragment that spreads itself counts as 0 there;
 * NoFragmentCyclesRule refuses it.
 */
export function measure(
  { selections: all, typeName: root }: { readonly selections: SelectionSetNode; readonly typeName: string },
  { field, join }: Measure,
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
        // Below introspection there is nothing but names and aliases to find; its own measure says what that counts.
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

/** How many levels of fields there are. */
export const depth: Measure = {
  field: (node, below) => (isIntrospection(node) ? 0 : 1 + below),
  join: Math.max,
};

/** How many fields the first level has, those of fragments included. */
export const rootFields: Measure = { field: () => 1, join: (one, other) => one + other };
