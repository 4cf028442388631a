/** Whether a subscription of a document may have no field at all. */
import {
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
} from "graphql";

const CONDITIONS: ReadonlySet<string> = new Set(["skip", "include"]);

/**
 * The fault of a document with a subscription whose field stands under @skip or @include, which the specification forbids (Single Root
 * Field, by graphql-spec#860). graphql-js has that rule from 17 on; 16 fails with a TypeError when there is no field,
 * and its own rules throw when a variable decides, for they have none: whichever operation is asked for, they look at
 * all of the document. So this is to be asked before them.
 */
export function faultOfRoots(
  operations: readonly OperationDefinitionNode[],
  fragmentsOf: ReadonlyMap<string, FragmentDefinitionNode>,
): GraphQLError | null {
  // By a list, since nobody has looked yet whether fragments spread themselves; each counts for all who spread it.
  const fragments = new Map(fragmentsOf);
  const sets: SelectionSetNode[] = operations
    .filter(({ operation }) => operation === OperationTypeNode.SUBSCRIPTION)
    .map(({ selectionSet }) => selectionSet);
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
