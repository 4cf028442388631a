/**
 * Batches: resources that count together or not at all (house decision 6). There is no transaction over objects, so the
 * writer marks every resource of a batch, the operator publishes them once it has seen all of them, and the writer
 * takes the marks off after that.
 *
 * 1. All resources are written with `BATCH`; those to be removed stay as they are and carry `BATCH_REMOVE` too. One of
 *    them is written last and carries `BATCH_COMPLETE`: whoever sees it knows that all others have been written.
 * 2. When the nodes have the batch, those with `BATCH_REMOVE` are deleted and the others lose their marks, the one
 *    with `BATCH_COMPLETE` last.
 *
 * If the writer dies in 1, the next one undoes what is there (`BATCH_UNDO`); if it dies in 2, the next one goes on.
 */
import type { Resource } from "./resource.ts";

/** `<uuid>/<n>`: the batch, and how many resources it has. */
export const BATCH = "sluice.dev/batch";
/** The uuid again: the resource is removed by the batch. */
export const BATCH_REMOVE = "sluice.dev/batch-remove";
/** The uuid again: the last one of the batch; when it is there, all have been written. */
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
