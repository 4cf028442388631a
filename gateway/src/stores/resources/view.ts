/** All entities of the resources at one moment, with the resources that they stand in. Pure. */
import {
  type BatchMark,
  batchMark,
  type CheckedTranslation,
  keyOf,
  type Resource,
  type SluiceKind,
} from "@sluice/crds";
import { type Collection, type Entity, entities, nameOf, type ResourceKind, resourceKinds } from "@sluice/model";
import { claimKey, claimKeysOf, createTables, type PlacedEntity, SharedMap, type Tables } from "../tables/index.ts";
import type { TranslateResource, TranslationLookups } from "./cached-translation.ts";

export type WatchedKind = SluiceKind | "Secret";
export type Resources = Readonly<Record<WatchedKind, ReadonlyMap<string, Resource>>>;

/** An entity where it stands. */
export interface EntityInResource extends PlacedEntity {
  readonly resource: Resource;
  readonly kind: ResourceKind;
  /** Where the entity stands in the resource. */
  readonly base: CheckedTranslation["basePath"];
  /** It is neither found nor listed, but keeps its id and its name, and can be removed. */
  readonly isFaulty: boolean;
}

/** A resource of a batch that is under way, or that somebody did not bring to its end. */
export interface MarkedResource {
  readonly kind: ResourceKind;
  readonly resource: Resource;
  readonly mark: BatchMark;
}

export interface ResourceView {
  readonly resources: Resources;
  readonly tables: Tables;
  /** The entity of an id; a faulty one only when there is no other. */
  readonly held: (collection: Collection, id: string) => EntityInResource | undefined;
  /** All that stands in a resource. */
  readonly within: (resource: Resource) => readonly EntityInResource[];
  readonly marked: readonly MarkedResource[];
  /** What the next view takes over; null when it has to be made from nothing. */
  readonly parts: ViewParts | null;
}

/** What each resource gives to a view in which no two of them claim the same and none is in a batch. */
export interface ViewParts {
  /** By `partKey`. */
  readonly byResource: SharedMap<TranslatedResource>;
  /** By `claimKey` of the id. */
  readonly byId: SharedMap<EntityInResource>;
  /** By the `partKey` of what they ask for: the `partKey`s of resources. */
  readonly askers: SharedMap<ReadonlySet<string>>;
}

export interface TranslatedResource {
  readonly resource: Resource;
  readonly held: readonly EntityInResource[];
  /** The `partKey`s of all that it asks for, there or not. */
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

/** From nothing. The conditions of a faulty entity's resource tell what is wrong. */
export function buildView(resources: Resources, options: ViewOptions): ResourceView {
  const marked = markedOf(resources, options.isOwn);
  const gone = removedBy(marked);
  const parts = new Map<string, TranslatedResource>();
  for (const kind of resourceKinds) {
    const ours = [...resources[kind]].filter(([, resource]) => options.isOwn(resource) && !gone.has(resource));
    // The order of age decides who has what several claim.
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
        : { byResource: new SharedMap(parts), byId: new SharedMap(byId), askers: new SharedMap(askersOf(parts)) },
  };
}

interface TranslatePlace {
  readonly kind: ResourceKind;
  readonly resource: Resource;
  /** What counts as removed. */
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
    // Core Services are never looked for by the admin listener.
    read(of, namespace, name) {
      if (of !== "Secret") return undefined;
      const key = keyOf(namespace, name);
      asked.add(resourceKeyOfKind(of, key));
      return resources[of].get(key);
    },
    // The operator says whether a reference holds; what stands in other namespaces' Secrets is not shown for it.
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

/** What nobody else may claim besides; a faulty one keeps its id and its name. */
export function claimsIn({ collection, entity, isFaulty }: EntityInResource): readonly string[] {
  if (!isFaulty) return claimKeysOf(collection, entity);
  const { key } = entities[collection];
  const name = nameOf(collection, entity);
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

/** Whether all resources of the batch have been written: its record says so, and nobody can say it of one undone. */
export const isBatchComplete = (batch: readonly MarkedResource[]): boolean => batch.some(({ mark }) => mark.completes);

export const groupByBatch = (marked: readonly MarkedResource[]): readonly (readonly MarkedResource[])[] =>
  Object.values(Object.groupBy(marked, ({ mark }) => mark.id)).flatMap((batch) => (batch ? [batch] : []));

/** What a batch removes is gone once the batch is complete. */
const removedBy = (marked: readonly MarkedResource[]): ReadonlySet<Resource> =>
  new Set(
    groupByBatch(marked)
      .filter(isBatchComplete)
      .flatMap((batch) => batch.flatMap(({ mark, resource }) => (mark.removes ? [resource] : []))),
  );

/** As the operator ranks them: the older resource has what two resources claim. */
function byAge({ metadata: one }: Resource, { metadata: other }: Resource): number {
  return (
    compare(one.creationTimestamp ?? "", other.creationTimestamp ?? "") ||
    compare(one.namespace, other.namespace) ||
    compare(one.name, other.name)
  );
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
