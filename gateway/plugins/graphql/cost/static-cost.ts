/**
 * The static cost of operations: an upper bound of the objects in the result, with weights. An object costs 1, a scalar
 * nothing, a mutation 10 in addition (the defaults of Apollo's routers); a list multiplies the cost of its items.
 */
import type {
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  SelectionSetNode,
  ValueNode,
} from "graphql/language/ast.js";
import { Kind } from "graphql/language/kinds.js";
import type { ServiceField, ServiceSchema } from "./service-schema.ts";

const MUTATION = 10;
/** Fields of a connection that hold its list (GraphQL Cursor Connections Specification), and its usual short form. */
const CONNECTION_LISTS = ["edges", "nodes"];

export type OperationVariables = Readonly<Record<string, unknown>>;

/** A size that a request's variable decides. */
interface VariableSize {
  readonly variable: string;
  /** Names of members of the variable's value. */
  readonly path: readonly string[];
  /** The size if the variable is absent; null: it has no default. */
  readonly byDefault: number | null;
}

/** The largest of several sizes; `assumed` if there is none. */
interface Size {
  readonly fixed: number | null;
  readonly variables: readonly VariableSize[];
  readonly assumed: number;
}

/** A list whose size depends on variables. */
interface Term {
  readonly size: Size;
  readonly items: Cost;
}

/** The sum of a number and of terms. */
export interface Cost {
  readonly fixed: number;
  readonly terms: readonly Term[];
}

export interface StaticCostOptions {
  readonly schema: ServiceSchema;
  /** The size of lists that nothing limits. */
  readonly listSize: number;
  /** Names of arguments that limit the size of a list without `@listSize`. */
  readonly slicingArguments: readonly string[];
}

/** The size that a value stands for; null: none. Scalars of some services accept numbers in strings. */
function sizeIn(value: unknown): number | null {
  const size = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof size === "number" && Number.isFinite(size) && size >= 0 ? size : null;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) found = Object(found)[name];
  return found;
}

function evaluatedSize({ fixed, variables, assumed }: Size, values: OperationVariables): number {
  let largest = fixed;
  for (const { variable, path, byDefault } of variables) {
    const value = Object.hasOwn(values, variable) ? sizeIn(valueAt(values[variable], path)) : byDefault;
    if (value !== null) largest = Math.max(largest ?? 0, value);
  }
  return largest ?? assumed;
}

/** The largest cost: higher ones, also those that numbers cannot hold, count as this one. */
export const MAX_COST = 1_000_000_000;

/** The cost with the variables of a request: a whole number from 1 to `MAX_COST`. */
export function evaluateCost(cost: Cost, variables: OperationVariables): number {
  const sum = sumOf(cost, variables);
  return sum < MAX_COST ? Math.max(1, Math.ceil(sum)) : MAX_COST;
}

const sumOf = ({ fixed, terms }: Cost, variables: OperationVariables): number => {
  let sum = fixed;
  for (const { size, items } of terms) sum += evaluatedSize(size, variables) * sumOf(items, variables);
  return sum;
};

/** The number of terms, which take memory. */
export const termsIn = ({ terms }: Cost): number => terms.reduce((sum, { items }) => sum + 1 + termsIn(items), 0);

/** The size of the list fields of an object, from the arguments of the field that returned the object. */
interface SizedFields {
  readonly names: readonly string[];
  readonly size: Size;
}

/**
 * Computes the cost of an operation. The document must be within the limits of the config, which bound the time: the
 * fields of a fragment may be computed wherever it is spread, and each spread fragment must exist.
 */
export function costOf(
  operation: OperationDefinitionNode,
  document: DocumentNode,
  { schema, listSize, slicingArguments }: StaticCostOptions,
): Cost {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  /** The costs of fragments whose lists have sizes of their own. */
  const known = new Map<string, Cost>();
  const defaults = new Map(
    (operation.variableDefinitions ?? []).map(({ variable, defaultValue }) => [variable.name.value, defaultValue]),
  );

  function ofSet({ selections }: SelectionSetNode, typeName: string, sized: SizedFields | null): Cost {
    let fixed = 0;
    const terms: Term[] = [];
    for (const selection of selections) {
      const part = ofSelection(selection, typeName, sized);
      fixed += part.fixed;
      terms.push(...part.terms);
    }
    return { fixed, terms };
  }

  function ofSelection(selection: SelectionSetNode["selections"][number], typeName: string, sized: SizedFields | null) {
    if (selection.kind === Kind.FIELD) return ofField(selection, typeName, sized);
    if (selection.kind === Kind.INLINE_FRAGMENT)
      return ofSet(selection.selectionSet, selection.typeCondition?.name.value ?? typeName, sized);
    return ofFragment(selection.name.value, sized);
  }

  function ofFragment(name: string, sized: SizedFields | null): Cost {
    const before = sized === null ? known.get(name) : undefined;
    if (before !== undefined) return before;
    const fragment = fragments.get(name);
    if (fragment === undefined) return { fixed: 0, terms: [] };
    const cost = ofSet(fragment.selectionSet, fragment.typeCondition.name.value, sized);
    if (sized === null) known.set(name, cost);
    return cost;
  }

  function ofField(node: FieldNode, parent: string, sized: SizedFields | null): Cost {
    const name = node.name.value;
    const field = schema.types.get(parent)?.fields.get(name);
    const type = field === undefined ? undefined : schema.types.get(field.typeName);
    const isComposite = type?.isComposite ?? node.selectionSet !== undefined;
    const own = field?.weight ?? type?.weight ?? (isComposite ? 1 : 0);
    const sizes = field === undefined ? null : sizesOf(node, field);
    const below = sizes?.sizedFields ?? null;
    const inner = node.selectionSet === undefined ? null : ofSet(node.selectionSet, field?.typeName ?? "", below);
    const item: Cost = { fixed: own + (inner?.fixed ?? 0), terms: inner?.terms ?? [] };
    const list = field !== undefined && field.listDepth > 0 ? field : null;
    const size = sized?.names.includes(name) === true ? sized.size : sizes?.own;
    const total = list === null || size == null ? item : times(item, size, listSize ** (list.listDepth - 1));
    return { fixed: total.fixed + weightOfArguments(node, field), terms: total.terms };
  }

  function times({ fixed, terms }: Cost, size: Size, factor: number): Cost {
    const items: Cost = {
      fixed: fixed * factor,
      terms: factor === 1 ? terms : terms.map((term) => scaled(term, factor)),
    };
    if (size.variables.length > 0) return { fixed: 0, terms: [{ size, items }] };
    const count = evaluatedSize(size, {});
    return { fixed: items.fixed * count, terms: items.terms.map((term) => scaled(term, count)) };
  }

  /** The own size of a list field, or the size of the list fields of the object that it returns. */
  function sizesOf(node: FieldNode, field: ServiceField): { own: Size; sizedFields: SizedFields | null } {
    const { listSize: directive } = field;
    const assumed = directive?.assumedSize ?? listSize;
    const paths =
      directive === null
        ? slicingArguments.filter((name) => field.arguments.has(name)).map((name) => [name])
        : directive.slicingArguments;
    const size = sizeOf(node, field, { paths, assumed });
    if (field.listDepth > 0) return { own: size, sizedFields: null };
    const names = directive !== null && directive.sizedFields.length > 0 ? directive.sizedFields : CONNECTION_LISTS;
    const limitsLists = paths.length > 0 || directive !== null;
    return { own: size, sizedFields: limitsLists ? { names, size } : null };
  }

  function sizeOf(
    node: FieldNode,
    field: ServiceField,
    { paths, assumed }: { readonly paths: readonly (readonly string[])[]; readonly assumed: number },
  ): Size {
    let fixed: number | null = null;
    const variables: VariableSize[] = [];
    for (const [name = "", ...path] of paths) {
      const sent = node.arguments?.find((argument) => argument.name.value === name)?.value;
      const byDefault = field.arguments.get(name)?.byDefault ?? undefined;
      // The default of an argument also applies if its value is a variable that is absent.
      const found = readSize(sent ?? byDefault, path, byDefault);
      if (typeof found === "number") fixed = Math.max(fixed ?? 0, found);
      else if (found !== null) variables.push(found);
    }
    return { fixed, variables, assumed };
  }

  /** @param otherwise The value instead of a variable that is absent and has no default */
  function readSize(
    value: ValueNode | undefined,
    path: readonly string[],
    otherwise?: ValueNode,
  ): number | VariableSize | null {
    if (value === undefined) return null;
    if (value.kind === Kind.VARIABLE) {
      const byDefault = readSize(defaults.get(value.name.value) ?? otherwise, path);
      return {
        // Copies, because substrings keep their document in memory.
        variable: Buffer.from(value.name.value).toString(),
        path,
        byDefault: typeof byDefault === "number" ? byDefault : null,
      };
    }
    const [name, ...rest] = path;
    if (name === undefined) return "value" in value ? sizeIn(value.value) : null;
    if (value.kind !== Kind.OBJECT) return null;
    return readSize(value.fields.find((member) => member.name.value === name)?.value, rest);
  }

  const { fixed, terms } = ofSet(operation.selectionSet, schema.roots[operation.operation], null);
  return { fixed: fixed + (operation.operation === "mutation" ? MUTATION : 0), terms };
}

const scaled = ({ size, items }: Term, factor: number): Term => ({
  size,
  items: { fixed: items.fixed * factor, terms: items.terms.map((term) => scaled(term, factor)) },
});

const weightOfArguments = (node: FieldNode, field: ServiceField | undefined): number =>
  (node.arguments ?? []).reduce((sum, { name }) => sum + (field?.arguments.get(name.value)?.weight ?? 0), 0);
