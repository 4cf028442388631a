/**
 * Batches: resources that are published together or not at all. Until every resource of a batch has
 * been seen, one that it changed counts as it was before and one that it created counts as absent; from then on those
 * that it removes are absent. The marks are explained where they are declared, in @sluice/crds.
 */
import {
  BATCH_UNDO,
  type BatchMark,
  batchMark,
  classOf as byItself,
  isOurs,
  type Kind,
  keyOf,
  type Resource,
  resourceKey,
} from "@sluice/crds";
import type { Problem } from "../status/conditions.ts";
import { type Owner, ownerKey } from "../translate/translation.ts";
import type { ClusterState, WatchedKind } from "../watch/cluster-state.ts";
import { overlay } from "../watch/overlay.ts";

export const BATCH_INCOMPLETE = "BatchIncomplete";

/** Milliseconds until an incomplete batch is told about: before that it is one that is being written. */
export const BATCH_REPORT_DELAY = 5000;
/**
 * Milliseconds that the end of a batch may be seen before its other resources: watches of several kinds are not in
 * step. After that the others are gone because the batch was published before (by an operator that has restarted).
 */
export const WATCH_SKEW = 5000;

export interface HeldBack {
  /** The world as it is to be published; the very same object when no batch is under way. */
  readonly clusterState: ClusterState;
  /** Resources that are not published as they stand, by `ownerKey`: their statuses are not to be told of. */
  readonly held: ReadonlySet<string>;
  /** What is to be told about resources of batches that stay incomplete, by `ownerKey`. */
  readonly problems: ReadonlyMap<string, { readonly owner: Owner; readonly problem: Problem }>;
  /** Milliseconds until the same world has to be looked at again; null: only when something changes. */
  readonly recheckAfter: number | null;
}

export interface Batches {
  /**
   * A version of a resource was read.
   *
   * @param before What stood in its place. null: nothing; undefined: nobody knows, because we have just begun to read.
   */
  observe(kind: Kind, before: Resource | null | undefined, resource: Resource): void;
  holdBack(clusterState: ClusterState): HeldBack;
}

interface MarkedResource {
  readonly kind: WatchedKind;
  readonly key: string;
  readonly id: string;
  readonly before: Resource | null | undefined;
}

interface BatchMember extends MarkedResource {
  readonly resource: Resource;
  readonly mark: BatchMark;
}

interface BatchProgress {
  readonly since: number;
  /** When it was seen that all have been written. */
  endSeenAt?: number;
  complete: boolean;
}

interface BatchesOptions {
  /** Others belong to another Sluice, which tells their statuses. */
  readonly class: string;
  /** Which class a resource is of. Default: spec.class, or the default class. */
  readonly classOf?: (resource: Resource) => string;
  /** Milliseconds. Default: the machine's clock. */
  readonly now?: () => number;
}

export function createBatches(options: BatchesOptions): Batches {
  const { classOf = byItself, now = () => performance.now() } = options;
  const isOwn = (resource: Resource) => classOf(resource) === options.class;
  const marked = new Map<string, MarkedResource>();
  const progressById = new Map<string, BatchProgress>();

  function observe(kind: Kind, before: Resource | null | undefined, resource: Resource): void {
    const name = `${kind}/${resourceKey(resource)}`;
    const earlier = marked.get(name);
    const id = batchMark(resource)?.id;
    if (id === undefined) return void marked.delete(name);
    if (earlier?.id === id) return;
    // What an incomplete batch wrote was never published: what counts is what stood there before that one too.
    const unpublished = earlier && progressById.get(earlier.id)?.complete !== true;
    const stood = unpublished ? earlier.before : before;
    marked.set(name, { kind: kind as WatchedKind, key: resourceKey(resource), id, before: stood });
  }

  /** The batches of what is marked now. Those that nobody names any more are forgotten. */
  function membersByBatch(clusterState: ClusterState): ReadonlyMap<string, readonly BatchMember[]> {
    const batches = new Map<string, BatchMember[]>();
    for (const [name, entry] of marked) {
      const resource = clusterState[entry.kind].get(entry.key);
      const mark = resource && batchMark(resource);
      if (!mark) {
        marked.delete(name);
        continue;
      }
      const members = batches.get(mark.id);
      const member = { ...entry, resource, mark };
      if (members) members.push(member);
      else batches.set(mark.id, [member]);
    }
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
    observe,
    holdBack(clusterState) {
      if (marked.size === 0) return { clusterState, held: new Set(), problems: new Map(), recheckAfter: null };
      const changes: HeldBackChange[] = [];
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
            problems.set(nameOf(member), { owner, problem: problemOf(member, effective, members.length) });
        }
      }
      return {
        clusterState: withChanges(clusterState, changes),
        held: new Set(changes.map(nameOf)),
        problems,
        recheckAfter: deadlines.length > 0 ? Math.max(0, Math.min(...deadlines) - now()) : null,
      };
    },
  };
}

interface HeldBackChange extends Pick<MarkedResource, "kind" | "key"> {
  readonly resource: Resource;
  /** null: absent. */
  readonly effective: Resource | null;
}

const nameOf = ({ kind, resource: { metadata } }: Pick<HeldBackChange, "kind" | "resource">): string =>
  ownerKey({ kind, namespace: metadata.namespace, name: metadata.name });

/** Undefined for what has no status of ours: Secrets, and resources of another class. */
function ownerOf({ kind, resource }: BatchMember, isMeant: (resource: Resource) => boolean): Owner | undefined {
  const { namespace, name } = resource.metadata;
  return isOurs(kind) && isMeant(resource) ? { kind, namespace, name } : undefined;
}

/** How a resource of an incomplete batch counts. One that is to be removed stays as it is until then. */
function effectiveVersion({ before, resource, mark }: BatchMember): Resource | null {
  if (mark.removes) return resource;
  if (before !== undefined) return before;
  return wasPublished(resource) ? resource : null;
}

/**
 * After a restart nobody knows what stood in the place of a resource, but whether something was published: we have told
 * of it, perhaps because the batch was complete already, or its writer says that there was something before.
 */
function wasPublished({ metadata, status }: Resource): boolean {
  if (status?.conditions?.some(({ type, reason }) => type === "Accepted" && reason !== BATCH_INCOMPLETE)) return true;
  return (metadata.annotations?.[BATCH_UNDO] ?? "null") !== "null";
}

function problemOf({ resource, mark }: BatchMember, effective: Resource | null, seen: number): Problem {
  const served =
    effective === null
      ? "it is not served"
      : effective === resource
        ? "it is served as it stands"
        : "it is served as it was before";
  const message =
    `the batch ${mark.id} has not been written to its end (${seen} of ${mark.size} resources were seen): ${served}; ` +
    "write it again";
  return { condition: "Accepted", reason: BATCH_INCOMPLETE, message };
}

function withChanges(clusterState: ClusterState, changes: readonly HeldBackChange[]): ClusterState {
  const over: Partial<Record<WatchedKind, Map<string, Resource | undefined>>> = {};
  for (const { kind, resource, effective } of changes) {
    const ofKind = over[kind] ?? new Map<string, Resource | undefined>();
    over[kind] = ofKind.set(keyOf(resource.metadata.namespace, resource.metadata.name), effective ?? undefined);
  }
  const kinds = Object.entries(over) as [WatchedKind, Map<string, Resource | undefined>][];
  return {
    ...clusterState,
    ...Object.fromEntries(kinds.map(([kind, ofKind]) => [kind, overlay(clusterState[kind], ofKind)])),
  };
}
