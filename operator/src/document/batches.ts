/**
 * Batches: resources that are published together or not at all. Until every resource of a batch has been seen, a
 * resource that the batch changed is used in its earlier version, and one that it created counts as absent. Afterwards
 * the resources that the batch removes count as absent. The annotations that mark batches are described in
 * @sluice/crds.
 */
import {
  BATCH_UNDO,
  type BatchMark,
  batchMark,
  classOf as byItself,
  isSluiceKind,
  type Kind,
  type Resource,
  resourceKey,
} from "@sluice/crds";
import { BucketMap, hashOfText } from "@sluice/model";
import type { Problem } from "../status/conditions.ts";
import type { Owner, Translation } from "../translate/translation.ts";
import type { ClusterState, WatchedKind } from "../watch/cluster-state.ts";

export const BATCH_INCOMPLETE = "BatchIncomplete";

/** Milliseconds until an incomplete batch is reported: before that, it is probably still being written. */
export const BATCH_REPORT_DELAY = 5000;
/**
 * Milliseconds by which the last resource of a batch may be seen before the others: watches of different kinds are not
 * synchronized. After that, this operator assumes that the batch was published before the operator's restart, and
 * that the missing resources have been deleted or have lost their annotations since the batch was published.
 */
export const WATCH_SKEW = 5000;

export interface HeldBack {
  /** The cluster state to publish: the current state itself when no batch is in progress. */
  readonly clusterState: ClusterState;
  /**
   * `refKey`s of resources that are not published in their current version. Their statuses are not written, unless
   * `problems` has a problem for them.
   */
  readonly held: ReadonlySet<string>;
  /** Problems of resources in batches that stay incomplete, by `refKey`. */
  readonly problems: ReadonlyMap<string, { readonly owner: Owner; readonly problem: Problem }>;
  /** Milliseconds until an unchanged state has to be checked again; null: not before it changes. */
  readonly recheckAfter: number | null;
}

interface MarkedResource {
  readonly kind: WatchedKind;
  /** `namespace/name`. */
  readonly key: string;
  readonly id: string;
  readonly before: Resource | null | undefined;
}

interface BatchMember extends MarkedResource {
  /** The resource's `refKey`. */
  readonly name: string;
  readonly resource: Resource;
  readonly mark: BatchMark;
}

interface HeldBackMember extends BatchMember {
  /** The version to publish; null: the resource counts as absent. */
  readonly effective: Resource | null;
}

interface BatchProgress {
  readonly since: number;
  endSeenAt?: number;
  complete: boolean;
}

interface BatchesOptions {
  /** Resources of other classes belong to another operator, which writes their statuses. */
  readonly class: string;
  /** The class of a resource. Default: spec.class, or the default class. */
  readonly classOf?: (resource: Resource) => string;
  /** Milliseconds of a monotonic clock. Default: performance.now. */
  readonly now?: () => number;
}

export function createBatches(options: BatchesOptions) {
  const { classOf = byItself, now = () => performance.now() } = options;
  const isOwn = (resource: Resource) => classOf(resource) === options.class;
  /** The resources whose annotations name a batch, by `refKey`. */
  const marked = new Map<string, MarkedResource>();
  const progressById = new Map<string, BatchProgress>();

  function observe(kind: Kind, before: Resource | null | undefined, resource: Resource): void {
    const name = `${kind}/${resourceKey(resource)}`;
    const earlier = marked.get(name);
    const id = batchMark(resource)?.id;
    if (id === undefined) return void marked.delete(name);
    if (earlier?.id === id) return;
    // An incomplete batch was never published, so the version before that batch is the published one.
    const unpublished = earlier && progressById.get(earlier.id)?.complete !== true;
    const published = unpublished ? earlier.before : before;
    marked.set(name, { kind: kind as WatchedKind, key: resourceKey(resource), id, before: published });
  }

  /** The members of each batch. Forgets the progress of batches that have no members left. */
  function membersByBatch(clusterState: ClusterState): ReadonlyMap<string, readonly BatchMember[]> {
    const members: BatchMember[] = [];
    for (const [name, entry] of marked) {
      const resource = clusterState[entry.kind].get(entry.key);
      const mark = resource && batchMark(resource);
      if (mark) members.push({ ...entry, name, resource, mark });
      else marked.delete(name);
    }
    const batches = Map.groupBy(members, ({ mark }) => mark.id);
    for (const id of progressById.keys()) if (!batches.has(id)) progressById.delete(id);
    return batches;
  }

  function updateProgress(id: string, members: readonly BatchMember[]): BatchProgress {
    const batch = progressById.get(id) ?? { since: now(), complete: false };
    progressById.set(id, batch);
    if (members.some(({ mark }) => mark.completes)) batch.endSeenAt ??= now();
    batch.complete ||=
      batch.endSeenAt !== undefined &&
      (members.length >= Math.max(...members.map(({ mark }) => mark.size)) || now() - batch.endSeenAt >= WATCH_SKEW);
    return batch;
  }

  return {
    /**
     * Called with every version of a resource, when the version has been read.
     *
     * @param before The previous version; null: there was none; undefined: unknown, because reading has just begun or
     * the namespace has just been selected.
     */
    observe,
    holdBack(clusterState: ClusterState): HeldBack {
      if (marked.size === 0) return { clusterState, held: new Set(), problems: new Map(), recheckAfter: null };
      const changes: HeldBackMember[] = [];
      const problems = new Map<string, { readonly owner: Owner; readonly problem: Problem }>();
      const deadlines: number[] = [];
      for (const [id, members] of membersByBatch(clusterState)) {
        const batch = updateProgress(id, members);
        if (batch.complete) {
          for (const member of members) if (member.mark.removes) changes.push({ ...member, effective: null });
          continue;
        }
        if (batch.endSeenAt !== undefined) deadlines.push(batch.endSeenAt + WATCH_SKEW);
        const overdue = now() - batch.since >= BATCH_REPORT_DELAY;
        if (!overdue) deadlines.push(batch.since + BATCH_REPORT_DELAY);
        for (const member of members) {
          const effective = effectiveVersion(member);
          if (effective !== member.resource) changes.push({ ...member, effective });
          const owner = ownerOf(member, isOwn);
          if (overdue && owner)
            problems.set(member.name, { owner, problem: problemOf(member, effective, members.length) });
        }
      }
      return {
        clusterState: withChanges(clusterState, changes),
        held: new Set(changes.map(({ name }) => name)),
        problems,
        recheckAfter: deadlines.length > 0 ? Math.max(0, Math.min(...deadlines) - now()) : null,
      };
    },
  };
}

export type Batches = ReturnType<typeof createBatches>;

/**
 * The translation without the owners and problems of resources that batches hold back, because the current versions of
 * these resources were not translated. Resources of batches that stay incomplete are added again with the problem of
 * their batch.
 */
export function withHeldBack(
  translation: Translation,
  { held, problems: reported }: Pick<HeldBack, "held" | "problems">,
): Translation {
  if (held.size === 0 && reported.size === 0) return translation;
  const owners = new Map<string, Owner | undefined>();
  const problems = new Map<string, readonly Problem[] | undefined>();
  for (const key of held) {
    owners.set(key, undefined);
    problems.set(key, undefined);
  }
  for (const [key, { owner, problem }] of reported) {
    owners.set(key, owner);
    problems.set(key, [problem, ...((held.has(key) ? undefined : translation.problems.get(key)) ?? [])]);
  }
  return {
    ...translation,
    owners: translation.owners.with(owners),
    problems: translation.problems.with(problems),
  };
}

/** Undefined for resources whose status this operator does not write: Secrets, and resources of another class. */
function ownerOf({ kind, resource }: BatchMember, isMeant: (resource: Resource) => boolean): Owner | undefined {
  const { namespace, name } = resource.metadata;
  return isSluiceKind(kind) && isMeant(resource) ? { kind, namespace, name } : undefined;
}

/**
 * The version of a batch member to publish while the batch is incomplete; null: the member counts as absent. A member
 * to be removed stays as it is.
 */
function effectiveVersion({ before, resource, mark }: BatchMember): Resource | null {
  if (mark.removes) return resource;
  if (before !== undefined) return before;
  return wasPublished(resource) ? resource : null;
}

/**
 * Whether any version of the resource was published before this process first read it: an earlier version or, if the
 * batch was complete by then, the current one. A sign of this is the `Accepted` condition, or an earlier version that
 * the writer of the batch recorded.
 */
function wasPublished({ metadata, status }: Resource): boolean {
  if (status?.conditions?.some(({ type, reason }) => type === "Accepted" && reason !== BATCH_INCOMPLETE)) return true;
  return (metadata.annotations?.[BATCH_UNDO] ?? "null") !== "null";
}

function problemOf({ resource, mark }: BatchMember, effective: Resource | null, seen: number): Problem {
  const served =
    effective === null
      ? "this resource is not served"
      : effective === resource
        ? "the current version of this resource is served"
        : "the previous version of this resource is served";
  const message =
    `the batch ${mark.id} is incomplete (${seen} of ${mark.size} resources were written): ${served}; ` +
    "write the batch again";
  return { condition: "Accepted", reason: BATCH_INCOMPLETE, message };
}

function withChanges(clusterState: ClusterState, changes: readonly HeldBackMember[]): ClusterState {
  const byKind = Map.groupBy(changes, ({ kind }) => kind);
  const changed = [...byKind].map(([kind, members]) => {
    const versions = new Map(members.map(({ key, effective }) => [key, effective ?? undefined]));
    return [kind, BucketMap.of(clusterState[kind], hashOfText).with(versions)] as const;
  });
  return { ...clusterState, ...Object.fromEntries(changed) };
}
