/** The store over custom resources: in a cluster or in a directory, whatever the client reads and writes. */
import {
  batchMark,
  identityOf,
  isSeen,
  keyOf,
  type Log,
  type Resource,
  type ResourceClient,
  resourceKey,
} from "@sluice/crds";
import { CREDENTIAL_LABEL, DEFAULT_CLASS, TLS_SECRET_TYPE, type WaitAnswer, type Written } from "@sluice/model";
import { type Effect, type Outcome, type Store, Unavailable, type Write, type WriteOptions } from "../store.ts";
import { find, list } from "../tables/index.ts";
import { type CarriedOut, carryOut, type Done, inParallel } from "./carry-out.ts";
import { unreachable } from "./faults.ts";
import { MANAGER } from "./fields.ts";
import { endBatch, mendBatches, removeOrphans } from "./leftovers.ts";
import { followResources } from "./live.ts";
import { nextView } from "./next-view.ts";
import { type Plan, planWrites } from "./plan.ts";
import { createTranslateOne, remember } from "./remember.ts";
import { refOfSecret } from "./secrets.ts";
import { buildView, partKey, type View, type WatchedKind } from "./view.ts";

export interface ResourceStoreOptions {
  readonly client: ResourceClient;
  /** Where resources are written that refer to nothing, and Secrets always. */
  readonly homeNamespace: string;
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
const patience = 5000;

/** How often a write is planned anew because somebody wrote in between. */
const PLANS = 4;

export interface ResourceStore extends Store {
  /** Resolves when what the last write leaves behind has been cleared away, or cannot be. */
  settled(): Promise<void>;
}

export function createResourceStore(options: ResourceStoreOptions): ResourceStore {
  const { client, homeNamespace, log, signal, orphanAge = 60_000 } = options;
  const viewOptions = {
    class: options.class,
    translateOne: createTranslateOne(homeNamespace),
    idOf: remember((resource: Resource) => identityOf(resource, homeNamespace).id),
  };
  const turn = { namespace: homeNamespace, name: MANAGER };
  let built: View | undefined;
  /** What has changed since. */
  const news = new Set<string>();
  /** Somebody may have left a batch that is not at its end. */
  let isMended = false;
  let ending: Promise<void> = Promise.resolve();
  let lastTurn: Promise<void> = Promise.resolve();
  const live = followResources({
    client,
    homeNamespace,
    log,
    signal,
    onResource: (kind, key) => void news.add(partKey(kind, key)),
  });

  async function view(): Promise<View> {
    if (!(await live.until(() => live.unsynced().length === 0, patience))) {
      throw new Unavailable(`resources cannot be read for now: ${live.unsynced().join(", ")}`);
    }
    if (!built) built = buildView(live.resources, viewOptions);
    else if (news.size > 0) built = nextView(built, news, viewOptions);
    news.clear();
    return built;
  }

  const held = ({ kind, namespace, name }: Pick<Written, "kind" | "namespace" | "name">): Resource | undefined =>
    live.resources[kind as WatchedKind].get(keyOf(namespace, name));

  /** Whoever reads after a write must see it; a watch that lags behind for long must not hold up the writer for ever. */
  async function until(condition: () => boolean, what: object): Promise<void> {
    if (!(await live.until(condition, patience))) log.warn(what, "a write is not yet to be seen in what is read back");
  }

  /** Times stand in annotations, which move no generation: only a version tells that they have been seen. */
  const isNewest = ({ kind, resource }: Done): boolean => {
    const { namespace, name, uid, resourceVersion } = resource.metadata;
    const written = { kind, namespace, name, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    return !hasOrder(written) || isSeen(held(written), written);
  };

  const settle = ({ awaits, batch, alone }: Extract<CarriedOut, { readonly fault?: undefined }>): Promise<void> =>
    until(
      () =>
        awaits.every((written) => isSeen(held(written), written)) &&
        (!alone || isNewest(alone)) &&
        batch.every(({ kind, resource }) => isMarked(held({ kind, ...resource.metadata }))),
      { awaits },
    );

  /** Those that are read: `createResourceCache` says which. */
  async function listSecrets(): Promise<readonly Resource[]> {
    const selections = [{ labels: CREDENTIAL_LABEL }, { fields: `type=${TLS_SECRET_TYPE}` }];
    const lists = selections.map((selection) => client.list("Secret", { namespace: homeNamespace, ...selection }));
    return (await Promise.all(lists)).flat();
  }

  /** What others have written since our last turn is seen before anything is decided. */
  async function catchUp(): Promise<void> {
    const kinds = Object.keys(live.resources) as WatchedKind[];
    const known = new Map(kinds.map((kind) => [kind, new Set(live.resources[kind].keys())]));
    const lists = await Promise.all(
      kinds.map(async (kind) => {
        const found = kind === "Secret" ? await listSecrets() : await client.list(kind);
        const there = new Map(found.map((resource) => [resourceKey(resource), resource]));
        const gone = [...(known.get(kind) ?? [])].filter((key) => !there.has(key));
        return { kind, there, gone };
      }),
    ).catch(unreachable);
    const isThere = (kind: WatchedKind, [key, { metadata }]: readonly [string, Resource]) => {
      const { generation, ...version } = { kind, ...metadata };
      // Notes of a batch move no generation; but a directory's versions have no order.
      return isSeen(live.resources[kind].get(key), {
        ...version,
        ...(!hasOrder(version) && generation && { generation }),
      });
    };
    const isCurrent = () =>
      lists.every(
        ({ kind, there, gone }) =>
          [...there].every((one) => isThere(kind, one)) && gone.every((key) => !live.resources[kind].has(key)),
      );
    await until(isCurrent, { kinds });
  }

  async function planned(before: View, writes: readonly Write[], force: boolean) {
    return planWrites(before, writes, {
      homeNamespace,
      class: options.class === DEFAULT_CLASS ? undefined : options.class,
      force,
    });
  }

  /** In a turn of its own. A batch is brought to its end after its answer, and before the next turn. */
  async function writeInTurn(writes: readonly Write[], { force = false }: WriteOptions): Promise<Outcome> {
    for (let count = 1; ; count++) {
      const plan = await planned(await view(), writes, force);
      if (plan.fault) return plan;
      // Until it is done: a batch that fails may leave marks when it cannot be undone either.
      isMended = plan.steps.length < 2;
      const done = await carryOut(client, plan);
      if (done.fault) {
        if (!done.isStale || count === PLANS) return { fault: done.fault, index: done.index };
        // What was read is older than what is there: the watch tells.
        await live.until(() => news.size > 0, 1000);
        continue;
      }
      isMended = true;
      await settle(done);
      const effects = await asRead(plan);
      ending = end(plan, done.batch, done.awaits);
      const programmed = (timeout: number) => options.awaitNodes(done.awaits, timeout);
      return done.awaits.length === 0 ? { effects } : { effects, programmed };
    }
  }

  /** As every later reader sees it; what was written itself if the watch lags behind. */
  async function asRead({ effects }: Plan): Promise<readonly Effect[]> {
    const { tables } = await view();
    return effects.map((effect) => {
      const { collection, after } = effect;
      return after ? { ...effect, after: tables.rows[collection].get(after.id) ?? after } : effect;
    });
  }

  /** Never rejects: what is left behind is mended by the next turn, or by the next start. */
  async function end({ unused }: Plan, batch: readonly Done[], awaits: readonly Written[]): Promise<void> {
    try {
      if (batch.length > 0) {
        await options.awaitNodes(awaits, BATCH_PATIENCE);
        await endBatch(client, batch);
        await until(() => batch.every(({ kind, resource }) => !isMarked(held({ kind, ...resource.metadata }))), {});
      }
      await inParallel(unused, (secret) => client.remove(refOfSecret(secret)));
    } catch (error) {
      isMended = false;
      log.warn({ err: error }, "what a write leaves behind could not be cleared away; the next write tries again");
    }
  }

  function inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      lastTurn = client
        .inTurn(turn, async ({ others }) => {
          try {
            await view();
            if (others || !isMended) {
              await catchUp();
              if (await mendBatches(client, { view: await view(), log })) await catchUp();
              isMended = true;
            }
            resolve(await run());
          } catch (error) {
            reject(error);
          }
          await ending;
        })
        .catch((error: unknown) => {
          try {
            unreachable(error);
          } catch (unavailable) {
            reject(unavailable);
          }
        });
    });
  }

  void removeOrphans({ client, homeNamespace, orphanAge, log, signal, view, inTurn });

  return {
    list: async (collection, filter) => list((await view()).tables, collection, { ...filter, now: Date.now() }),
    find: async (collection, by) => find((await view()).tables, collection, { by, now: Date.now() }),

    async write(writes, { force = false, plan = false } = {}) {
      if (!plan && writes.length > 0) return inTurn(() => writeInTurn(writes, { force }));
      const would = await planned(await view(), writes, force);
      return would.fault ? would : { effects: would.effects };
    },

    unready: live.unsynced,
    settled: () => lastTurn,
  };
}

/** Milliseconds that a batch waits for the nodes before its marks are taken off. */
const BATCH_PATIENCE = 2000;

const hasOrder = ({ resourceVersion = "" }: { readonly resourceVersion?: string }): boolean =>
  /^\d+$/.test(resourceVersion);

const isMarked = (resource: Resource | undefined): boolean =>
  resource !== undefined && batchMark(resource) !== undefined;
