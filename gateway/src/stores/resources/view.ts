/** All entities of the resources at one moment, with the resources that contain them. Pure. */
import {
  type BatchMark,
  batchMark,
  byAge,
  type CheckedTranslation,
  keyOf,
  type Resource,
  type SluiceKind,
} from "@sluice/crds";
import {
  BucketMap,
  byHash,
  type Collection,
  type Entity,
  entities,
  entityNameOf,
  type ResourceKind,
  resourceKinds,
} from "@sluice/model";
import { claimKey, claimKeysOf, createTables, type PlacedEntity, type Tables } from "../tables/index.ts";
import type { TranslateResource, TranslationLookups } from "./cached-translation.ts";

export type WatchedKind = SluiceKind | "Secret";
export type Resources = Readonly<Record<WatchedKind, ReadonlyMap<string, Resource>>>;

/** An entity with its resource. */
export interface EntityInResource extends PlacedEntity {
  readonly resource: Resource;
  readonly kind: ResourceKind;
  /** The entity's path in the resource. */
  readonly base: CheckedTranslation["basePath"];
  /** An invalid entity is neither found nor listed, but keeps its id and name, and can be removed. */
  readonly isFaulty: boolean;
}

/** A resource of a batch that is in progress or was abandoned. */
export interface MarkedResource {
  readonly kind: ResourceKind;
  readonly resource: Resource;
  readonly mark: BatchMark;
}

export interface ResourceView {
  readonly resources: Resources;
  readonly tables: Tables;
  /** The entity with an id; an invalid one only if there is no other. */
  readonly held: (collection: Collection, id: string) => EntityInResource | undefined;
  /** All entities of a resource. */
  readonly within: (resource: Resource) => readonly EntityInResource[];
  readonly marked: readonly MarkedResource[];
  /** The state for the next incremental update; null when the next view must be built from scratch. */
  readonly parts: ViewParts | null;
}

/** The part of each resource in a view without conflicting claims and without batches. */
export interface ViewParts {
  /** By `partKey`. */
  readonly byResource: BucketMap<TranslatedResource>;
  /** By `claimKey` of the id. */
  readonly byId: BucketMap<EntityInResource>;
  /** From the `partKey` of a dependency to the `partKey`s of the resources that read it. */
  readonly askers: BucketMap<ReadonlySet<string>>;
}

export interface TranslatedResource {
  readonly resource: Resource;
  readonly held: readonly EntityInResource[];
  /** The `partKey`s of all resources that its translation looked up, found or not. */
  readonly asked: ReadonlySet<string>;
}

/** @param key `namespace/name`. */
export const resourceKeyOfKind = (kind: WatchedKind, key: string): string => `${kind} ${key}`;

export interface ViewOptions {
  /** Whether a resource is of this Sluice's class. */
  readonly isOwn: (resource: Resource) => boolean;
  readonly translateOne: TranslateResource;
  /** The id of the resource's entity. */
  readonly idOf: (resource: Resource) => string;
}

/** Builds a view from scratch. Errors of an invalid entity are reported in the conditions of its resource. */
export function buildView(resources: Resources, options: ViewOptions): ResourceView {
  const marked = markedOf(resources, options.isOwn);
  const gone = removedBy(marked);
  const parts = new Map<string, TranslatedResource>();
  for (const kind of resourceKinds) {
    const ours = [...resources[kind]].filter(([, resource]) => options.isOwn(resource) && !gone.has(resource));
    // The oldest resource gets what several claim.
    for (const [key, resource] of ours.sort(([, one], [, other]) => byAge(one, other)))
      parts.set(resourceKeyOfKind(kind, key), translateForView(resources, { kind, resource, gone }, options));
  }
  const byId = new Map<string, EntityInResource>();
  const faulty = new Map<string, EntityInResource>();
  const claimed = new Set<string>();
  const all = [...parts.values()].flatMap(({ held }) => held);
  let isContested = false;
  for (const held of all) {
    const key = entityIdKey(held);
    const before = byId.get(key);
    if (before) isContested = true;
    if (!before || (before.isFaulty && !held.isFaulty)) byId.set(key, held);
    const claims = claimsIn(held);
    if (held.isFaulty) for (const claim of claims) if (!faulty.has(claim)) faulty.set(claim, held);
    for (const claim of claims) {
      if (claimed.has(claim)) isContested = true;
      claimed.add(claim);
    }
  }
  const within = new Map([...parts.values()].map(({ resource, held }) => [resource, held]));
  return {
    resources,
    tables: createTables(
      all.filter(({ isFaulty }) => !isFaulty),
      faulty,
    ),
    held: (collection, id) => byId.get(claimKey(collection, { id })),
    within: (resource) => within.get(resource) ?? [],
    marked,
    parts:
      isContested || marked.length > 0
        ? null
        : {
            byResource: BucketMap.of(parts, byHash),
            byId: BucketMap.of(byId, byHash),
            askers: BucketMap.of(askersOf(parts), byHash),
          },
  };
}

interface TranslatePlace {
  readonly kind: ResourceKind;
  readonly resource: Resource;
  /** Resources that count as removed. */
  readonly gone: ReadonlySet<Resource>;
}

export function translateForView(
  resources: Resources,
  { kind, resource, gone }: TranslatePlace,
  options: ViewOptions,
): TranslatedResource {
  const asked = new Set<string>();
  const ask: TranslationLookups = {
    resolve(of, namespace, name) {
      const key = keyOf(namespace, name);
      asked.add(resourceKeyOfKind(of, key));
      const found = resources[of].get(key);
      return !found || !options.isOwn(found) || gone.has(found) ? undefined : options.idOf(found);
    },
    // The admin listener never looks up core Services.
    read(of, namespace, name) {
      if (of !== "Secret") return undefined;
      const key = keyOf(namespace, name);
      asked.add(resourceKeyOfKind(of, key));
      return resources[of].get(key);
    },
    // The operator checks references. Here they are allowed, except to Secrets of other namespaces, whose content is
    // not shown.
    isReferenceAllowed: ({ to }) => to.kind !== "Secret",
    namespacesOpenTo: () => [],
  };
  const held = options.translateOne(resource, ask).map(({ collection, entity, item, basePath }): EntityInResource => {
    return {
      collection,
      entity: entity ?? (item as unknown as Entity),
      resource,
      kind,
      base: basePath,
      isFaulty: !entity,
    };
  });
  return { resource, held, asked };
}

function askersOf(parts: ReadonlyMap<string, TranslatedResource>): ReadonlyMap<string, ReadonlySet<string>> {
  const askers = new Map<string, Set<string>>();
  for (const [key, { asked }] of parts)
    for (const one of asked) {
      const known = askers.get(one);
      if (known) known.add(key);
      else askers.set(one, new Set([key]));
    }
  return askers;
}

export const entityIdKey = ({ collection, entity }: EntityInResource): string =>
  claimKey(collection, { id: entity.id });

/** The claims that no other entity may have; an invalid entity only claims its id and name. */
export function claimsIn({ collection, entity, isFaulty }: EntityInResource): readonly string[] {
  if (!isFaulty) return claimKeysOf(collection, entity);
  const { key } = entities[collection];
  const name = entityNameOf(collection, entity);
  const claims = [{ id: entity.id }, ...(key !== null && name !== undefined ? [{ [key]: name }] : [])];
  return claims.map((claim) => claimKey(collection, claim));
}

const markedOf = (resources: Resources, isOwn: ViewOptions["isOwn"]): readonly MarkedResource[] =>
  resourceKinds.flatMap((kind) =>
    [...resources[kind].values()].flatMap((resource): MarkedResource[] => {
      const mark = batchMark(resource);
      return mark && isOwn(resource) ? [{ kind, resource, mark }] : [];
    }),
  );

/**
 * Whether all resources of the batch have been written: its record then has the mark, which an undone batch can no
 * longer get.
 */
export const isBatchComplete = (batch: readonly MarkedResource[]): boolean => batch.some(({ mark }) => mark.completes);

export const groupByBatch = (marked: readonly MarkedResource[]): readonly (readonly MarkedResource[])[] =>
  Object.values(Object.groupBy(marked, ({ mark }) => mark.id)).flatMap((batch) => (batch ? [batch] : []));

/** What a complete batch removes counts as gone. */
const removedBy = (marked: readonly MarkedResource[]): ReadonlySet<Resource> =>
  new Set(
    groupByBatch(marked)
      .filter(isBatchComplete)
      .flatMap((batch) => batch.flatMap(({ mark, resource }) => (mark.removes ? [resource] : []))),
  );
