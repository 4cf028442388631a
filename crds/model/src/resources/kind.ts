/** The definition of a kind of custom resource: its spec and further facts for its CRD. */

import type { SchemaNode } from "@sluice/plugin-sdk";
import { type Collection, entities } from "../entities/index.ts";
import { toCamel } from "../names.ts";

export const apiGroup = "sluice.dev";
export const crdVersion = "v1alpha1";
export const apiVersion = `${apiGroup}/${crdVersion}`;
/** The category of every kind: `kubectl get sluice` lists the resources of all kinds. */
export const kubectlCategory = "sluice";

/** A CEL rule of a spec or of one of its members. The API server reports a violation at `fieldPath`. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

export interface IntOrString {
  /** Limits of an integer. Default: none. */
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength: number;
  /** The pattern of a string, for the API server. */
  readonly pattern: string;
  /** The check of a string, as `rule` of other members. */
  readonly rule: string;
}

/** The schema of a spec or of one of its members: JSON Schema with keywords of the API server and of Sluice. */
export interface SpecNode extends SchemaNode {
  readonly items?: SpecNode;
  readonly properties?: Readonly<Record<string, SpecNode>>;
  readonly additionalProperties?: boolean | SpecNode;
  /** The keys by which server-side apply merges a list. Unset: `atomic`, the list has one owner. */
  readonly listMapKeys?: readonly string[];
  /** The entity has no such member, or a different one with this name; `crds/client/src/translate` converts it. */
  readonly own?: true;
  /** Whether the object may have any members. */
  readonly open?: boolean;
  /** The value is an integer or a string (`intstr.IntOrString` and quantities of Kubernetes); `type` is unset. */
  readonly intOrString?: IntOrString;
  /** The check of the names in a mapping. */
  readonly keyRule?: string;
  readonly cel?: readonly CelRule[];
}

export interface PrinterColumn {
  readonly name: string;
  readonly jsonPath: string;
  readonly type?: "string" | "integer" | "boolean" | "date";
  readonly description: string;
  /** 1: shown only with `-o wide`. */
  readonly priority?: 1;
}

/** Facts about any kind of custom resource. */
interface CrdFacts {
  readonly shortName: string;
  readonly spec: SpecNode;
  readonly columns: readonly PrinterColumn[];
}

/** A kind whose resources represent entities. */
export interface KindFacts extends CrdFacts {
  /** The collection of the entity that a resource of this kind represents. */
  readonly collection: Collection;
}

/**
 * A kind whose resources represent no entity: other resources refer to them. They have no status, because the resources
 * that refer to them report their problems.
 */
export interface ParameterKindFacts extends CrdFacts {
  /** The plural of the kind in paths of the Kubernetes API. */
  readonly plural: string;
}

/** The plural of a kind in paths of the Kubernetes API, which have no underscores: `consumergroups`. */
export const pluralOf = (facts: Pick<KindFacts, "collection"> | Pick<ParameterKindFacts, "plural">): string =>
  "plural" in facts ? facts.plural : facts.collection.replaceAll("_", "");

/** `strip_path` -> `stripPath`, in types. */
export type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** The members of an entity as in a spec: camelCase, all optional, never null, without timestamps. */
export type Derived<Entity, Omitted extends keyof Entity = never> = {
  readonly [Name in Exclude<keyof Entity, Omitted | Timestamp> as Camel<Name & string>]?: NonNullable<Entity[Name]>;
};

const timestamps = ["created_at", "updated_at"] as const;
type Timestamp = (typeof timestamps)[number];

/** The schema with all members in camelCase. Names in mappings (such as headers) stay unchanged. */
export function camelSchema(node: SchemaNode): SpecNode {
  const { properties, items, additionalProperties, required = [], ...rest } = node;
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [toCamel(name), camelSchema(member)]),
      ),
    }),
    ...(items && { items: camelSchema(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === "object" ? camelSchema(additionalProperties) : additionalProperties,
    }),
    ...(required.length > 0 && { required: required.map(toCamel) }),
  };
}

interface SpecParts {
  /** The description of the spec. Default: the entity's description. */
  readonly description?: string;
  /** Members of the entity that the spec does not have. Timestamps are always omitted. */
  readonly omit?: readonly string[];
  /** Members that only the spec has, or that differ from the entity's. */
  readonly add: Readonly<Record<string, SpecNode>>;
  /** Further keywords for members that come from the entity. */
  readonly refine?: Readonly<Record<string, SpecNode>>;
  readonly required?: readonly string[];
  readonly cel?: readonly CelRule[];
}

/** Members of every kind come first, then the kind's own. */
const first = ["name", "id", "tags", "class"];
const rank = (member: string): number => (first.includes(member) ? first.indexOf(member) : first.length);

/** The schema of a spec, or of an entry of a list in a spec, derived from an entity's schema. */
export function specOf(collection: Collection, { omit = [], add, refine = {}, ...keywords }: SpecParts): SpecNode {
  const { properties = {}, description, additionalProperties } = camelSchema(entities[collection].schema);
  const omitted = new Set([...timestamps, ...omit].map(toCamel).concat(Object.keys(add)));
  const own = Object.entries(add).map(([name, member]) => [name, { ...member, own: true }] as const);
  const derived = Object.entries(properties)
    .filter(([name]) => !omitted.has(name))
    .map(([name, member]) => [name, { ...member, ...refine[name] }] as const);
  const members = [...own, ...derived].sort(([one], [other]) => rank(one) - rank(other));
  return { type: "object", description, additionalProperties, properties: Object.fromEntries(members), ...keywords };
}
