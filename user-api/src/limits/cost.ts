/**
 * The cost of an operation: how many field values its result may hold. A field costs one plus the fields below it; a
 * list multiplies that by its length. The length is the argument `first`, at most a page, or `UNPAGED` for a list
 * without that argument.
 */
import { type FieldNode, type GraphQLField, isListType, isNonNullType, Kind } from "graphql";
import { isIntrospection, type Known, type Measure } from "./measures.ts";

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

export function cost({ page, variables, onVariable = () => {} }: CostOptions): Measure {
  function itemsOf(node: FieldNode, { field }: Known): number {
    if (field === undefined || !isList(field)) return 1;
    if (!field.args.some(({ name }) => name === "first")) return UNPAGED;
    const value = node.arguments?.find(({ name }) => name.value === "first")?.value;
    if (value?.kind === Kind.VARIABLE) onVariable();
    const first = value?.kind === Kind.VARIABLE ? variables[value.name.value] : undefined;
    const count = value?.kind === Kind.INT ? Number(value.value) : first;
    // A value that is no number is rejected later, or the variable's default applies.
    return typeof count === "number" && count >= 0 ? Math.min(count, page) : page;
  }

  return {
    field: (node, below, known) => (isIntrospection(node) ? 0 : itemsOf(node, known) * (1 + below)),
    join: (one, other) => one + other,
  };
}
