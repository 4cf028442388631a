/**
 * The cost of an operation: how many field values its answer may hold. A field costs one and what is below it; a list
 * costs that for each of its items. How many items a list has is what its argument `first` says, at most a page; a
 * list without such an argument is taken for `UNPAGED` items.
 */
import { type FieldNode, type GraphQLField, isListType, isNonNullType, Kind } from "graphql";
import { isIntrospection, type Known, type Measure } from "./measures.ts";

export const UNPAGED = 10;

export type Variables = Readonly<Record<string, unknown>>;

const isList = ({ type }: GraphQLField<unknown, unknown>): boolean =>
  isListType(isNonNullType(type) ? type.ofType : type);

export interface CostOptions {
  /** The most items that a paged list gives. */
  readonly page: number;
  readonly variables: Variables;
  /** Told when the cost depends on a variable. */
  readonly onVariable?: () => void;
}

export function cost({ page, variables, onVariable = () => {} }: CostOptions): Measure {
  function itemsOf(node: FieldNode, { field }: Known): number {
    if (field === undefined || !isList(field)) return 1;
    if (!field.args.some(({ name }) => name === "first")) return UNPAGED;
    const value = node.arguments?.find(({ name }) => name.value === "first")?.value;
    if (value?.kind === Kind.VARIABLE) onVariable();
    const first = value?.kind === Kind.VARIABLE ? variables[value.name.value] : undefined;
    const count = value?.kind === Kind.INT ? Number(value.value) : first;
    // What is no number is refused later on, or it is the variable's default value.
    return typeof count === "number" && count >= 0 ? Math.min(count, page) : page;
  }

  return {
    field: (node, below, known) => (isIntrospection(node) ? 0 : itemsOf(node, known) * (1 + below)),
    join: (one, other) => one + other,
  };
}
