/** All entities of the resources at one moment, with the resources that they stand in. Pure. */
import { type CheckedTranslation, classOf, keyOf, type Resource, type SluiceKind } from "@sluice/crds";
import { type Collection, collections, type Entity, entities, type ResourceKind, resourceKinds } from "@sluice/model";
import { claimKey, claimKeysOf } from "../tables/index.ts";
import type { Ask, TranslateOne } from "./remember.ts";

export type WatchedKind = SluiceKind | "Secret";
export type Resources = Readonly<Record<WatchedKind, ReadonlyMap<string, Resource>>>;

export interface Held {
  readonly entity: Entity;
  readonly resource: Resource;
  readonly kind: ResourceKind;
  /** Where the entity stands in the resource. */
  readonly base: CheckedTranslation["base"];
}

export interface View {
  readonly byId: Readonly<Record<Collection, ReadonlyMap<string, Held>>>;
  /** By `claimKey`. Of several that claim the same, the one of the oldest resource. */
  readonly byClaim: ReadonlyMap<string, Held>;
  /** What has faults, by the `claimKey` of its id and of its name: it is neither found nor listed, but keeps both and can be removed. */
  readonly faulty: ReadonlyMap<string, Held>;
  /** In the order of ids. */
  readonly sorted: (collection: Collection) => readonly Held[];
}

export interface ViewOptions {
  /** Resources with another spec.class belong to another Sluice. */
  readonly class: string;
  readonly translateOne: TranslateOne;
  /** The id of the resource's entity. */
  readonly idOf: (resource: Resource) => string;
}

/** The conditions of a faulty entity's resource tell what is wrong. */
export function buildView(resources: Resources, options: ViewOptions): View {
  const byId = Object.fromEntries(collections.map((name) => [name, new Map<string, Held>()])) as Record<
    Collection,
    Map<string, Held>
  >;
  const byClaim = new Map<string, Held>();
  const faulty = new Map<string, Held>();
  const ask: Ask = {
    resolve(kind, namespace, name) {
      const resource = resources[kind].get(keyOf(namespace, name));
      if (!resource || classOf(resource) !== options.class) return undefined;
      return options.idOf(resource);
    },
    // Core Services are never looked for by the admin listener.
    read: (kind, namespace, name) => (kind === "Secret" ? resources.Secret.get(keyOf(namespace, name)) : undefined),
  };
  for (const kind of resourceKinds) {
    const ours = [...resources[kind].values()].filter((resource) => classOf(resource) === options.class);
    for (const resource of ours.sort(byAge)) {
      for (const { collection, entity, item, base } of options.translateOne(resource, ask)) {
        if (!entity) {
          for (const member of ["id", entities[collection].key ?? "id"]) {
            const held = { entity: item as unknown as Entity, resource, kind, base };
            faulty.set(claimKey(collection, { [member]: item[member] }), held);
          }
          continue;
        }
        if (byId[collection].has(entity.id)) continue;
        const held = { entity, resource, kind, base };
        byId[collection].set(entity.id, held);
        for (const key of claimKeysOf(collection, entity)) if (!byClaim.has(key)) byClaim.set(key, held);
      }
    }
  }
  const sorted = new Map<Collection, readonly Held[]>();
  return {
    byId,
    byClaim,
    faulty,
    sorted(collection) {
      const list =
        sorted.get(collection) ??
        [...byId[collection].values()].sort(({ entity: a }, { entity: b }) => (a.id < b.id ? -1 : 1));
      sorted.set(collection, list);
      return list;
    },
  };
}

/** As the operator ranks them: the older resource has what two resources claim. */
function byAge({ metadata: one }: Resource, { metadata: other }: Resource): number {
  return (
    compare(one.creationTimestamp ?? "", other.creationTimestamp ?? "") ||
    compare(one.namespace, other.namespace) ||
    compare(one.name, other.name)
  );
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
