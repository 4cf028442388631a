/**
 * Batches: resources that count together or not at all. There is no transaction over objects, so the
 * writer marks every resource of a batch, the operator publishes them once it has seen all of them, and the writer
 * takes the marks off after that.
 *
 * 1. One of the resources, the batch's record, is written first, with `BATCH_COMPLETE` that does not name the batch yet.
 * 2. All others are written with `BATCH`; those to be removed stay as they are and carry `BATCH_REMOVE` too.
 * 3. `BATCH_COMPLETE` of the record names the batch, if the record is still at the version at which it was written:
 *    whoever sees it knows that all others have been written.
 * 4. When the nodes have the batch, those with `BATCH_REMOVE` are deleted and the others lose their marks, the record
 *    last.
 *
 * If the writer dies before 3 is done, the next one undoes what is there (`BATCH_UNDO`), the record first: a writer that
 * was only slow finds it changed. If it dies in 4, the next one goes on.
 */
import type { Resource } from "./resource.ts";

/** `<uuid>/<n>`: the batch, and how many resources it has. */
export const BATCH = "sluice.dev/batch";
/** The uuid again: the resource is removed by the batch. */
export const BATCH_REMOVE = "sluice.dev/batch-remove";
/** On the batch's record. The uuid again: all have been written; anything else: not all, or they are undone. */
export const BATCH_COMPLETE = "sluice.dev/batch-complete";
/** What the resource was before, as JSON; `null`: it was not there. */
export const BATCH_UNDO = "sluice.dev/batch-undo";

export interface BatchMark {
  readonly id: string;
  /** How many resources the batch has. */
  readonly size: number;
  readonly removes: boolean;
  readonly completes: boolean;
}

/** Undefined for a resource that is in no batch, or whose mark nobody of ours has written. */
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
