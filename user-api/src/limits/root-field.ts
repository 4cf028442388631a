/** Rejects subscriptions whose root field may be missing. */
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
 * The error of a document with a subscription whose root field has @skip or @include, which the specification forbids
 * (Single Root Field, graphql-spec#860). graphql-js has that rule from version 17. Version 16 fails with a TypeError
 * when there is no field. Its validation rules throw when a variable decides, because they have no variables and check
 * all operations of the document. So this check must run before them.
 */
export function subscriptionRootError(
  operations: readonly OperationDefinitionNode[],
  fragmentsOf: ReadonlyMap<string, FragmentDefinitionNode>,
): GraphQLError | null {
  // Iterative, because fragment cycles are not checked yet; each fragment counts wherever it is spread.
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
