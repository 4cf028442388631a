/** Measures GraphQL documents without a schema. Fragments count wherever they are spread. */
import type {
  DefinitionNode,
  DirectiveNode,
  DocumentNode,
  FragmentDefinitionNode,
  SelectionNode,
  SelectionSetNode,
} from "graphql/language/ast.js";
import { Kind } from "graphql/language/kinds.js";

export interface Measures {
  /** The number of nested selection sets. */
  readonly depth: number;
  readonly fields: number;
  /** The fields on the first level. */
  readonly rootFields: number;
  readonly aliases: number;
  readonly directives: number;
}

/** The measures of a part of a document. */
interface Counts extends Measures {
  /** Fields, inline fragments and spreads. */
  readonly selections: number;
}

export interface MeasuredDocument {
  /** The largest values over all operations and fragments, also those that the request does not execute. */
  readonly largest: Measures;
  /** The fields, inline fragments and spreads of all operations together: the steps that computing their costs takes. */
  readonly selections: number;
  /** Whether a field asks for the schema (`__schema` or `__type`). `__typename` does not. */
  readonly introspects: boolean;
  /** The name of a fragment that spreads itself, directly or by others; null: there is none. */
  readonly cycle: string | null;
  /** Whether a fragment is spread that the document does not define. */
  readonly isIncomplete: boolean;
}

const nothing: Counts = { depth: 0, fields: 0, rootFields: 0, aliases: 0, directives: 0, selections: 0 };

/** The measures of two parts of one selection set. */
const joined = (one: Counts, other: Counts): Counts => ({
  depth: Math.max(one.depth, other.depth),
  fields: one.fields + other.fields,
  rootFields: one.rootFields + other.rootFields,
  aliases: one.aliases + other.aliases,
  directives: one.directives + other.directives,
  selections: one.selections + other.selections,
});

const largerOf = (one: Measures, other: Measures): Measures => ({
  depth: Math.max(one.depth, other.depth),
  fields: Math.max(one.fields, other.fields),
  rootFields: Math.max(one.rootFields, other.rootFields),
  aliases: Math.max(one.aliases, other.aliases),
  directives: Math.max(one.directives, other.directives),
});

const withDirectives = (measures: Counts, directives: readonly DirectiveNode[] = []): Counts =>
  directives.length === 0 ? measures : { ...measures, directives: measures.directives + directives.length };

/** The directives of a definition and of its variables. */
const directivesOf = (definition: DefinitionNode): readonly DirectiveNode[] => {
  if (definition.kind !== Kind.OPERATION_DEFINITION && definition.kind !== Kind.FRAGMENT_DEFINITION) return [];
  const variables = definition.variableDefinitions ?? [];
  return [...(definition.directives ?? []), ...variables.flatMap(({ directives = [] }) => directives)];
};

/**
 * Measures each fragment once, however often it is spread: a chain of fragments that each spread the next one twice
 * would otherwise take exponential time.
 */
export function measureDocument(document: DocumentNode): MeasuredDocument {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  /** Null: the fragment is being measured. */
  const known = new Map<string, Counts | null>();
  let introspects = false;
  let cycle: string | null = null;
  let isIncomplete = false;

  function ofSet({ selections }: SelectionSetNode): Counts {
    const counts = selections.reduce((total, selection) => joined(total, ofSelection(selection)), nothing);
    return { ...counts, selections: counts.selections + selections.length };
  }

  function ofSelection(selection: SelectionNode): Counts {
    switch (selection.kind) {
      case Kind.FIELD: {
        const name = selection.name.value;
        if (name === "__schema" || name === "__type") introspects = true;
        const below = selection.selectionSet === undefined ? nothing : ofSet(selection.selectionSet);
        const measures: Counts = {
          depth: below.depth + 1,
          fields: below.fields + 1,
          rootFields: 1,
          aliases: below.aliases + (selection.alias === undefined ? 0 : 1),
          directives: below.directives,
          selections: below.selections,
        };
        return withDirectives(measures, selection.directives);
      }
      case Kind.INLINE_FRAGMENT:
        return withDirectives(ofSet(selection.selectionSet), selection.directives);
      case Kind.FRAGMENT_SPREAD:
        return withDirectives(ofFragment(selection.name.value), selection.directives);
    }
  }

  function ofFragment(name: string): Counts {
    const before = known.get(name);
    if (before === null) cycle = name;
    if (before !== undefined) return before ?? nothing;
    const fragment = fragments.get(name);
    if (fragment === undefined) {
      isIncomplete = true;
      return nothing;
    }
    known.set(name, null);
    const found = withDirectives(ofSet(fragment.selectionSet), directivesOf(fragment));
    known.set(name, found);
    return found;
  }

  let largest: Measures = nothing;
  let selections = 0;
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      const counts = ofSet(definition.selectionSet);
      selections += counts.selections;
      largest = largerOf(largest, withDirectives(counts, directivesOf(definition)));
    } else if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      largest = largerOf(largest, { ...ofFragment(definition.name.value), rootFields: 0 });
    }
  }
  return { largest, selections, introspects, cycle, isIncomplete };
}
