/**
 * When a plan fails, graphql-js executes the query to report the error. It gets the values that resolvers have
 * returned so far, so that no resolver runs twice.
 */
import { type FieldNode, type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from "graphql";

/** Thrown when a plan cannot produce a result. */
export class PlanFailure extends Error {}

type Resolver = GraphQLFieldResolver<unknown, unknown>;

/** The values that resolvers returned or threw, by field node and source object. */
export class RecordedValues {
  /** Flat list of node, source and value: it is written for each field and rarely read. */
  readonly #given: unknown[] = [];
  #index: Map<unknown, Map<unknown, unknown>> | undefined;

  add(node: FieldNode, source: unknown, value: unknown): void {
    this.#given.push(node, source, value);
  }

  /** The recorded value; a field without one is resolved now. */
  again(node: FieldNode | undefined, source: unknown, resolve: () => unknown): unknown {
    this.#index ??= indexOf(this.#given);
    const values = this.#index.get(node);
    if (!values?.has(source)) return resolve();
    const value = values.get(source);
    if (value instanceof RecordedError) throw value.reason;
    // A resolver that failed because it needs graphql-js has no value to record.
    if (value instanceof Promise)
      return value.catch((reason) => (reason instanceof PlanFailure ? resolve() : refuse(reason)));
    return value;
  }
}

/** Records an error in place of a value. */
export class RecordedError {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

function refuse(reason: unknown): never {
  throw reason;
}

function indexOf(given: readonly unknown[]): Map<unknown, Map<unknown, unknown>> {
  const index = new Map<unknown, Map<unknown, unknown>>();
  for (let at = 0; at < given.length; at += 3) {
    const values = index.get(given[at]) ?? new Map<unknown, unknown>();
    index.set(given[at], values.set(given[at + 1], given[at + 2]));
  }
  return index;
}

const isContext = (context: unknown): context is object => typeof context === "object" && context !== null;

export interface Replay {
  /** From now on resolvers that are called with this context return the recorded values. */
  begin(context: object, given: RecordedValues): void;
  /** The resolver without the replay. */
  original(resolve: Resolver): Resolver;
}

/** Wraps the schema's resolvers, in place. */
export function makeReplay(schema: GraphQLSchema): Replay {
  const recorded = new WeakMap<object, RecordedValues>();
  const originals = new WeakMap<Resolver, Resolver>();
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values(type.getFields())) {
      const { resolve } = field;
      if (resolve === undefined) continue;
      field.resolve = (source, given, context, info) => {
        const before = isContext(context) ? recorded.get(context) : undefined;
        if (before === undefined) return resolve(source, given, context, info);
        return before.again(info.fieldNodes[0], source, () => resolve(source, given, context, info));
      };
      originals.set(field.resolve, resolve);
    }
  }
  return {
    begin: (context, given) => void recorded.set(context, given),
    original: (resolve) => originals.get(resolve) ?? resolve,
  };
}
