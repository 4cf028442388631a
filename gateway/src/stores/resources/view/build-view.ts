/** All entities of the resources at one moment, with the resources that contain them. Pure. */
import {
  type BatchMark,
  batchMark,
  type CheckedTranslation,
  compareByAge,
  createResourceLookups,
  createTranslationCache,
  DependencyIndex,
  type GrantLookups,
  type LookupsOptions,
  type Resource,
  type ResourceLookups,
  refKey,
  type SluiceKind,
  type TrackedTranslation,
  type TranslationCache,
  type TranslationLookups,
  timedVersionOf,
  translateTracked,
} from "@sluice/crds";
import { BucketMap, type Collection, type Entity, hashOfText, type ResourceKind, resourceKinds } from "@sluice/model";
import {
  claimKey,
  createTables,
  entityClaimKeys,
  faultyClaimKeys,
  type PlacedEntity,
  type Tables,
} from "../../tables/index.ts";

export type ViewedKind = SluiceKind | "Secret";
export type Resources = Readonly<Record<ViewedKind, ReadonlyMap<string, Resource>>>;

export interface EntityInResource extends PlacedEntity {
  readonly resource: Resource;
  readonly kind: ResourceKind;
  readonly base: CheckedTranslation["basePath"];
  readonly hiddenPaths: CheckedTranslation["hiddenPaths"];
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
  /** The entity with this id. An invalid entity is returned only if no valid entity has the id. */
  readonly held: (collection: Collection, id: string) => EntityInResource | undefined;
  readonly within: (resource: Resource) => readonly EntityInResource[];
  readonly marked: readonly MarkedResource[];
  readonly parts: ViewParts;
  /** Whether there are conflicting claims, or marked resources. If so, the next view must be built from scratch. */
  readonly isContested: boolean;
}

/** What each resource contributes to a view, kept for the next incremental update. */
export interface ViewParts {
  /** By `refKey`. */
  readonly byResource: BucketMap<ViewPart>;
  /** By `claimKey` of the id. */
  readonly byId: BucketMap<EntityInResource>;
  /** Modified in place by each update, so only the newest view can be updated. */
  readonly dependencies: DependencyIndex;
}

export interface ViewPart {
  readonly resource: Resource;
  readonly translation: TrackedTranslation;
  readonly held: readonly EntityInResource[];
}

export interface ViewContext {
  readonly cache: TranslationCache<TrackedTranslation>;
  readonly lookups: ResourceLookups;
  readonly translate: (resource: Resource, lookups: TranslationLookups) => TrackedTranslation;
}

export function createViewContext(options: LookupsOptions): ViewContext {
  const { homeNamespace } = options;
  const translate: ViewContext["translate"] = (resource, lookups) =>
    translateTracked(resource, { homeNamespace, audience: "admin" }, lookups);
  return {
    lookups: createResourceLookups(options),
    translate,
    cache: createTranslationCache({
      versionOf: timedVersionOf,
      translate(resource, lookups) {
        const value = translate(resource, lookups);
        return { value, isCurrent: value.isCurrent };
      },
    }),
  };
}

/** Builds a view from scratch. Errors of an invalid entity are reported in the conditions of its resource. */
export function buildResourceView(resources: Resources, context: ViewContext): ResourceView {
  const { cache, lookups } = context;
  const marked = markedOf(resources, context);
  const gone = removedBy(marked);
  const present = gone.size === 0 ? resources : without(resources, gone);
  const parts = new Map<string, ViewPart>();
  const dependencies = new DependencyIndex();
  for (const kind of resourceKinds) {
    const own = [...present[kind].values()].filter((resource) => lookups.idOf(resource) !== undefined);
    // If several resources make the same claim, the oldest one gets it.
    for (const resource of own.sort(compareByAge)) {
      const key = refKey({ kind, ...resource.metadata });
      const part = translateForView(present, { kind, resource }, context);
      parts.set(key, part);
      dependencies.add(key, part.translation.dependencies);
    }
  }
  cache.keepOnly(parts);
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
  const tables = createTables(
    all.filter(({ isFaulty }) => !isFaulty),
    faulty,
  );
  const state = { byResource: BucketMap.of(parts, hashOfText), byId: BucketMap.of(byId, hashOfText), dependencies };
  return viewOf({ resources, tables, marked, parts: state, isContested: isContested || marked.length > 0 });
}

export function viewOf(state: Omit<ResourceView, "held" | "within">): ResourceView {
  const { byResource, byId } = state.parts;
  return {
    ...state,
    held: (collection, id) => byId.get(claimKey(collection, { id })),
    within(resource) {
      const part = byResource.get(refKey({ kind: resource.kind as ResourceKind, ...resource.metadata }));
      return part?.resource === resource ? part.held : [];
    },
  };
}

/**
 * The operator checks references. Here they are allowed, except to Secrets of other namespaces, whose content is not
 * shown.
 */
const grants: GrantLookups = {
  isReferenceAllowed: ({ to }) => to.kind !== "Secret",
  namespacesOpenTo: () => [],
};

export function translateForView(
  resources: Resources,
  { kind, resource }: { readonly kind: ResourceKind; readonly resource: Resource },
  { cache, lookups }: ViewContext,
): ViewPart {
  const translation = cache.translate(resource, lookups.lookupsIn(resources, grants));
  const held = translation.translated.map(
    ({ collection, entity, item, basePath, hiddenPaths }): EntityInResource => ({
      collection,
      entity: entity ?? (item as unknown as Entity),
      resource,
      kind,
      base: basePath,
      hiddenPaths,
      isFaulty: !entity,
    }),
  );
  return { resource, translation, held };
}

/** The translation of a resource among earlier resources, without the cache. */
export const translatePast = (
  resources: Resources,
  resource: Resource,
  { lookups, translate }: ViewContext,
): readonly CheckedTranslation[] => translate(resource, lookups.lookupsIn(resources, grants)).translated;

const without = (resources: Resources, gone: ReadonlySet<Resource>): Resources =>
  Object.fromEntries(
    Object.entries(resources).map(([kind, all]) => [kind, new Map([...all].filter(([, one]) => !gone.has(one)))]),
  ) as unknown as Resources;

export const entityIdKey = ({ collection, entity }: EntityInResource): string =>
  claimKey(collection, { id: entity.id });

/** The keys of the claims of an entity, valid or not: no other entity may have these claims. */
export const claimsIn = ({ collection, entity, isFaulty }: EntityInResource): readonly string[] =>
  isFaulty ? faultyClaimKeys(collection, entity) : entityClaimKeys(collection, entity);

const markedOf = (resources: Resources, { lookups }: ViewContext): readonly MarkedResource[] =>
  resourceKinds.flatMap((kind) =>
    [...resources[kind].values()].flatMap((resource): MarkedResource[] => {
      const mark = batchMark(resource);
      return mark && lookups.idOf(resource) !== undefined ? [{ kind, resource, mark }] : [];
    }),
  );

/**
 * Whether all resources of the batch have been written: after that, the writer marks one of them as complete, unless
 * the batch has been undone.
 */
export const isBatchComplete = (batch: readonly MarkedResource[]): boolean => batch.some(({ mark }) => mark.completes);

export const groupByBatch = (marked: readonly MarkedResource[]): readonly (readonly MarkedResource[])[] =>
  Object.values(Object.groupBy(marked, ({ mark }) => mark.id)).flatMap((batch) => (batch ? [batch] : []));

/** The resources that complete batches remove: they count as gone. */
const removedBy = (marked: readonly MarkedResource[]): ReadonlySet<Resource> =>
  new Set(
    groupByBatch(marked)
      .filter(isBatchComplete)
      .flatMap((batch) => batch.flatMap(({ mark, resource }) => (mark.removes ? [resource] : []))),
  );
