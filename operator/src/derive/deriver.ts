/** What the derive stage needs of the code for one API from whose resources it derives Sluice resources. */
import { isSluiceKind, type Resource, resourceKey } from "@sluice/crds";
import { resourceKinds } from "@sluice/model";
import type { WatchedKind } from "../watch/cluster-state.ts";
import type { ChangedResource } from "../watch/watch-stage.ts";

/** The kinds of derived resources. */
export const derivedKinds = [...resourceKinds, "Secret"] as const;
export type DerivedKind = (typeof derivedKinds)[number];

export const isDerivedKind = (kind: WatchedKind): kind is DerivedKind => kind === "Secret" || isSluiceKind(kind);

/** Changed resources of each kind by `namespace/name`; undefined: the resource is gone. */
export type DerivedChanges = Map<DerivedKind, Map<string, Resource | undefined>>;

export function recordChange(
  changes: DerivedChanges,
  kind: DerivedKind,
  key: string,
  resource: Resource | undefined,
): void {
  const ofKind = changes.get(kind) ?? new Map<string, Resource | undefined>();
  changes.set(kind, ofKind.set(key, resource));
}

/** Records that the second resources replace the first. */
export function recordReplacement(
  changes: DerivedChanges,
  before: readonly Resource[],
  after: readonly Resource[],
): void {
  for (const one of before) recordChange(changes, one.kind as DerivedKind, resourceKey(one), undefined);
  for (const one of after) recordChange(changes, one.kind as DerivedKind, resourceKey(one), one);
}

export interface DeriverResult {
  readonly changes: DerivedChanges;
  /** Sources whose problems or statuses may differ from before. */
  readonly sources: readonly ChangedResource[];
}

export interface Deriver {
  /** Records a change of the cluster state, and marks the sources that depend on it. */
  observe(change: ChangedResource): void;
  /** Derives the marked sources again. */
  derive(): DeriverResult;
}
