/**
 * When a plan fails, graphql-js executes the query to report the error, with the values that resolvers have returned so
 * far: no resolver runs twice.
 */
import { type FieldNode, type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from "graphql";

/** Thrown when a plan cannot produce a result. */
export class PlanFailure extends Error {}

type Resolver = GraphQLFieldResolver<unknown, object>;

/** The value that each field returned, by its source object. */
type Results = Map<FieldNode | undefined, Map<unknown, unknown>>;

/**
 * Wraps the schema's resolvers, in place. Returns a function that begins to record for a context: from then on, a
 * resolver runs once for each field and source.
 */
export function recordResolvers(schema: GraphQLSchema): (context: object) => void {
  const recorded = new WeakMap<object, Results>();

  function recording(resolve: Resolver): Resolver {
    return (source, given, context, info) => {
      const values = recorded.get(context)?.getOrInsertComputed(info.fieldNodes[0], () => new Map<unknown, unknown>());
      if (values === undefined) return resolve(source, given, context, info);
      if (values.has(source)) return values.get(source);
      let value: unknown;
      try {
        value = resolve(source, given, context, info);
      } catch (error) {
        value = Promise.reject(error);
      }
      values.set(source, value);
      if (value instanceof Promise) {
        // A resolver that failed because it needs graphql-js has no result yet.
        value.catch((reason: unknown) => reason instanceof PlanFailure && values.delete(source));
      }
      return value;
    };
  }

  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values(type.getFields())) {
      if (field.resolve !== undefined) field.resolve = recording(field.resolve);
    }
  }
  return (context) => void recorded.set(context, new Map());
}
