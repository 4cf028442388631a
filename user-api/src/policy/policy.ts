/** Who may have which field. Checked inside the resolvers: whatever the way to a field is, the check stands before it. */
import { defaultFieldResolver, type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from "graphql";
import { failure } from "../errors.ts";
import type { Consumer } from "./consumer.ts";

/** What a field may ask of whoever wants it. */
export type Demand =
  | { readonly kind: "anonymous" }
  | { readonly kind: "authenticated" }
  /** One of the tags. */
  | { readonly kind: "scope"; readonly tags: readonly string[] };

/**
 * What holds for root fields that no rule names. `open`: everybody may do everything. `anonymous-read`: mutations need
 * a consumer. `authenticated`: everything does.
 */
export type Access = "open" | "anonymous-read" | "authenticated";
export const accesses = ["open", "anonymous-read", "authenticated"] as const satisfies readonly Access[];

/** Demands by field, such as `Mutation.createUser`. */
export type Rules = Readonly<Record<string, Demand>>;

export interface Policy {
  readonly access: Access;
  readonly rules: Rules;
}

/** The text of a demand: `anonymous`, `authenticated`, or `scope:writer|admin`. Null: it is none. */
export function demandOf(text: string): Demand | null {
  if (text === "anonymous" || text === "authenticated") return { kind: text };
  const tags = /^scope:([\w.:-]+(?:\|[\w.:-]+)*)$/.exec(text)?.[1]?.split("|");
  return tags === undefined ? null : { kind: "scope", tags };
}

function demandByAccess(access: Access, typeName: string): Demand {
  const needsConsumer = access === "authenticated" || (access === "anonymous-read" && typeName === "Mutation");
  return { kind: needsConsumer ? "authenticated" : "anonymous" };
}

/** Throws UNAUTHENTICATED or FORBIDDEN, unless the consumer meets the demand. */
export function enforce(demand: Demand, consumer: Consumer | null, field: string): void {
  if (demand.kind === "anonymous") return;
  if (consumer === null) {
    throw failure("UNAUTHENTICATED", `${field} needs a consumer: send a credential to the gateway`);
  }
  if (demand.kind === "authenticated" || demand.tags.some((tag) => consumer.tags.includes(tag))) return;
  throw failure("FORBIDDEN", `${field} needs a consumer with the tag ${demand.tags.join(" or ")}`);
}

/** The rules' fields that the schema does not have. */
export function unknownFields({ rules }: Policy, schema: GraphQLSchema): readonly string[] {
  return Object.keys(rules).filter((field) => {
    const [typeName = "", fieldName = "", more] = field.split(".");
    const type = schema.getType(typeName);
    return more !== undefined || !isObjectType(type) || !Object.hasOwn(type.getFields(), fieldName);
  });
}

type Resolve = GraphQLFieldResolver<unknown, { readonly consumer: Consumer | null }>;

const guarded =
  (resolve: Resolve, demand: Demand, field: string): Resolve =>
  (source, given, context, info) => {
    enforce(demand, context.consumer, field);
    return resolve(source, given, context, info);
  };

/**
 * Puts the policy before the schema's resolvers and subscriptions, in place. Fields that demand nothing keep the
 * resolver that they have, none included: the default one is the quickest.
 */
export function applyPolicy(schema: GraphQLSchema, { access, rules }: Policy): void {
  const roots: readonly unknown[] = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const [name, field] of Object.entries(type.getFields())) {
      const coordinate = `${type.name}.${name}`;
      const rule = Object.hasOwn(rules, coordinate) ? rules[coordinate] : undefined;
      const demand = rule ?? (roots.includes(type) ? demandByAccess(access, type.name) : undefined);
      if (demand === undefined || demand.kind === "anonymous") continue;
      // Following events is what a subscription's field gives; each event was allowed with it.
      if (field.subscribe) field.subscribe = guarded(field.subscribe, demand, coordinate);
      else field.resolve = guarded(field.resolve ?? defaultFieldResolver, demand, coordinate);
    }
  }
}
