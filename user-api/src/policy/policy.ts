/** Access control by field. It wraps the resolvers, so it applies to every path to a field. */
import { defaultFieldResolver, type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from "graphql";
import { EDITOR, editorFields } from "../directory/schema.ts";
import { createFailure } from "../errors.ts";
import type { Consumer } from "./caller.ts";

export type FieldAccess =
  | { readonly kind: "anonymous" }
  | { readonly kind: "authenticated" }
  | { readonly kind: "scope"; readonly tags: readonly string[] };

/**
 * The default for root fields without a rule. `open`: no requirement. `anonymous-read`: mutations need a consumer.
 * `authenticated`: all root fields need one. Except with `open`, the fields for editors need a consumer with their tag.
 */
export const accessModes = ["open", "anonymous-read", "authenticated"] as const;
export type AccessMode = (typeof accessModes)[number];

/** Demands by field, such as `Mutation.createUser`. */
export type AccessRules = Readonly<Record<string, FieldAccess>>;

export interface AccessPolicy {
  readonly access: AccessMode;
  readonly rules: AccessRules;
}

/** Parses a demand: `anonymous`, `authenticated`, or `scope:writer|admin`. Null: invalid. */
export function parseFieldAccess(text: string): FieldAccess | null {
  if (text === "anonymous" || text === "authenticated") return { kind: text };
  const tags = /^scope:([\w.:-]+(?:\|[\w.:-]+)*)$/.exec(text)?.[1]?.split("|");
  return tags === undefined ? null : { kind: "scope", tags };
}

function defaultDemand(access: AccessMode, typeName: string, coordinate: string): FieldAccess {
  if (access !== "open" && editorFields.has(coordinate)) return { kind: "scope", tags: [EDITOR] };
  const needsConsumer = access === "authenticated" || (access === "anonymous-read" && typeName === "Mutation");
  return { kind: needsConsumer ? "authenticated" : "anonymous" };
}

/** Throws UNAUTHENTICATED or FORBIDDEN unless the consumer meets the demand. */
export function requireAccess(demand: FieldAccess, consumer: Consumer | null, field: string): void {
  if (demand.kind === "anonymous") return;
  if (consumer === null) {
    throw createFailure("UNAUTHENTICATED", `${field} needs a consumer: send a credential to the gateway`);
  }
  if (demand.kind === "authenticated" || demand.tags.some((tag) => consumer.tags.includes(tag))) return;
  throw createFailure("FORBIDDEN", `${field} needs a consumer with the tag ${demand.tags.join(" or ")}`);
}

/** Fields in the rules that the schema does not have. */
export function unknownFields({ rules }: AccessPolicy, schema: GraphQLSchema): readonly string[] {
  return Object.keys(rules).filter((field) => {
    const [typeName = "", fieldName = "", more] = field.split(".");
    const type = schema.getType(typeName);
    return more !== undefined || !isObjectType(type) || !Object.hasOwn(type.getFields(), fieldName);
  });
}

type Resolve = GraphQLFieldResolver<unknown, { readonly consumer: Consumer | null }>;

const guarded =
  (resolve: Resolve, demand: FieldAccess, field: string): Resolve =>
  (source, given, context, info) => {
    requireAccess(demand, context.consumer, field);
    return resolve(source, given, context, info);
  };

/**
 * Wraps the schema's resolvers and subscriptions, in place. Fields without a requirement are not wrapped: the
 * default resolver is the fastest.
 */
export function applyAccessPolicy(schema: GraphQLSchema, { access, rules }: AccessPolicy): void {
  const roots: readonly unknown[] = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const [name, field] of Object.entries(type.getFields())) {
      const coordinate = `${type.name}.${name}`;
      const rule = Object.hasOwn(rules, coordinate) ? rules[coordinate] : undefined;
      const demand = rule ?? (roots.includes(type) ? defaultDemand(access, type.name, coordinate) : undefined);
      if (demand === undefined || demand.kind === "anonymous") continue;
      // Guards the subscription once; its events need no further check.
      if (field.subscribe) field.subscribe = guarded(field.subscribe, demand, coordinate);
      else field.resolve = guarded(field.resolve ?? defaultFieldResolver, demand, coordinate);
    }
  }
}
