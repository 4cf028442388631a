/** The store over custom resources: in a cluster or in a directory, whatever the client reads and writes. */
import {
  batchMark,
  identityOf,
  keyOf,
  type Log,
  type MutexHold,
  type Resource,
  type ResourceClient,
  reflectsWrite,
} from "@sluice/crds";
import { DEFAULT_CLASS, type WaitAnswer, type Written } from "@sluice/model";
import { type Effect, type Store, StoreUnavailable, type Write, type WriteOutcome } from "../store.ts";
import { find, list } from "../tables/index.ts";
import { type ApplyPlanResult, applyPlan, inParallel, type MarkedMember } from "./apply-plan.ts";
import { createCachedTranslation, memoize } from "./cached-translation.ts";
import { caughtUpCondition, hasOrderedVersion } from "./catch-up.ts";
import { MANAGER } from "./field-ownership.ts";
import { footprintOf } from "./footprint.ts";
import { followResources } from "./live-resources.ts";
import { finishBatch, recoverBatches, removeOrphanedSecrets } from "./recovery.ts";
import { refOfSecret } from "./secrets.ts";
import { updateView } from "./update-view.ts";
import { buildView, type ResourceView, resourceKeyOfKind, type WatchedKind } from "./view.ts";
import { throwUnavailable } from "./write-faults.ts";
import { planWrites, type WritePlan } from "./write-plan.ts";
import { createWriteQueue, type QueuedWork } from "./write-queue.ts";

export interface ResourceStoreOptions {
  readonly client: ResourceClient;
  /** Where resources are written that refer to nothing, and Secrets always. */
  readonly homeNamespace: string;
  /** Others that are read. Default: all. */
  readonly namespaces?: readonly string[];
  /** Which Sluice's resources are meant. */
  readonly class: string;
  readonly log: Log;
  /** Asks the operator; null when it gives no answer. */
  readonly awaitNodes: (written: readonly Written[], timeout: number) => Promise<WaitAnswer | null>;
  /** Ends the watches. The client is the caller's to close. */
  readonly signal: AbortSignal;
  /** Milliseconds after which a Secret of ours that nothing refers to is removed by a start. Default a minute. */
  readonly orphanAge?: number;
}

/** Milliseconds that a call waits for the first list of all kinds, and a write for its own watch event. */
const READ_TIMEOUT = 5000;

/** How often a write is planned anew because somebody wrote in between. */
const MAX_PLANS = 4;

/** A write that somebody waits for. */
interface PendingWrite {
  readonly writes: readonly Write[];
  readonly force: boolean;
  /** How often its plan turned out to be on what is not true any more. */
  plans: number;
  readonly answer: (outcome: WriteOutcome) => void;
  readonly fail: (error: unknown) => void;
}

export interface ResourceStore extends Store {
  /** Resolves when what the last write leaves behind has been cleared away, or cannot be. */
  settled(): Promise<void>;
}

export function createResourceStore(options: ResourceStoreOptions): ResourceStore {
  const { homeNamespace, log, signal, orphanAge = 60_000 } = options;
  const viewOptions = {
    isOwn: (resource: Resource) => live.classOf(resource) === options.class,
    translateOne: createCachedTranslation(homeNamespace),
    idOf: memoize((resource: Resource) => identityOf(resource, homeNamespace).id),
  };
  let built: ResourceView | undefined;
  /** What has changed since. */
  const news = new Set<string>();
  /** Somebody may have left a batch that is not at its end. */
  let isMended = false;
  const live = followResources({
    client: options.client,
    homeNamespace,
    namespaces: options.namespaces ?? [],
    class: options.class,
    log,
    signal,
    onResource: (kind, key) => void news.add(resourceKeyOfKind(kind, key)),
  });
  const { client } = live;

  async function view(): Promise<ResourceView> {
    if (!(await live.until(() => live.unsynced().length === 0, READ_TIMEOUT))) {
      throw new StoreUnavailable(`resources cannot be read for now: ${live.unsynced().join(", ")}`);
    }
    if (!built) built = buildView(live.resources, viewOptions);
    else if (news.size > 0) built = updateView(built, news, viewOptions);
    news.clear();
    return built;
  }

  const held = ({ kind, namespace, name }: Pick<Written, "kind" | "namespace" | "name">): Resource | undefined =>
    live.resources[kind as WatchedKind].get(keyOf(namespace, name));

  /** Whoever reads after a write must see it; a watch that lags behind for long must not hold up the writer for ever. */
  async function until(condition: () => boolean, what: object): Promise<void> {
    if (!(await live.until(condition, READ_TIMEOUT)))
      log.warn(what, "a write is not yet to be seen in what is read back");
  }

  /** Times stand in annotations, which move no generation: only a version tells that they have been seen. */
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

  /** What somebody left who is gone, or what we could not undo. */
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
    return { footprint: footprintOf(plan), isExclusive: plan.steps.length > 1, start: () => carried(asked, plan) };
  }

  /** Whether it has to be planned anew. A batch is brought to its end after its answer, and before anything else. */
  async function carried(asked: PendingWrite, plan: WritePlan): Promise<boolean> {
    try {
      // Until it is done: a batch that fails may leave marks when it cannot be undone either.
      if (plan.steps.length > 1) isMended = false;
      const done = await applyPlan(client, plan);
      if (done.fault) {
        if (!done.stale || ++asked.plans === MAX_PLANS) {
          asked.answer({ fault: done.fault, index: done.index });
          return false;
        }
        // What was read is older than what is there: the watch tells.
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

  /** As every later reader sees it; what was written itself if the watch lags behind. */
  async function asRead({ effects }: WritePlan): Promise<readonly Effect[]> {
    const { tables } = await view();
    return effects.map((effect) => {
      const { collection, after } = effect;
      return after ? { ...effect, after: tables.rows[collection].get(after.id) ?? after } : effect;
    });
  }

  /** Never rejects: what is left behind is mended by the next turn, or by the next start. */
  async function end({ unused }: WritePlan, batch: readonly MarkedMember[], awaits: readonly Written[]): Promise<void> {
    try {
      if (batch.length > 0) {
        await options.awaitNodes(awaits, BATCH_TIMEOUT);
        await finishBatch(client, batch);
        await until(() => batch.every(({ kind, resource }) => !isMarked(held({ kind, ...resource.metadata }))), {});
      }
      await inParallel(unused, (secret) => client.remove(refOfSecret(secret)));
    } catch (error) {
      if (batch.length > 0) isMended = false;
      log.warn({ err: error }, "what a write leaves behind could not be cleared away; the next write tries again");
    }
  }

  /** What others have written since our last turn is seen before anything is decided. */
  const withMutex = (run: (turn: MutexHold) => Promise<void>): Promise<void> =>
    client
      .withMutex({ namespace: homeNamespace, name: MANAGER }, async (turn) => {
        await view();
        if (turn.othersMayHaveWritten || !isMended) await mend();
        await run(turn);
      })
      .catch((error: unknown) => (error instanceof StoreUnavailable ? Promise.reject(error) : throwUnavailable(error)));

  const line = createWriteQueue<PendingWrite>({ withMutex, plan: workOn, refuse: ({ fail }, error) => fail(error) });

  void removeOrphanedSecrets({ client, homeNamespace, orphanAge, log, signal, view, inTurn: withMutex });

  return {
    list: async (collection, filter) => list((await view()).tables, collection, { ...filter, now: Date.now() }),
    find: async (collection, by) => find((await view()).tables, collection, { by, now: Date.now() }),

    async write(writes, { force = false, plan = false } = {}) {
      if (!plan && writes.length > 0)
        return new Promise((answer, fail) => line.add({ writes, force, plans: 0, answer, fail }));
      const would = planned(await view(), writes, force);
      return would.fault ? would : { effects: would.effects };
    },

    unready: () => [
      ...live.unsynced(),
      ...live.trouble().map((reason) => `resources cannot be read for now: ${reason}`),
    ],
    settled: line.empty,
  };
}

/** Milliseconds that a batch waits for the nodes before its marks are taken off. */
const BATCH_TIMEOUT = 2000;

const marksOf = (resource: Resource | undefined): string => JSON.stringify(resource && batchMark(resource));

const isMarked = (resource: Resource | undefined): boolean =>
  resource !== undefined && batchMark(resource) !== undefined;
