/** All entities of the resources at one moment, with the resources that they stand in. Pure. */
import {
  type BatchMark,
  batchMark,
  type CheckedTranslation,
  classOf,
  keyOf,
  type Resource,
  type SluiceKind,
} from "@sluice/crds";
import { type Collection, type Entity, entities, nameOf, type ResourceKind, resourceKinds } from "@sluice/model";
import { claimKey, createTables, type Placed, type Tables } from "../tables/index.ts";
import type { Ask, TranslateOne } from "./remember.ts";

export type WatchedKind = SluiceKind | "Secret";
export type Resources = Readonly<Record<WatchedKind, ReadonlyMap<string, Resource>>>;

/** An entity where it stands. */
export interface Held extends Placed {
  readonly resource: Resource;
  readonly kind: ResourceKind;
  /** Where the entity stands in the resource. */
  readonly base: CheckedTranslation["base"];
  /** It is neither found nor listed, but keeps its id and its name, and can be removed. */
  readonly isFaulty: boolean;
}

/** A resource of a batch that is under way, or that somebody did not bring to its end. */
export interface Marked {
  readonly kind: ResourceKind;
  readonly resource: Resource;
  readonly mark: BatchMark;
}

export interface View {
  readonly resources: Resources;
  readonly tables: Tables;
  /** The entity of an id; a faulty one only when there is no other. */
  readonly held: (collection: Collection, id: string) => Held | undefined;
  /** All that stands in a resource. */
  readonly within: (resource: Resource) => readonly Held[];
  readonly marked: readonly Marked[];
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
  const marked = markedOf(resources, options.class);
  const gone = removedBy(marked);
  const ask: Ask = {
    resolve(kind, namespace, name) {
      const resource = resources[kind].get(keyOf(namespace, name));
      if (!resource || classOf(resource) !== options.class || gone.has(resource)) return undefined;
      return options.idOf(resource);
    },
    // Core Services are never looked for by the admin listener.
    read: (kind, namespace, name) => (kind === "Secret" ? resources.Secret.get(keyOf(namespace, name)) : undefined),
  };
  const all: Held[] = [];
  const within = new Map<Resource, Held[]>();
  for (const kind of resourceKinds) {
    const ours = [...resources[kind].values()].filter(
      (resource) => classOf(resource) === options.class && !gone.has(resource),
    );
    for (const resource of ours.sort(byAge)) {
      const here = options.translateOne(resource, ask).map(({ collection, entity, item, base }): Held => {
        return { collection, entity: entity ?? (item as unknown as Entity), resource, kind, base, isFaulty: !entity };
      });
      within.set(resource, here);
      all.push(...here);
    }
  }
  const byId = new Map<string, Held>();
  const faulty = new Map<string, Held>();
  for (const held of all) {
    const key = claimKey(held.collection, { id: held.entity.id });
    const before = byId.get(key);
    if (!before || (before.isFaulty && !held.isFaulty)) byId.set(key, held);
    if (held.isFaulty) for (const claim of claimsOfFaulty(held)) if (!faulty.has(claim)) faulty.set(claim, held);
  }
  return {
    resources,
    tables: createTables(
      all.filter(({ isFaulty }) => !isFaulty),
      faulty,
    ),
    held: (collection, id) => byId.get(claimKey(collection, { id })),
    within: (resource) => within.get(resource) ?? [],
    marked,
  };
}

function claimsOfFaulty({ collection, entity }: Held): readonly string[] {
  const { key } = entities[collection];
  const name = nameOf(collection, entity);
  const claims = [{ id: entity.id }, ...(key !== null && name !== undefined ? [{ [key]: name }] : [])];
  return claims.map((claim) => claimKey(collection, claim));
}

const markedOf = (resources: Resources, ofClass: string): readonly Marked[] =>
  resourceKinds.flatMap((kind) =>
    [...resources[kind].values()].flatMap((resource): Marked[] => {
      const mark = batchMark(resource);
      return mark && classOf(resource) === ofClass ? [{ kind, resource, mark }] : [];
    }),
  );

/** Whether all resources of the batch have been written. */
export const isComplete = (batch: readonly Marked[]): boolean =>
  batch.some(({ mark }) => mark.completes || batch.length >= mark.size);

export const byBatch = (marked: readonly Marked[]): readonly (readonly Marked[])[] =>
  Object.values(Object.groupBy(marked, ({ mark }) => mark.id)).flatMap((batch) => (batch ? [batch] : []));

/** What a batch removes is gone once the batch is complete. */
const removedBy = (marked: readonly Marked[]): ReadonlySet<Resource> =>
  new Set(
    byBatch(marked)
      .filter(isComplete)
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
