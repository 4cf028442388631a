/** The changes of custom resources between two states of the cluster, by author. Pure. */
import { createHash } from "node:crypto";
import { type RecordedChange, type Resource, recordedMembers } from "@sluice/crds";
import { bucketDifferences, canonicalJson, type ResourceKind, resourceKinds } from "@sluice/model";
import type { TimeSliced } from "../time-slicing.ts";
import type { ClusterState } from "../watch/cluster-state.ts";

export type CustomResources = Pick<ClusterState, ResourceKind>;

export interface AuthoredChanges {
  readonly author: string;
  readonly changes: readonly RecordedChange[];
  /** The digest of all resources (`stateDigest`) after these changes. */
  readonly digest: bigint;
}

export interface ChangesOptions {
  /** The digest of the resources before the changes. */
  readonly digest: bigint;
  /** Whether a resource is of the operator's class. */
  readonly isOwn: (resource: Resource) => boolean;
  readonly authorOf: (change: RecordedChange) => string;
}

/**
 * One item for each author, in the order of each author's first write; deletions, whose order is unknown, come last.
 * Changes of statuses and bookkeeping are left out.
 */
export function* findAuthoredChanges(
  before: CustomResources,
  after: CustomResources,
  { digest, isOwn, authorOf }: ChangesOptions,
): TimeSliced<{ readonly authored: readonly AuthoredChanges[]; readonly digest: bigint }> {
  const byAuthor = new Map<string, { readonly changes: RecordedChange[]; digest: bigint }>();
  let next = digest;
  for (const { kind, earlier, later } of changedIn(before, after, isOwn)) {
    yield;
    const changed = entryDigest(kind, earlier) ^ entryDigest(kind, later);
    const { namespace, name } = ((later ?? earlier) as Resource).metadata;
    const change = { kind, namespace, name, before: earlier, after: later };
    if (changed === 0n || hasSameContent(change)) {
      next ^= changed;
      continue;
    }
    const author = authorOf(change);
    const own = byAuthor.get(author) ?? { changes: [], digest: 0n };
    byAuthor.set(author, own);
    own.changes.push(change);
    own.digest ^= changed;
  }
  const authored: AuthoredChanges[] = [];
  const inOrder = [...byAuthor].sort(([, one], [, other]) => firstVersion(one.changes) - firstVersion(other.changes));
  for (const [author, { changes, digest }] of inOrder) {
    next ^= digest;
    authored.push({ author, changes, digest: next });
  }
  return { authored, digest: next };
}

/** A cluster's resource versions increase with time. In a directory they are not numbers: the order is unknown. */
function firstVersion(changes: readonly RecordedChange[]): number {
  const versions = changes.map(({ after }) => Number(after?.metadata.resourceVersion));
  return versions.reduce((first, version) => (version < first ? version : first), Number.MAX_SAFE_INTEGER);
}

function* changedIn(before: CustomResources, after: CustomResources, isOwn: ChangesOptions["isOwn"]) {
  const ownOrNull = (resource: Resource | undefined) => (resource && isOwn(resource) ? resource : null);
  for (const kind of resourceKinds)
    for (const difference of bucketDifferences(before[kind], after[kind])) {
      const [earlier, later] = [ownOrNull(difference.before), ownOrNull(difference.after)];
      if (earlier || later) yield { kind, earlier, later };
    }
}

const hasSameContent = ({ before, after }: RecordedChange): boolean =>
  before !== null && after !== null && contentOf(before) === contentOf(after);

function contentOf(resource: Resource): string {
  const { spec, metadata } = recordedMembers(resource);
  return canonicalJson({ spec, annotations: metadata.annotations });
}

/**
 * A digest of the resources, by which an operator that begins to lead recognizes changes that no operator recorded. It
 * is the exclusive or of the resources' digests, so the cost of a change does not depend on the number of resources.
 */
export function* stateDigest(resources: CustomResources, isOwn: ChangesOptions["isOwn"]): TimeSliced<bigint> {
  let digest = 0n;
  for (const kind of resourceKinds)
    for (const resource of resources[kind].values()) {
      yield;
      if (isOwn(resource)) digest ^= entryDigest(kind, resource);
    }
  return digest;
}

/** 0 for null. A write of the status or of annotations does not change the digest. */
function entryDigest(kind: ResourceKind, resource: Resource | null): bigint {
  if (!resource) return 0n;
  const { namespace, name, uid, generation, resourceVersion } = resource.metadata;
  const text = [kind, namespace, name, uid, generation ?? resourceVersion].join(" ");
  return createHash("sha256").update(text).digest().readBigUInt64LE();
}
