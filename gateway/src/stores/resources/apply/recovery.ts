/** Cleans up after writes: batches to be finished and, after a crash, batches and Secrets of the dead writer. */
import { BATCH_COMPLETE, type Log, type ResourceClient } from "@sluice/crds";
import { refOfSecret, unusedSecrets } from "../plan/secrets.ts";
import { groupByBatch, isBatchComplete, type ResourceView } from "../view/build-view.ts";
import { finishMember, inParallel, type MarkedMember, undoBatch } from "./apply-plan.ts";

/**
 * Removes the marks of a complete batch, and the resources that the batch removes. The record of the batch
 * (apply-plan.ts) comes last: while it marks the batch as complete, the batch cannot be mistaken for an incomplete one.
 */
export async function finishBatch(client: ResourceClient, batch: readonly MarkedMember[]): Promise<void> {
  const isLast = ({ resource }: MarkedMember) => resource.metadata.annotations?.[BATCH_COMPLETE] !== undefined;
  await inParallel(
    batch.filter((one) => !isLast(one)),
    (one) => finishMember(client, one),
  );
  await inParallel(batch.filter(isLast), (one) => finishMember(client, one));
}

/**
 * Recovers batches of dead writers: finishes complete ones and undoes incomplete ones. The caller must hold the mutex,
 * because a running writer has batches too. Resolves to whether there was a batch.
 */
export async function recoverBatches(
  client: ResourceClient,
  { view, log }: { readonly view: ResourceView; readonly log: Log },
): Promise<boolean> {
  for (const batch of groupByBatch(view.marked)) {
    const [first] = batch;
    const complete = isBatchComplete(batch);
    log.warn(
      { batch: first?.mark.id, resources: batch.length, of: first?.mark.size },
      `${complete ? "finishing" : "undoing"} a batch that a crashed writer left behind`,
    );
    if (complete || (await undoBatch(client, batch))) await finishBatch(client, batch);
  }
  return view.marked.length > 0;
}

interface OrphanOptions {
  readonly client: ResourceClient;
  readonly homeNamespace: string;
  readonly orphanAge: number;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly view: () => Promise<ResourceView>;
  readonly withMutex: (run: () => Promise<void>) => Promise<void>;
}

/**
 * Removes Secrets of the admin listener that no resource refers to and that belong to no pending write. Never rejects.
 */
export async function removeOrphanedSecrets(options: OrphanOptions): Promise<void> {
  const { client, orphanAge, log, signal, view, withMutex } = options;
  const find = async () =>
    unusedSecrets((await view()).resources, options).filter(
      ({ metadata }) => Date.parse(metadata.creationTimestamp ?? "") < Date.now() - orphanAge,
    );
  try {
    if ((await find()).length === 0 || signal.aborted) return;
    await withMutex(async () => {
      for (const secret of await find()) {
        const { uid, name } = secret.metadata;
        await client.remove(refOfSecret(secret), uid === undefined ? {} : { uid });
        log.info({ secret: name }, "removed an unreferenced Secret of a writer that died");
      }
    });
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error }, "unreferenced Secrets cannot be found or removed");
  }
}
