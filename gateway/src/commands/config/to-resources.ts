/** Translates entities to custom resources, with their keys and certificates in Secrets. Pure. */
import {
  certificateSecret,
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
  type Entities,
  type Entity,
  kinds,
  readSpec,
  type Violation,
} from "@sluice/model";
import type { EntityLists } from "../../stores/read-all.ts";

export interface ResourceOptions {
  readonly namespace: string;
  /** `spec.class`. Undefined: the field is left out, which means the default class. */
  readonly class: string | undefined;
}

interface EntityFaults {
  readonly collection: Collection;
  readonly entity: Entity;
  readonly violations: readonly Violation[];
}

/** Each resource follows the resources that it refers to. */
export function toResources(lists: EntityLists, { namespace, class: ofClass }: ResourceOptions) {
  const resources: Resource[] = [];
  const faults: EntityFaults[] = [];
  const places = new Map<string, ResourceLocation>();
  const [keys, targets, snis] = [
    byParent(lists.keyauth_credentials, ({ consumer }) => consumer),
    byParent(lists.targets, ({ upstream }) => upstream),
    byParent(lists.snis, ({ certificate }) => certificate),
  ];

  function make<Name extends ResourceCollection>(collection: Name, entity: Entities[Name], own: object): void {
    const kind = kindOfCollection(collection);
    const place = (kind: string, id: string) => places.get(`${kind} ${id}`);
    const made = toResource(collection, entity, {
      namespace,
      locate: place,
      ...(ofClass && { class: ofClass }),
      ...own,
    });
    const violations = made.violations ?? readSpec(kinds[kind].spec, made.value.spec).violations;
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
    make("certificates", certificate, { secretRef, snis: snis.get(certificate.id) ?? [] });
  }
  for (const consumer of lists.consumers ?? []) {
    const secrets = (keys.get(consumer.id) ?? []).map((key) => credentialSecret(key, { namespace }));
    resources.push(...secrets.map(({ secret }) => secret));
    make("consumers", consumer, { keyAuth: secrets.map(({ entry }) => entry) });
  }
  for (const upstream of lists.upstreams ?? [])
    make("upstreams", upstream, { targets: targets.get(upstream.id) ?? [] });
  for (const collection of collections) {
    if (collection !== "services" && collection !== "routes" && collection !== "plugins") continue;
    for (const entity of lists[collection] ?? []) make(collection, entity as never, {});
  }
  return { resources: tellsTimes(lists) ? resources : resources.map(withoutTimes), faults };
}

/** Whether any entity has a timestamp. Without one, an object in a cluster uses its own creation time. */
const tellsTimes = (lists: EntityLists): boolean =>
  collections.some((name) =>
    lists[name]?.some((entity: { readonly created_at: number; readonly updated_at?: number }) => {
      return entity.created_at !== 0 || (entity.updated_at ?? 0) !== 0;
    }),
  );

function withoutTimes(resource: Resource): Resource {
  const { annotations: _, ...metadata } = resource.metadata;
  return { ...resource, metadata };
}

function byParent<Child>(
  children: readonly Child[] = [],
  parentOf: (child: Child) => { readonly id: string } | null,
): ReadonlyMap<string, readonly Child[]> {
  return Map.groupBy(children, (child) => parentOf(child)?.id ?? "");
}
