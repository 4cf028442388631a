/** Whether a subscription may have no field at all. */
import { type FragmentDefinitionNode, GraphQLError, Kind, OperationTypeNode, type SelectionSetNode } from "graphql";
import type { Operation } from "../limits/documents.ts";

const CONDITIONS: ReadonlySet<string> = new Set(["skip", "include"]);

/**
 * The fault of a subscription whose field stands under @skip or @include, which the specification forbids (Single Root
 * Field, by graphql-spec#860). graphql-js has that rule from 17 on; 16 fails with a TypeError when there is no field,
 * and its own rules throw when a variable decides, for they have none. So this is to be asked before them.
 */
export function faultOfRoot({ document, node }: Pick<Operation, "document" | "node">): GraphQLError | null {
  if (node.operation !== OperationTypeNode.SUBSCRIPTION) return null;
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }

  // By a list, since nobody has looked yet whether fragments spread themselves.
  const sets: SelectionSetNode[] = [node.selectionSet];
  for (const { selections } of sets) {
    for (const selection of selections) {
      const condition = selection.directives?.find(({ name }) => CONDITIONS.has(name.value));
      if (condition !== undefined) {
        return new GraphQLError("The field of a subscription must not stand under @skip or @include", {
          nodes: condition,
        });
      }
      if (selection.kind === Kind.INLINE_FRAGMENT) sets.push(selection.selectionSet);
      if (selection.kind !== Kind.FRAGMENT_SPREAD) continue;
      const fragment = fragments.get(selection.name.value);
      fragments.delete(selection.name.value);
      if (fragment !== undefined) sets.push(fragment.selectionSet);
    }
  }
  return null;
}
