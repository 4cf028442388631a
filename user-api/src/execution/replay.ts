/**
 * When a plan finds that an answer is none for plans, graphql-js has to say what is wrong. It gets what resolvers have
 * given until then, so that none of them runs twice.
 */
import { type FieldNode, type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from "graphql";

/** Says why an answer is not one for plans. */
export class Irregular extends Error {}

type Resolver = GraphQLFieldResolver<unknown, unknown>;

/** What resolvers gave, or threw, by the field of the document and the object that they were asked about. */
export class Given {
  /** Flat: node, source, value. Nearly nobody ever looks. */
  readonly #given: unknown[] = [];
  #index: Map<unknown, Map<unknown, unknown>> | undefined;

  add(node: FieldNode, source: unknown, value: unknown): void {
    this.#given.push(node, source, value);
  }

  /** The same again; what was not given is resolved now. */
  again(node: FieldNode | undefined, source: unknown, resolve: () => unknown): unknown {
    this.#index ??= indexOf(this.#given);
    const values = this.#index.get(node);
    if (!values?.has(source)) return resolve();
    const value = values.get(source);
    if (value instanceof Thrown) throw value.reason;
    // What a resolver gave up because it needs graphql-js is no answer of its own.
    if (value instanceof Promise)
      return value.catch((reason) => (reason instanceof Irregular ? resolve() : refuse(reason)));
    return value;
  }
}

/** In the place of a value. */
export class Thrown {
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

export interface Replays {
  /** From now on resolvers that get this context give what was given. */
  begin(context: object, given: Given): void;
  /** The resolver itself, for those who have nothing to give again. */
  original(resolve: Resolver): Resolver;
}

/** Puts itself before the schema's resolvers, in place. */
export function makeReplays(schema: GraphQLSchema): Replays {
  const replays = new WeakMap<object, Given>();
  const originals = new WeakMap<Resolver, Resolver>();
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values(type.getFields())) {
      const { resolve } = field;
      if (resolve === undefined) continue;
      field.resolve = (source, given, context, info) => {
        const before = isContext(context) ? replays.get(context) : undefined;
        if (before === undefined) return resolve(source, given, context, info);
        return before.again(info.fieldNodes[0], source, () => resolve(source, given, context, info));
      };
      originals.set(field.resolve, resolve);
    }
  }
  return {
    begin: (context, given) => void replays.set(context, given),
    original: (resolve) => originals.get(resolve) ?? resolve,
  };
}
