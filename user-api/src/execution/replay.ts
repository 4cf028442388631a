/**
 * When a plan fails, graphql-js executes the query to report the error, with the values that resolvers have returned so
 * far: no resolver that has returned runs again.
 */
import { type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from "graphql";

/** Thrown when a plan cannot produce a result. */
export class PlanFailure extends Error {}

type Resolver = GraphQLFieldResolver<unknown, object>;

/**
 * Three items in a row for each call of a resolver: the field node, the source object and the returned value. The list
 * is flat, so that adding is cheap: every plan adds values, but few plans fail, and only then the values are read.
 */
export type ReturnedValues = unknown[];

type ValuesBySource = Map<unknown, unknown>;

function indexValues(returned: ReturnedValues): Map<unknown, ValuesBySource> {
  const index = new Map<unknown, ValuesBySource>();
  for (let at = 0; at < returned.length; at += 3) {
    index.getOrInsertComputed(returned[at], () => new Map()).set(returned[at + 1], returned[at + 2]);
  }
  return index;
}

/**
 * Wraps the schema's resolvers, in place. The returned function registers the values that resolvers have returned for a
 * context. A resolver that is then called with this context returns its registered value instead of running again.
 */
export function replayResolvers(schema: GraphQLSchema): (context: object, returned: ReturnedValues) => void {
  const replayed = new WeakMap<object, Map<unknown, ValuesBySource>>();

  const replaying =
    (resolve: Resolver): Resolver =>
    (source, given, context, info) => {
      const values = replayed.get(context)?.get(info.fieldNodes[0]);
      if (!values?.has(source)) return resolve(source, given, context, info);
      const value = values.get(source);
      if (!(value instanceof Promise)) return value;
      return value.catch((reason: unknown) => {
        // A resolver that failed because it needs graphql-js has no result yet.
        if (reason instanceof PlanFailure) return resolve(source, given, context, info);
        throw reason;
      });
    };

  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values(type.getFields())) {
      if (field.resolve !== undefined) field.resolve = replaying(field.resolve);
    }
  }
  return (context, returned) => void replayed.set(context, indexValues(returned));
}
