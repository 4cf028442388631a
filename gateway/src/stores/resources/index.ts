/** The store over custom resources, in a cluster or in a directory, depending on the client. */
import {
  batchMark,
  type Log,
  type MutexHold,
  namespacedName,
  type Resource,
  type ResourceClient,
  type RevisionStorage,
  reflectsWrite,
} from "@sluice/crds";
import { DEFAULT_CLASS, type WaitResponse, type WrittenResource } from "@sluice/model";
import {
  type Effect,
  type Store,
  type StoredResource,
  StoreUnavailable,
  type Write,
  type WriteOutcome,
} from "../store.ts";
import { findInTables, listFromTables } from "../tables/index.ts";
import { type ApplyPlanResult, applyPlan, inParallel, type MarkedMember } from "./apply/apply-plan.ts";
import { finishBatch, recoverBatches, removeOrphanedSecrets } from "./apply/recovery.ts";
import { throwUnavailable } from "./apply/write-faults.ts";
import { ADMIN_MANAGER } from "./plan/field-ownership.ts";
import { refOfSecret } from "./plan/secrets.ts";
import { planWrites, type ResourceWritePlan } from "./plan/write-plan.ts";
import { createResourceRevisions } from "./revisions.ts";
import { buildResourceView, createViewContext, type ResourceView, type ViewedKind } from "./view/build-view.ts";
import { resourceOrigin, resourceProblems, resourceText } from "./view/conditions.ts";
import { caughtUpCondition, followResources, hasOrderedVersion } from "./view/live-resources.ts";
import { updateView } from "./view/update-view.ts";
import { createWriteQueue, footprintOf, type QueuedWork } from "./write-queue.ts";

export interface ResourceStoreOptions {
  readonly client: ResourceClient;
  /** The namespace of Secrets, and of new resources that refer to no other resource. */
  readonly homeNamespace: string;
  /** The namespaces to read in addition to the home namespace. Default: all. */
  readonly namespaces?: readonly string[];
  readonly class: string;
  /** Where the operator records revisions; the caller closes it. Default: none are read. */
  readonly revisions?: RevisionStorage;
  readonly log: Log;
  /** Asks the operator to wait for the nodes; null when the operator does not answer. */
  readonly awaitNodes: (written: readonly WrittenResource[], timeout: number) => Promise<WaitResponse | null>;
  /** Ends the watches. The caller closes the client. */
  readonly signal: AbortSignal;
  /**
   * Milliseconds. At the start, unreferenced Secrets of the admin listener that are older than this are removed.
   * Default 60,000.
   */
  readonly orphanAge?: number;
}

/** Milliseconds that a call waits for the first list of all kinds, and that a write waits for its own watch event. */
const READ_TIMEOUT = 5000;

/** Maximum number of plans for one write, if other writers interfere. */
const MAX_PLANS = 4;

/** A write whose caller waits for the outcome. */
interface PendingWrite {
  readonly writes: readonly Write[];
  readonly force: boolean;
  /** How often the write's plan turned out to be outdated. */
  plans: number;
  readonly answer: (outcome: WriteOutcome) => void;
  readonly fail: (error: unknown) => void;
}

export interface ResourceStore extends Store {
  /** Resolves when the cleanup after the last write has finished or failed. */
  whenSettled(): Promise<void>;
}

export function createResourceStore(options: ResourceStoreOptions): ResourceStore {
  const { homeNamespace, log, signal, orphanAge = 60_000 } = options;
  const isOwn = (resource: Resource): boolean => live.classOf(resource) === options.class;
  const context = createViewContext({ homeNamespace, isOwn });
  let built: ResourceView | undefined;
  /** `refKey`s of the resources that have changed since the last view. */
  const news = new Set<string>();
  /** False while there may be an unfinished batch of another process, or of a failed write. */
  let isMended = false;
  const live = followResources({
    client: options.client,
    homeNamespace,
    namespaces: options.namespaces ?? [],
    class: options.class,
    log,
    signal,
    onResource: (kind, key) => void news.add(`${kind}/${key}`),
  });
  const { client } = live;

  async function view(): Promise<ResourceView> {
    if (!(await live.until(() => live.unsynced().length === 0, READ_TIMEOUT))) {
      throw new StoreUnavailable(`resources cannot be read at the moment: ${live.unsynced().join(", ")}`);
    }
    if (!built) built = buildResourceView(live.resources, context);
    else if (news.size > 0) built = updateView(built, news, context);
    news.clear();
    return built;
  }

  const held = ({
    kind,
    namespace,
    name,
  }: Pick<WrittenResource, "kind" | "namespace" | "name">): Resource | undefined =>
    live.resources[kind as ViewedKind].get(namespacedName(namespace, name));

  /** Waits for the condition: reads must see earlier writes, but a slow watch must not block the writer forever. */
  async function until(condition: () => boolean, what: object): Promise<void> {
    if (!(await live.until(condition, READ_TIMEOUT))) log.warn(what, "a write is not visible to reads yet");
  }

  /**
   * Whether reads see the latest write of the resource. Timestamps are in annotations, which do not change the
   * generation: only the resourceVersion shows whether reads see the written timestamps.
   */
  const isNewest = ({ kind, resource }: MarkedMember): boolean => {
    const { namespace, name, uid, resourceVersion } = resource.metadata;
    const written = { kind, namespace, name, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    return !hasOrderedVersion(written) || reflectsWrite(held(written), written);
  };

  const settle = ({ awaits, batch, alone }: Extract<ApplyPlanResult, { readonly fault?: undefined }>): Promise<void> =>
    until(
      () =>
        awaits.every((written) => reflectsWrite(held(written), written)) &&
        (!alone || isNewest(alone)) &&
        batch.every(({ kind, resource }) => marksOf(held({ kind, ...resource.metadata })) === marksOf(resource)),
      { awaits },
    );

  async function catchUp(): Promise<void> {
    await until(await caughtUpCondition(client, { ...live, homeNamespace }), {});
  }

  const planned = (before: ResourceView, writes: readonly Write[], force: boolean) =>
    planWrites(before, writes, {
      homeNamespace,
      class: options.class === DEFAULT_CLASS ? undefined : options.class,
      force,
    });

  /** Finishes or undoes batches that a crashed writer, or a failed undo, left behind. */
  async function mend(): Promise<void> {
    await catchUp();
    if (await recoverBatches(client, { view: await view(), log })) await catchUp();
    isMended = true;
  }

  async function workOn(asked: PendingWrite): Promise<QueuedWork | null> {
    if (!isMended) await mend();
    const plan = planned(await view(), asked.writes, asked.force);
    if (plan.fault || plan.steps.length === 0) {
      asked.answer(plan.fault ? plan : { effects: plan.effects });
      return null;
    }
    return {
      footprint: footprintOf(asked.writes, plan),
      isExclusive: plan.steps.length > 1,
      start: () => carried(asked, plan),
    };
  }

  /**
   * Resolves to whether the write must be planned again. A batch is finished (`finishBatch`) after its write is
   * answered and before other writes start.
   */
  async function carried(asked: PendingWrite, plan: ResourceWritePlan): Promise<boolean> {
    try {
      // Stays false until the batch is done: if the batch fails and cannot be undone, its marks may remain.
      if (plan.steps.length > 1) isMended = false;
      const done = await applyPlan(client, plan);
      if (done.fault) {
        if (!done.stale || ++asked.plans === MAX_PLANS) {
          asked.answer({ fault: done.fault, index: done.index });
          return false;
        }
        // The resource has changed since it was read: wait for the watch event.
        const { kind, resource } = done.stale;
        await live.until(() => held({ kind, ...resource.metadata }) !== resource, 1000);
        return true;
      }
      isMended = true;
      await settle(done);
      const effects = await asRead(plan);
      const programmed = (timeout: number) => options.awaitNodes(done.awaits, timeout);
      asked.answer({ effects, programmed });
      await end(plan, done.batch, done.awaits);
    } catch (error) {
      asked.fail(error);
    }
    return false;
  }

  /**
   * The effects with the entities as readers see them now; an entity that is not visible yet is returned as written.
   */
  async function asRead({ effects }: ResourceWritePlan): Promise<readonly Effect[]> {
    const { tables } = await view();
    return effects.map((effect) => {
      const { collection, after } = effect;
      return after ? { ...effect, after: tables.rows[collection].get(after.id) ?? after } : effect;
    });
  }

  /**
   * Finishes the batch of a write, and removes the Secrets that are no longer used. Never rejects: marks that remain
   * are removed when the mutex is acquired next, and Secrets that remain are removed at the next start.
   */
  async function end(
    { unused }: ResourceWritePlan,
    batch: readonly MarkedMember[],
    awaits: readonly WrittenResource[],
  ): Promise<void> {
    try {
      if (batch.length > 0) {
        await options.awaitNodes(awaits, BATCH_TIMEOUT);
        await finishBatch(client, batch);
        await until(() => batch.every(({ kind, resource }) => !isMarked(held({ kind, ...resource.metadata }))), {});
      }
      await inParallel(unused, (secret) => client.remove(refOfSecret(secret)));
    } catch (error) {
      if (batch.length > 0) isMended = false;
      log.warn({ err: error }, "the leftovers of a write could not be removed; the next write or start retries");
    }
  }

  /** Writes by other processes since the mutex was last held here are read before anything is planned. */
  const withMutex = (run: (hold: MutexHold) => Promise<void>): Promise<void> =>
    client
      .withMutex({ namespace: homeNamespace, name: ADMIN_MANAGER }, async (hold) => {
        await view();
        if (hold.othersMayHaveWritten || !isMended) await mend();
        await run(hold);
      })
      .catch((error: unknown) => (error instanceof StoreUnavailable ? Promise.reject(error) : throwUnavailable(error)));

  const placeOf = (label: StoredResource) => client.placeOf({ ...label, kind: label.kind as ViewedKind });
  const shown = { isOwn, placeOf };
  const line = createWriteQueue<PendingWrite>({ withMutex, plan: workOn, refuse: ({ fail }, error) => fail(error) });

  void removeOrphanedSecrets({ client, homeNamespace, orphanAge, log, signal, view, withMutex });

  return {
    ...(options.revisions && {
      revisions: createResourceRevisions({ storage: options.revisions, view, context, homeNamespace }),
    }),
    list: async (collection, filter) =>
      listFromTables((await view()).tables, collection, { ...filter, now: Date.now() }),
    find: async (collection, by) => findInTables((await view()).tables, collection, { by, now: Date.now() }),
    hiddenPaths: async (collection, id) => (await view()).held(collection, id)?.hiddenPaths ?? [],

    async write(writes, { force = false, plan = false } = {}) {
      if (!plan && writes.length > 0)
        return new Promise((answer, fail) => line.add({ writes, force, plans: 0, answer, fail }));
      const would = planned(await view(), writes, force);
      return would.fault ? would : { effects: would.effects };
    },

    unready: () => [
      ...live.unsynced(),
      ...live.failures().map((reason) => `resources cannot be read at the moment: ${reason}`),
    ],
    problems: async () => resourceProblems(await view(), shown),
    resource: async (label) => resourceText((await view()).resources, label, shown),
    origin: async (collection, id) => resourceOrigin((await view()).held(collection, id), placeOf),
    whenSettled: line.empty,
  };
}

/** Milliseconds that a batch waits for the nodes before its marks are removed. */
const BATCH_TIMEOUT = 2000;

const marksOf = (resource: Resource | undefined): string => JSON.stringify(resource && batchMark(resource));

const isMarked = (resource: Resource | undefined): boolean =>
  resource !== undefined && batchMark(resource) !== undefined;
