/**
 * A query compiled once into closures, so that executing it costs little. graphql-js looks up field and type and merges
 * selections again for every field of every result; a plan does so in advance. No code is generated from a document.
 * Results are ordinary objects: JSON.stringify is several times as fast for them as for the null-prototype objects of
 * graphql-js.
 *
 * A plan produces successful results only. For any irregularity (an error, null for a non-null field, a value that
 * does not fit its type) it rejects. graphql-js then executes the query, to report the error, with the values that
 * resolvers have returned so far.
 */
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  GraphQLID,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLString,
  getArgumentValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import type { Variables } from "../limits/measures.ts";
import { PlanFailure, type ReturnedValues } from "./replay.ts";

/**
 * Resolves to the data of a successful result, and adds the values of resolvers to `returned`. Once it has rejected, it
 * calls no more resolvers.
 */
export type ExecutionPlan = (context: object, variables: Variables, returned: ReturnedValues) => Promise<object>;

interface Run {
  readonly context: object;
  readonly variables: Variables;
  readonly returned: ReturnedValues;
  /** The number of values that have not arrived yet. */
  pending: number;
  failed: boolean;
  readonly arrive: () => void;
  readonly fail: (reason: unknown) => void;
}

type Source = object | undefined;
type PutField = (source: Source, result: Record<string, unknown>, run: Run) => void;
/** Converts the value of a resolver to the value in the result. Throws when the value does not fit the type. */
type Complete = (value: unknown, run: Run) => unknown;

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** Thrown while a plan is made, for a query that plans do not support. */
class UnsupportedByPlan extends Error {}

/**
 * The query must be valid. Returns null for a query that plans do not support, such as one with directives,
 * introspection, interfaces, unions or the response key `__proto__`.
 */
export function compilePlan(
  node: OperationDefinitionNode,
  { schema, fragments }: { readonly schema: GraphQLSchema; readonly fragments: readonly FragmentDefinitionNode[] },
): ExecutionPlan | null {
  const type = schema.getRootType(node.operation);
  if (type === undefined || type === null || node.directives?.length) return null;
  const byName = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
  let put: Complete;
  try {
    put = completeObject(type, [node.selectionSet], byName);
  } catch (error) {
    if (error instanceof UnsupportedByPlan) return null;
    throw error;
  }
  // One promise for a result, and a counter instead of a promise for each level of values.
  return (context, variables, returned) =>
    new Promise((resolve, reject) => {
      let data: unknown;
      const run: Run = {
        context,
        variables,
        returned,
        // Counts the root as one value until all of its fields have begun.
        pending: 1,
        failed: false,
        arrive() {
          run.pending -= 1;
          if (run.pending === 0) resolve(data as object);
        },
        fail(reason) {
          run.failed = true;
          reject(reason);
        },
      };
      try {
        data = put(NO_ROOT, run);
        run.arrive();
      } catch (error) {
        run.fail(error);
      }
    });
}

/** Stands for the source of root fields, which have no source object. */
const NO_ROOT = {};

interface Collected {
  readonly nodes: Map<string, FieldNode[]>;
  readonly spread: Set<string>;
}

/** Collects the nodes of each response key in document order and expands fragments. */
function collect(
  type: GraphQLObjectType,
  { selections }: SelectionSetNode,
  fragments: Fragments,
  into: Collected,
): void {
  for (const selection of selections) {
    if (selection.directives?.length) throw new UnsupportedByPlan();
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value;
      const nodes = into.nodes.get(key);
      if (nodes === undefined) into.nodes.set(key, [selection]);
      else nodes.push(selection);
      continue;
    }
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      // Each fragment is expanded once per object: in a chain of fragments that each spread the next one twice, the
      // work would otherwise double with each fragment.
      if (into.spread.has(selection.name.value)) continue;
      into.spread.add(selection.name.value);
    }
    const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
    if (fragment === undefined || fragment.directives?.length) throw new UnsupportedByPlan();
    // Type conditions on interfaces and unions are not supported.
    const condition = fragment.typeCondition?.name.value;
    if (condition !== undefined && condition !== type.name) throw new UnsupportedByPlan();
    collect(type, fragment.selectionSet, fragments, into);
  }
}

/** Whether a value is an object, but neither a promise nor an error that a resolver returned instead of throwing it. */
const isRegular = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !("then" in value) && !(value instanceof Error);

function completeObject(type: GraphQLObjectType, sets: readonly SelectionSetNode[], fragments: Fragments): Complete {
  if (type.isTypeOf) throw new UnsupportedByPlan();
  const into: Collected = { nodes: new Map(), spread: new Set() };
  for (const set of sets) collect(type, set, fragments, into);
  const fields = [...into.nodes].map(([key, same]) => putField(type, { key, nodes: same }, fragments));
  return (value, run) => {
    if (!isRegular(value)) throw new PlanFailure();
    const result: Record<string, unknown> = {};
    for (const put of fields) put(value, result, run);
    return result;
  };
}

function putField(
  type: GraphQLObjectType,
  { key, nodes }: { readonly key: string; readonly nodes: readonly FieldNode[] },
  fragments: Fragments,
): PutField {
  const [node] = nodes;
  const name = node?.name.value ?? "";
  // Assigning `__proto__` would set the prototype.
  if (key === "__proto__") throw new UnsupportedByPlan();
  if (name === "__typename") {
    return (_source, result) => {
      result[key] = type.name;
    };
  }
  const field = type.getFields()[name];
  if (field === undefined || node === undefined) throw new UnsupportedByPlan();
  const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
  const put = putValue(key, completeValue(field.type, sets, fragments));
  if (field.resolve === undefined) {
    return (source, result, run) => {
      const value = (source as Record<string, unknown>)[name];
      // graphql-js calls a method with arguments, context and info (defaultFieldResolver).
      if (typeof value === "function") throw new PlanFailure();
      put(value, result, run);
    };
  }
  const { resolve } = field;
  const argumentsFor = argumentsOf(field, node);
  const info = infoOf(nodes);
  return (source, result, run) => {
    const given = argumentsFor(run.variables);
    // graphql-js passes the root value, here undefined, to the resolvers of root fields.
    const about = source === NO_ROOT ? undefined : source;
    let value: unknown;
    try {
      value = resolve(about, given, run.context, info);
    } catch (error) {
      if (error instanceof PlanFailure) throw error;
      value = Promise.reject(error);
    }
    run.returned.push(node, about, value);
    put(value, result, run);
  };
}

/**
 * Returns a function that computes the arguments of a field: the values of variables if every argument is a variable
 * that is not null; else graphql-js computes them.
 */
function argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode): (variables: Variables) => object {
  const variableOf = (argument: string): string | undefined => {
    const value = node.arguments?.find(({ name }) => name.value === argument)?.value;
    return value?.kind === Kind.VARIABLE ? value.name.value : undefined;
  };
  const names = field.args.map(({ name }) => ({ name, variable: variableOf(name) }));
  return (variables) => {
    const given: Record<string, unknown> = {};
    for (const { name, variable } of names) {
      const value = variable === undefined ? undefined : variables[variable];
      if (value === undefined || value === null) return getArgumentValues(field, node, variables);
      given[name] = value;
    }
    return given;
  };
}

/**
 * Our resolvers use only `fieldNodes` of the info. A resolver that reads another member fails here, and graphql-js
 * then calls it with the full info.
 */
function infoOf(fieldNodes: readonly FieldNode[]): GraphQLResolveInfo {
  return new Proxy({ fieldNodes } as GraphQLResolveInfo, {
    get(info, name) {
      if (name === "fieldNodes") return info.fieldNodes;
      throw new PlanFailure();
    },
  });
}

/** Completes a resolver's value, once it has arrived, and puts it into the result. */
const putValue =
  (key: string, complete: Complete) =>
  (value: unknown, result: Record<string, unknown>, run: Run): void => {
    if (typeof value !== "object" || value === null || !("then" in value)) {
      result[key] = complete(value, run);
      return;
    }
    // Reserves the field's position in the result.
    result[key] = undefined;
    run.pending += 1;
    Promise.resolve(value)
      .then((arrived) => {
        // After a failure graphql-js executes the query, and the plan calls no more resolvers.
        if (run.failed) return;
        result[key] = complete(arrived, run);
        run.arrive();
      })
      .catch(run.fail);
  };

function completeValue(type: GraphQLOutputType, sets: readonly SelectionSetNode[], fragments: Fragments): Complete {
  if (isNonNullType(type)) {
    const complete = completeValue(type.ofType, sets, fragments);
    return (value, run) => {
      const completed = complete(value, run);
      if (completed === null) throw new PlanFailure();
      return completed;
    };
  }
  const complete = completePresent(type, sets, fragments);
  return (value, run) => (value === null || value === undefined ? null : complete(value, run));
}

function completePresent(type: GraphQLOutputType, sets: readonly SelectionSetNode[], fragments: Fragments): Complete {
  if (isListType(type)) {
    const complete = completeValue(type.ofType, sets, fragments);
    return (value, run) => {
      if (!Array.isArray(value)) throw new PlanFailure();
      return value.map((item) => complete(item, run));
    };
  }
  if (isObjectType(type)) return completeObject(type, sets, fragments);
  if (!isLeafType(type)) throw new UnsupportedByPlan();
  const serialize = (value: unknown): unknown => {
    if (typeof value === "object" && value !== null && !isRegular(value)) throw new PlanFailure();
    const serialized = type.serialize(value);
    if (serialized === null || serialized === undefined) throw new PlanFailure();
    return serialized;
  };
  // String and ID return a string unchanged.
  if (type === GraphQLString || type === GraphQLID) {
    return (value) => (typeof value === "string" ? value : serialize(value));
  }
  return serialize;
}
