/**
 * Batches: resources that are published together or not at all. Kubernetes has no transaction over several objects. The
 * writer, an admin listener, therefore marks every resource of a batch, and the operator publishes them once it has
 * seen all of them. The writer then removes the marks.
 *
 * 1. One resource of the batch, its record, is written first. Its `BATCH_COMPLETE` does not name the batch yet.
 * 2. All other resources are written with `BATCH`. Those to be removed keep their content and also carry
 *    `BATCH_REMOVE`.
 * 3. The record's `BATCH_COMPLETE` is set to the batch, provided that it still has the value of step 1. A reader that
 *    sees the new value knows that all other resources have been written.
 * 4. Once the nodes serve the batch, the resources with `BATCH_REMOVE` are deleted and the others lose their marks, the
 *    record last.
 *
 * If the writer dies before step 3 completes, the next writer rolls the batch back from `BATCH_UNDO`. It restores the
 * record first: a writer that was only slow then finds the record changed and stops. If the writer dies in step 4, the
 * next writer continues that step.
 */
import type { Resource } from "./resource.ts";

/** Annotation with the value `<uuid>/<n>`: the batch's uuid and the number of its resources. */
export const BATCH = "sluice.dev/batch";
/** Annotation with the batch's uuid, on a resource that the batch removes. */
export const BATCH_REMOVE = "sluice.dev/batch-remove";
/**
 * Annotation of the batch's record. If the value is the batch's uuid, all resources of the batch are written. With any
 * other value, some of them may not be written yet, or the batch was rolled back.
 */
export const BATCH_COMPLETE = "sluice.dev/batch-complete";
/** Annotation with the previous content of the resource as JSON; `null` if the batch creates the resource. */
export const BATCH_UNDO = "sluice.dev/batch-undo";

export interface BatchMark {
  readonly id: string;
  /** The number of resources in the batch. */
  readonly size: number;
  readonly removes: boolean;
  readonly completes: boolean;
}

/** The batch mark of a resource; undefined if the resource has none, or one that Sluice does not write. */
export function batchMark({ metadata }: Pick<Resource, "metadata">): BatchMark | undefined {
  const { annotations = {} } = metadata;
  const [, id = "", size = ""] = /^([0-9a-f-]{36})\/([1-9]\d{0,5})$/.exec(annotations[BATCH] ?? "") ?? [];
  if (id === "") return undefined;
  return {
    id,
    size: Number(size),
    removes: annotations[BATCH_REMOVE] === id,
    completes: annotations[BATCH_COMPLETE] === id,
  };
}
