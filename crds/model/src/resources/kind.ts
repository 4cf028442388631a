/** The definition of a kind of custom resource: its spec and further facts for its CRD. */
import type { Collection } from "../entities/index.ts";
import { entities } from "../entities/index.ts";
import { toCamel } from "../names.ts";
import type { SchemaNode } from "../schema/node.ts";

export const group = "sluice.dev";
export const crdVersion = "v1alpha1";
export const apiVersion = `${group}/${crdVersion}`;
/** The category: `kubectl get sluice` lists every kind. */
export const category = "sluice";

/** A CEL rule of a spec or of one of its members. The API server reports a violation at `fieldPath`. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

/** A member of a spec: a schema node with keywords of the API server beyond JSON Schema. */
export interface SpecNode extends SchemaNode {
  readonly items?: SpecNode;
  readonly properties?: Readonly<Record<string, SpecNode>>;
  readonly additionalProperties?: boolean | SpecNode;
  /** The keys by which server-side apply merges a list. Unset: `atomic`, the list has one owner. */
  readonly listMapKeys?: readonly string[];
  /** The member differs from the entity's member of the same name; translation handles it. */
  readonly own?: true;
  /** The object may have any members. */
  readonly open?: boolean;
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

export interface KindFacts {
  /** The collection of the entity that a resource of this kind represents. */
  readonly collection: Collection;
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
  readonly spec: SpecNode;
  readonly columns: readonly PrinterColumn[];
}

/** `strip_path` -> `stripPath`, in types. */
export type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** The members of an entity as in a spec: camelCase, all optional, never null. */
export type Derived<Entity, Omitted extends keyof Entity> = {
  readonly [Name in Exclude<keyof Entity, Omitted> as Camel<Name & string>]?: NonNullable<Entity[Name]>;
};

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
  /** Members of the entity that the spec does not have, or has in another form. */
  readonly omit: readonly string[];
  /** Members that only the spec has, or that differ from the entity's. */
  readonly add: Readonly<Record<string, SpecNode>>;
  readonly required?: readonly string[];
  readonly cel?: readonly CelRule[];
}

/** Derives a spec from an entity's schema. Members of every kind come first, then the kind's own. */
export function specOf(collection: Collection, parts: SpecParts): SpecNode {
  const { properties = {}, description, additionalProperties } = camelSchema(entities[collection].schema);
  const omitted = new Set([...parts.omit.map(toCamel), ...Object.keys(parts.add)]);
  const derived = Object.fromEntries(Object.entries(properties).filter(([member]) => !omitted.has(member)));
  const { name, id, tags, class: resourceClass, ...own } = { ...ownMembers(parts.add), ...derived };
  const common = { name, id, tags, class: resourceClass };
  return {
    type: "object",
    description,
    additionalProperties,
    properties: { ...keepGiven(common), ...own },
    ...(parts.required && { required: parts.required }),
    ...(parts.cel && { cel: parts.cel }),
  };
}

/** Marks members as specific to the spec. */
export const ownMembers = (members: Readonly<Record<string, SpecNode>>): Record<string, SpecNode> =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, { ...member, own: true as const }]));

const keepGiven = (members: Record<string, SpecNode | undefined>): Record<string, SpecNode> =>
  Object.fromEntries(Object.entries(members).filter((entry): entry is [string, SpecNode] => entry[1] !== undefined));
