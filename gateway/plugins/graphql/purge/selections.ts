/** Visits the fields of a selection set, with those of its fragments. */
import type {
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  SelectionNode,
  SelectionSetNode,
} from "graphql/language/ast.js";
import { Kind } from "graphql/language/kinds.js";

export type FragmentsByName = ReadonlyMap<string, FragmentDefinitionNode>;

export const fragmentsOf = ({ definitions }: DocumentNode): FragmentsByName =>
  new Map(
    definitions.flatMap((one) => (one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one] as const] : [])),
  );

/** `Context` is what the visitor knows about the object whose fields are selected. */
export interface SelectionVisitor<Context> {
  field(field: FieldNode, context: Context): void;
  /**
   * The context for the selections of an inline fragment or of a spread fragment; null: they are skipped.
   *
   * @param condition The name of the fragment's type; undefined: it has none
   * @param name The name of a fragment that is spread; undefined: it is inline
   */
  fragment(condition: string | undefined, context: Context, name: string | undefined): Context | null;
}

export class Selections {
  readonly #fragments: FragmentsByName;

  constructor(fragments: FragmentsByName) {
    this.#fragments = fragments;
  }

  visit<Context>({ selections }: SelectionSetNode, context: Context, visitor: SelectionVisitor<Context>): void {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) visitor.field(selection, context);
      else this.#visitFragment(selection, context, visitor);
    }
  }

  #visitFragment<Context>(
    selection: Exclude<SelectionNode, FieldNode>,
    context: Context,
    visitor: SelectionVisitor<Context>,
  ): void {
    const name = selection.kind === Kind.FRAGMENT_SPREAD ? selection.name.value : undefined;
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(selection.name.value) : selection;
    if (fragment === undefined) return;
    const inner = visitor.fragment(fragment.typeCondition?.name.value, context, name);
    if (inner !== null) this.visit(fragment.selectionSet, inner, visitor);
  }
}
