/** The servable part of the converted entities as custom resources, with the names that the conversion chose. */
import {
  type Children,
  childLists,
  identityOf,
  kindOfCollection,
  type Resource,
  type ResourceCollection,
  type ResourceLocation,
  toResource,
} from "@sluice/crds";
import {
  type Collection,
  type Entities,
  type Entity,
  entitySecrets,
  type ResourceKind,
  referencedId,
  type SecretRef,
} from "@sluice/model";
import { isRecord } from "@sluice/plugin-sdk";
import type { EntityLists } from "../../../stores/read-all.ts";
import { CommandError } from "../../command.ts";
import type { Conversion, ConvertedEntity } from "./convert/conversion.ts";

type Members = Readonly<Record<string, unknown>>;

interface ToResourcesOptions {
  /** `spec.class`. Undefined: the default class. */
  readonly class: string | undefined;
}

const collections: readonly ResourceCollection[] = [
  "ca_certificates",
  "vaults",
  "consumer_groups",
  "consumers",
  "upstreams",
  "services",
  "routes",
  "plugins",
];

/** @param lists The entities that are served. @throws CommandError for an entity that a resource cannot express. */
export function convertedResources(
  conversion: Conversion,
  lists: EntityLists,
  { class: ofClass }: ToResourcesOptions,
): readonly Resource[] {
  const { homeNamespace } = conversion;
  const known = new Map(conversion.entities.map((entity) => [`${entity.collection} ${entity.id}`, entity]));
  const places = new Map<string, ResourceLocation>();
  const resources = conversion.resources.map(({ resource }) => resource);
  for (const collection of collections) for (const entity of lists[collection] ?? []) add(collection, entity as never);
  return resources;

  function add<Name extends ResourceCollection>(collection: Name, entity: Entities[Name]): void {
    const kind = kindOfCollection(collection);
    const source = known.get(`${collection} ${entity.id}`);
    const children = childrenOf(collection, entity.id, lists);
    const made = toResource(collection, withoutHidden(entity, source), {
      namespace: homeNamespace,
      locate: (of, id) => places.get(`${of} ${id}`),
      children,
      secretRefs: secretRefsOf(children, known),
      ...(ofClass !== undefined && { class: ofClass }),
      ...(source?.placement && { previous: skeletonOf(kind, source.placement, ofClass) }),
    });
    if (!made.value) {
      const reasons = made.violations.map(({ path, message }) => `${path.join(".")}: ${message}`);
      throw new CommandError(`a ${kind} cannot be written:`, reasons);
    }
    const { clientCertificateRef } = source?.placement?.spec ?? {};
    const spec = { ...made.value.spec, ...(clientCertificateRef !== undefined && { clientCertificateRef }) };
    places.set(`${kind} ${entity.id}`, made.value.metadata);
    resources.push(tidy({ ...made.value, spec }, homeNamespace));
  }
}

/** What `toResource` keeps: the name, and the members that the entity does not have. */
const skeletonOf = (
  kind: string,
  { name, namespace, spec }: NonNullable<ConvertedEntity["placement"]>,
  ofClass: string | undefined,
): Resource => {
  const { clientCertificateRef: _, ...kept } = spec;
  return {
    apiVersion: "sluice.dev/v1alpha1",
    kind,
    metadata: { name, namespace },
    spec: { ...kept, ...(ofClass !== undefined && { class: ofClass }) },
  };
};

/** The entity without members that its resource reads from Secrets. */
function withoutHidden<Name extends ResourceCollection>(
  entity: Entities[Name],
  source: ConvertedEntity | undefined,
): Entities[Name] {
  const omit = (value: unknown, [step, ...rest]: readonly (string | number)[]): unknown => {
    if (!isRecord(value) || step === undefined) return value;
    const { [step]: inner, ...others } = value;
    return rest.length === 0 ? others : { ...others, [step]: omit(inner, rest) };
  };
  return (source?.placement?.hidden ?? []).reduce<unknown>(omit, entity) as Entities[Name];
}

function childrenOf(collection: ResourceCollection, id: string, lists: EntityLists): Children {
  const found = childLists[kindOfCollection(collection)].map((list) => {
    const all: readonly Entity[] = lists[list.collection] ?? [];
    return [list.collection, all.filter((child) => referencedId(child, list.parent) === id)] as const;
  });
  return Object.fromEntries(found) as Children;
}

/** The references to the Secrets of credentials, by id. */
function secretRefsOf(children: Children, known: ReadonlyMap<string, ConvertedEntity>): ReadonlyMap<string, SecretRef> {
  return new Map(
    (Object.entries(children) as [Collection, readonly Entity[]][]).flatMap(([collection, list]) => {
      const [member] = entitySecrets[collection];
      if (member === undefined) return [];
      return list.flatMap(({ id }) => {
        const source = known.get(`${collection} ${id}`);
        if (!source || source.members[member] === undefined) return [];
        return [[id, { name: source.object.metadata.name, key: member }] as const];
      });
    }),
  );
}

/** Without times, and without names and ids that are derived from the resource. */
function tidy(resource: Resource, homeNamespace: string): Resource {
  const { name, namespace } = resource.metadata;
  const { id, ...spec }: Members = resource.spec ?? {};
  const entityName = namespace === homeNamespace ? name : `${namespace}.${name}`;
  const { name: given, ...unnamed } = spec;
  const named = given === entityName || given === undefined ? unnamed : spec;
  const lists = Object.entries(named).map(([member, value]) => [
    member,
    withoutIds(resource.kind as ResourceKind, member, value),
  ]);
  const tidied = { ...resource, metadata: { name, namespace }, spec: Object.fromEntries(lists) };
  return identityOf(tidied, homeNamespace).id === id ? tidied : { ...tidied, spec: { id, ...tidied.spec } };
}

/** The value of a member; entries that are entities lose their ids. */
function withoutIds(kind: ResourceKind, member: string, value: unknown): unknown {
  const isList = childLists[kind].some(({ list }) => list === member);
  if (!isList || !Array.isArray(value)) return value;
  return value.map((entry) => {
    const { id: _, ...rest } = Object(entry);
    return rest;
  });
}

/** `shop/route/orders.yaml` */
export const fileOfResource = ({ kind, metadata: { namespace, name } }: Resource): string =>
  `${namespace}/${kind.toLowerCase()}/${name}.yaml`;
