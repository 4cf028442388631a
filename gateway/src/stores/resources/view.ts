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
import {
  changeTables,
  claimKey,
  claimKeysOf,
  createTables,
  type Placed,
  SharedMap,
  type Tables,
} from "../tables/index.ts";
import { type Ask, remember, type TranslateOne } from "./remember.ts";

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

/**
 * Views of the same resources at one moment after the other. A view takes over from the last one what has not changed:
 * a write among thousands of resources costs little more than one among ten.
 */
export function createViews(options: ViewOptions): (resources: Resources) => View {
  const stand = createStand(options);
  let last: Inside | undefined;
  return (resources) => {
    const parts = stand(resources);
    last = (last && following(last, parts)) ?? whole(parts);
    const { tables, byId, within, marked } = last;
    return {
      resources,
      tables,
      held: (collection, id) => byId.get(claimKey(collection, { id })),
      within: (resource) => within.get(resource) ?? [],
      marked,
    };
  };
}

/** What stands in the resources that are ours and not removed by a batch. */
interface Parts {
  readonly within: ReadonlyMap<Resource, readonly Held[]>;
  readonly marked: readonly Marked[];
}

interface Inside extends Parts {
  readonly tables: Tables;
  /** By the `claimKey` of their ids; a faulty one only when there is no other. */
  readonly byId: SharedMap<Held>;
  /** Two entities have one id, or claim the same: the older resource has it, and who is next depends on all of them. */
  readonly isContested: boolean;
}

/** The conditions of a faulty entity's resource tell what is wrong. */
function createStand(options: ViewOptions): (resources: Resources) => Parts {
  const markOf = remember((resource: Resource) => batchMark(resource) ?? null);
  const heldOf = new WeakMap<readonly CheckedTranslation[], readonly Held[]>();
  return (resources) => {
    const ours = resourceKinds.flatMap((kind) =>
      [...resources[kind].values()].flatMap((resource) =>
        classOf(resource) === options.class ? { kind, resource } : [],
      ),
    );
    const marked = ours.flatMap(({ kind, resource }): readonly Marked[] => {
      const mark = markOf(resource);
      return mark ? [{ kind, resource, mark }] : [];
    });
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
    const within = new Map<Resource, readonly Held[]>();
    for (const { kind, resource } of ours) {
      if (gone.has(resource)) continue;
      const translated = options.translateOne(resource, ask);
      const held =
        heldOf.get(translated) ??
        translated.map(({ collection, entity, item, base }): Held => {
          return { collection, entity: entity ?? (item as unknown as Entity), resource, kind, base, isFaulty: !entity };
        });
      heldOf.set(translated, held);
      within.set(resource, held);
    }
    return { within, marked };
  };
}

/** From nothing: the order of age decides who has what several claim. */
function whole(parts: Parts): Inside {
  const kindOrder = (kind: ResourceKind) => resourceKinds.indexOf(kind);
  const all = [...parts.within.values()]
    .flat()
    .sort((one, other) => kindOrder(one.kind) - kindOrder(other.kind) || byAge(one.resource, other.resource));
  const byId = new Map<string, Held>();
  const faulty = new Map<string, Held>();
  const claimed = new Set<string>();
  let isContested = false;
  for (const held of all) {
    const key = claimKey(held.collection, { id: held.entity.id });
    const before = byId.get(key);
    if (before) isContested = true;
    if (!before || (before.isFaulty && !held.isFaulty)) byId.set(key, held);
    if (held.isFaulty) for (const claim of claimsOfFaulty(held)) if (!faulty.has(claim)) faulty.set(claim, held);
    if (held.isFaulty) continue;
    for (const claim of claimKeysOf(held.collection, held.entity)) {
      if (claimed.has(claim)) isContested = true;
      claimed.add(claim);
    }
  }
  const tables = createTables(
    all.filter(({ isFaulty }) => !isFaulty),
    faulty,
  );
  return { ...parts, tables, byId: new SharedMap(byId), isContested };
}

/** From the last one by what has changed; undefined where that alone does not tell. */
function following(last: Inside, parts: Parts): Inside | undefined {
  const gone = notIn(parts.within, last.within);
  const come = notIn(last.within, parts.within);
  if (last.isContested || [...gone, ...come].some(({ isFaulty }) => isFaulty)) return undefined;
  const keyOfId = ({ collection, entity }: Placed) => claimKey(collection, { id: entity.id });
  const changes = new Map<string, Held | undefined>(gone.map((held) => [keyOfId(held), undefined]));
  const isFree = (owner: Placed | undefined) => !owner || changes.has(keyOfId(owner));
  const claimed = new Set<string>();
  for (const held of come) {
    const id = keyOfId(held);
    const claims = claimKeysOf(held.collection, held.entity);
    const free = isFree(last.byId.get(id)) && claims.every((claim) => isFree(last.tables.claims.get(claim)));
    if (!free || [id, ...claims].some((claim) => claimed.has(claim))) return undefined;
    for (const claim of [id, ...claims]) claimed.add(claim);
  }
  for (const held of come) changes.set(keyOfId(held), held);
  const change = ({ collection, entity }: Held, after: Entity | undefined) => ({
    collection,
    id: entity.id,
    entity: after,
  });
  return {
    ...parts,
    // Whatever goes, goes first: what comes may have its name.
    tables: changeTables(last.tables, [
      ...gone.map((held) => change(held, undefined)),
      ...come.map((held) => change(held, held.entity)),
    ]),
    byId: last.byId.with(changes),
    isContested: false,
  };
}

/** What stands in resources of the second that the first does not have, or not as they are. */
const notIn = (one: Parts["within"], other: Parts["within"]): readonly Held[] =>
  [...other].flatMap(([resource, held]) => (one.get(resource) === held ? [] : held));

function claimsOfFaulty({ collection, entity }: Held): readonly string[] {
  const { key } = entities[collection];
  const name = nameOf(collection, entity);
  const claims = [{ id: entity.id }, ...(key !== null && name !== undefined ? [{ [key]: name }] : [])];
  return claims.map((claim) => claimKey(collection, claim));
}

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
