/**
 * The revisions that the operator has recorded, as changes of entities. A resource is translated together with the
 * resources of its time: these are the present ones with all later changes undone.
 */
import {
  decodeChanges,
  MAX_CONTENT_BYTES,
  namespacedName,
  type RecordedChange,
  type Resource,
  type RevisionStorage,
  type RevisionSummary,
  refKey,
} from "@sluice/crds";
import { BucketMap, canonicalJson, type Entity, hashOfText, type ResourceKind, resourceKinds } from "@sluice/model";
import {
  type EntityChange,
  MAX_READ_CHANGES,
  notKept,
  type RevisionChanges,
  type Revisions,
  type StoreRevision,
  tooManyChanges,
} from "../revisions/revisions.ts";
import { throwUnavailable } from "./apply/write-faults.ts";
import { type EntityInResource, type ResourceView, translatePast, type ViewContext } from "./view/build-view.ts";

export interface ResourceRevisionsOptions {
  readonly storage: Pick<RevisionStorage, "list" | "content">;
  readonly view: () => Promise<ResourceView>;
  readonly context: ViewContext;
  readonly homeNamespace: string;
}

type Resources = ResourceView["resources"];

/** The maximum size of the changes of a revision. */
const MOST = `${MAX_CONTENT_BYTES / 1024} KiB after compression`;

export function createResourceRevisions(options: ResourceRevisionsOptions): Revisions {
  const { storage } = options;
  const newestFirst = async () => (await storage.list().catch(throwUnavailable)).toReversed();
  return {
    async list({ size, before = Number.POSITIVE_INFINITY }) {
      const found = (await newestFirst()).filter(({ number }) => number < before);
      return { revisions: found.slice(0, size).map(storeRevisionOf), more: found.length > size };
    },
    async find(number) {
      const found = (await newestFirst()).find((one) => one.number === number);
      return found ? storeRevisionOf(found) : null;
    },
    async changes({ after, to }) {
      const later = (await newestFirst()).filter(({ number }) => number > after);
      const isWanted = ({ number }: Pick<RevisionSummary, "number">) => number <= to;
      const unknown = later.find((revision) => isWanted(revision) && revision.counts === null);
      if (unknown) return { missing: notKept(unknown, MOST) };
      const read = await readChanges(later, storage);
      // The operator may have deleted a revision after the list was read.
      const deleted = read.find((revision) => isWanted(revision) && revision.changes === null);
      if (deleted) return { missing: notKept(deleted, MOST) };
      const changesOf = (revisions: typeof read) => revisions.flatMap(({ changes }) => changes?.toReversed() ?? []);
      const wanted = changesOf(read.filter(isWanted));
      if (wanted.length > MAX_READ_CHANGES) return { missing: tooManyChanges(after, to) };
      const since = changesOf(read.filter((revision) => !isWanted(revision)));
      return entityChanges({ wanted, since }, options);
    },
  };
}

const storeRevisionOf = ({ number, time, author, counts }: RevisionSummary): StoreRevision => ({
  number,
  last: number,
  time,
  author,
  counts,
});

async function readChanges(revisions: readonly RevisionSummary[], storage: ResourceRevisionsOptions["storage"]) {
  const read: (Pick<RevisionSummary, "number" | "author"> & { readonly changes: readonly RecordedChange[] | null })[] =
    [];
  for (const { number, author, counts } of revisions) {
    const content = counts && (await storage.content(number).catch(throwUnavailable));
    read.push({ number, author, changes: content && (await decodeChanges(content)) });
  }
  return read;
}

/** @param changes The changes of the wanted revisions and of all later ones, newest first. */
async function entityChanges(
  { wanted, since }: Readonly<Record<"wanted" | "since", readonly RecordedChange[]>>,
  { view, context, homeNamespace }: ResourceRevisionsOptions,
): Promise<RevisionChanges> {
  const present = await view();
  // The latest value of `wanted` counts, because the resource may have changed since the newest revision.
  const later = withResources(present.resources, [
    ...since.map((change) => ({ ...change, content: change.before })),
    ...wanted.toReversed().map((change) => ({ ...change, content: change.after })),
  ]);
  const earlier = withResources(
    later,
    wanted.map((change) => ({ ...change, content: change.before })),
  );
  const keys = new Map(
    wanted.map(({ kind, namespace, name }) => [refKey({ kind, namespace, name }), { kind, namespace, name }]),
  );
  const changes = [...keys.values()].flatMap(({ kind, namespace, name }) => {
    const key = namespacedName(namespace, name);
    const before = entitiesOf(earlier, { kind, key }, context);
    const after = entitiesOf(later, { kind, key }, context);
    const isGone = !present.resources[kind].has(key);
    return [...new Set([...before.keys(), ...after.keys()])].flatMap((id): readonly EntityChange[] => {
      const [was, is] = [before.get(id), after.get(id)];
      const { collection } = (was ?? is) as PastEntity;
      if (canonicalJson(was?.entity ?? null) === canonicalJson(is?.entity ?? null)) return [];
      return [
        {
          collection,
          id,
          before: was?.entity ?? null,
          after: is?.entity ?? null,
          isFaulty: present.held(collection, id)?.isFaulty === true,
          obstacle: was ? obstacleOf(was, { isGone, isHome: namespace === homeNamespace }) : null,
        },
      ];
    });
  });
  return { changes };
}

interface ChangedContent extends Pick<RecordedChange, "kind" | "namespace" | "name"> {
  readonly content: Resource | null;
}

/** The resources with the given contents; of several contents of one resource, the last. */
function withResources(resources: Resources, changes: readonly ChangedContent[]): Resources {
  const byKind = Map.groupBy(changes, ({ kind }) => kind);
  return {
    ...Object.fromEntries(
      resourceKinds.map((kind) => [
        kind,
        BucketMap.of(resources[kind], hashOfText).with(
          (byKind.get(kind) ?? []).map(({ namespace, name, content }) => [
            namespacedName(namespace, name),
            content ?? undefined,
          ]),
        ),
      ]),
    ),
    Secret: resources.Secret,
  } as Resources;
}

interface PastEntity extends Pick<EntityInResource, "collection" | "entity" | "hiddenPaths"> {
  /** Whether its key or password was in a Secret that no longer exists: revisions contain no Secrets. */
  readonly lacksSecret: boolean;
}

function entitiesOf(
  resources: Resources,
  { kind, key }: { readonly kind: ResourceKind; readonly key: string },
  context: ViewContext,
): ReadonlyMap<string, PastEntity> {
  const resource = resources[kind].get(key);
  if (!resource || context.lookups.idOf(resource) === undefined) return new Map();
  return new Map(
    translatePast(resources, resource, context).flatMap(({ collection, entity, item, violations, hiddenPaths }) => {
      const lacksSecret = violations.length > 0 && violations.every(({ reason }) => reason === "SecretNotFound");
      const known = entity ?? (lacksSecret ? (item as unknown as Entity) : undefined);
      return known ? [[known.id, { collection, entity: known, hiddenPaths, lacksSecret }] as const] : [];
    }),
  );
}

/** Why the entity cannot be created again; null: nothing prevents that. */
function obstacleOf(
  { lacksSecret, hiddenPaths = [] }: PastEntity,
  { isGone, isHome }: { readonly isGone: boolean; readonly isHome: boolean },
): string | null {
  if (lacksSecret) return "the Secret that it refers to no longer exists, and revisions contain no Secrets";
  if (isGone && !isHome) return "its resource was in another namespace, in which the admin API creates no resources";
  if (isGone && hiddenPaths.length > 0) return "some of its values were in Secrets, and revisions contain no Secrets";
  return null;
}
