/** Translates entities to custom resources, with their keys and certificates in Secrets. Pure. */
import {
  type ChildList,
  type Children,
  certificateSecret,
  childLists,
  credentialSecret,
  kindOfCollection,
  type Resource,
  type ResourceCollection,
  type ResourceLocation,
  toResource,
} from "@sluice/crds";
import {
  type Collection,
  collections,
  credentialCollections,
  type Entities,
  type Entity,
  kindFacts,
  type ResourceKind,
  readSpec,
  referencedId,
  type SecretRef,
  type Violation,
} from "@sluice/model";
import type { EntityLists } from "../../stores/read-all.ts";

export interface ResourceOptions {
  readonly namespace: string;
  /** `spec.class`. Undefined: the field is left out, which means the default class. */
  readonly class: string | undefined;
}

export interface EntityFaults {
  readonly collection: Collection;
  readonly entity: Entity;
  readonly violations: readonly Violation[];
}

/**
 * Returns the resources, each after the resources that it refers to, and the faults of the entities that custom
 * resources cannot express.
 */
export function toResources(lists: EntityLists, { namespace, class: ofClass }: ResourceOptions) {
  const resources: Resource[] = [];
  const faults: EntityFaults[] = [];
  const places = new Map<string, ResourceLocation>();
  const childrenOf = groupChildren(lists);

  function addResource<Name extends ResourceCollection>(collection: Name, entity: Entities[Name], own: object): void {
    const kind = kindOfCollection(collection);
    const place = (kind: string, id: string) => places.get(`${kind} ${id}`);
    const made = toResource(collection, entity, {
      namespace,
      locate: place,
      ...(ofClass && { class: ofClass }),
      ...own,
    });
    const violations = made.violations ?? readSpec(kindFacts[kind].spec, made.value.spec).violations;
    if (violations.length > 0 || !made.value) {
      faults.push({ collection, entity, violations });
      return;
    }
    places.set(`${kind} ${entity.id}`, made.value.metadata);
    resources.push(made.value);
  }

  for (const certificate of lists.certificates ?? []) {
    const { secret, secretRef } = certificateSecret(certificate, { namespace });
    resources.push(secret);
    addResource("certificates", certificate, { secretRef, children: childrenOf("Certificate", certificate.id) });
  }
  for (const authority of lists.ca_certificates ?? []) addResource("ca_certificates", authority, {});
  for (const vault of lists.vaults ?? []) addResource("vaults", vault, {});
  for (const documents of lists.graphql_documents ?? []) addResource("graphql_documents", documents, {});
  for (const group of lists.consumer_groups ?? []) addResource("consumer_groups", group, {});
  for (const consumer of lists.consumers ?? []) {
    const children = childrenOf("Consumer", consumer.id);
    const secretRefs = new Map<string, SecretRef>();
    for (const collection of credentialCollections) {
      for (const credential of children[collection] ?? []) {
        const made = credentialSecret(collection, credential as never, { namespace });
        if (made === null) continue;
        resources.push(made.secret);
        secretRefs.set(credential.id, made.secretRef);
      }
    }
    addResource("consumers", consumer, { children, secretRefs });
  }
  for (const upstream of lists.upstreams ?? []) {
    addResource("upstreams", upstream, { children: childrenOf("Upstream", upstream.id) });
  }
  for (const collection of collections) {
    if (collection !== "services" && collection !== "routes" && collection !== "plugins") continue;
    for (const entity of lists[collection] ?? []) addResource(collection, entity as never, {});
  }
  return { resources: hasTimestamps(lists) ? resources : resources.map(withoutTimes), faults };
}

/**
 * Whether any entity has a timestamp. If none has, no resource gets annotations with times: then, in a cluster, the
 * creation time of the object counts.
 */
const hasTimestamps = (lists: EntityLists): boolean =>
  collections.some((name) =>
    lists[name]?.some((entity: { readonly created_at: number; readonly updated_at?: number }) => {
      return entity.created_at !== 0 || (entity.updated_at ?? 0) !== 0;
    }),
  );

function withoutTimes(resource: Resource): Resource {
  const { annotations: _, ...metadata } = resource.metadata;
  return { ...resource, metadata };
}

/** Returns a function that finds the children of a resource: the entities that are entries in its lists. */
function groupChildren(lists: EntityLists): (kind: ResourceKind, parentId: string) => Children {
  const groups = new Map<string, Entity[]>();
  const keyOf = ({ collection, parent }: ChildList, id: string) => `${collection} ${parent} ${id}`;
  for (const list of Object.values(childLists).flat()) {
    for (const child of lists[list.collection] ?? []) {
      groups.getOrInsertComputed(keyOf(list, referencedId(child, list.parent) ?? ""), () => []).push(child);
    }
  }
  return (kind, parentId) =>
    Object.fromEntries(
      childLists[kind].map((list) => [list.collection, groups.get(keyOf(list, parentId)) ?? []]),
    ) as Children;
}
