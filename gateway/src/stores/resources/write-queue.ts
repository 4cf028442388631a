/**
 * Queues writes in order of arrival. They are planned one after the other, and independent writes run concurrently. So
 * every write is planned on the result of all earlier writes that concern it, and an answer never depends on a write
 * that may still fail.
 */
import { type MutexHold, refKey } from "@sluice/crds";
import { type Collection, type Entity, referencedId, references } from "@sluice/model";
import type { Write } from "../store.ts";
import { claimKey, claimOf, entityClaimKeys } from "../tables/index.ts";
import type { ResourceWritePlan } from "./plan/write-plan.ts";

export interface QueuedWork {
  readonly footprint: WriteFootprint;
  readonly isExclusive: boolean;
  /**
   * Carries out the write; true: its plan was outdated, and the write becomes the first in the queue again. Never
   * rejects.
   */
  start(hold: MutexHold): Promise<boolean>;
}

export interface WriteQueueOptions<Item> {
  /** Holds the mutex during `run`; rejects when the mutex cannot be acquired, or the resources cannot be read. */
  readonly withMutex: (run: (hold: MutexHold) => Promise<void>) => Promise<void>;
  /** Null: the write has been answered already. */
  readonly plan: (item: Item) => Promise<QueuedWork | null>;
  /** Answers a write that cannot be planned. */
  readonly refuse: (item: Item, error: unknown) => void;
}

export interface ResourceWriteQueue<Item> {
  add(item: Item): void;
  /** Resolves when nothing is waiting or running. */
  empty(): Promise<void>;
}

const MAX_CONCURRENT_WRITES = 16;
/** Milliseconds after which the mutex is released for other processes, even if writes are waiting here. */
const MAX_HOLD = 2000;

export function createWriteQueue<Item>({ withMutex, plan, refuse }: WriteQueueOptions<Item>): ResourceWriteQueue<Item> {
  const items: Item[] = [];
  let holds = 0;
  let last: Promise<unknown> = Promise.resolve();
  let wake = (): void => {};

  function begin(): void {
    holds++;
    last = withMutex(serve)
      .catch((error: unknown) => {
        for (const item of items.splice(0)) refuse(item, error);
      })
      .finally(() => {
        holds--;
        // Writes may have arrived while the mutex was released.
        if (holds === 0 && items.length > 0) begin();
      });
  }

  async function serve(hold: MutexHold): Promise<void> {
    const until = performance.now() + MAX_HOLD;
    const isOpen = (): boolean => performance.now() < until && hold.isHeld?.() !== false;
    const under = new Set<QueuedWork>();
    const mayGo = ({ isExclusive: isAlone, footprint }: Pick<QueuedWork, "isExclusive" | "footprint">): boolean =>
      isAlone
        ? under.size === 0
        : under.size < MAX_CONCURRENT_WRITES &&
          [...under].every((one) => !one.isExclusive && !footprintsOverlap(one.footprint, footprint));
    /** The planned first write of the queue, if it could not start yet. */
    let held: { readonly item: Item; readonly work: QueuedWork } | undefined;

    async function next(): Promise<boolean> {
      const [item] = items;
      if (item === undefined || !isOpen() || [...under].some(({ isExclusive: isAlone }) => isAlone)) return false;
      if (held?.item === item && !mayGo(held.work)) return false;
      let work: QueuedWork | null;
      try {
        work = await plan(item);
      } catch (error) {
        leave(item);
        refuse(item, error);
        return true;
      }
      if (work && !mayGo(work)) {
        held = { item, work };
        return false;
      }
      leave(item);
      if (work) go(item, work);
      return true;
    }

    function leave(item: Item): void {
      items.splice(items.indexOf(item), 1);
    }

    function go(item: Item, work: QueuedWork): void {
      under.add(work);
      void work.start(hold).then((isStale) => {
        if (isStale) items.unshift(item);
        under.delete(work);
        wake();
      });
    }

    for (;;) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      while (await next());
      if (under.size > 0) await woken;
      else if (items.length === 0) return;
      else if (!isOpen()) {
        // The mutex is requested again before it is released: the code that yields it to other processes must know that
        // more writes are waiting.
        begin();
        return;
      }
    }
  }

  return {
    add(item) {
      items.push(item);
      if (holds === 0) begin();
      else wake();
    },
    async empty() {
      while (holds > 0) await last;
    },
  };
}

/** What a write concerns: keys of entities, of their claims, and of resources. */
interface WriteFootprint {
  /** Keys of the entities and resources that the write creates, changes or removes. */
  readonly takes: ReadonlySet<string>;
  /**
   * Keys of entities and resources that must exist and remain for the write, or must stay missing because the write
   * removes an entity that is missing already.
   */
  readonly needs: ReadonlySet<string>;
}

export function footprintOf(
  writes: readonly Write[],
  { effects, steps, secrets, unused }: ResourceWritePlan,
): WriteFootprint {
  const takes = new Set<string>();
  const needs = new Set<string>();
  const addClaims = (collection: Collection, entity: Entity): void => {
    takes.add(claimKey(collection, { id: entity.id }));
    for (const key of entityClaimKeys(collection, entity)) takes.add(key);
  };
  for (const { collection, before, after, along } of effects) {
    for (const entity of [before, after]) if (entity) addClaims(collection, entity);
    for (const one of along) addClaims(one.collection, one.entity);
    for (const { member, to } of after ? references[collection] : []) {
      const id = after && referencedId(after, member);
      if (id) needs.add(claimKey(to, { id }));
    }
  }
  // The effects of removing a missing entity have no keys. Without the keys added here, a write that creates the entity
  // could run at the same time.
  for (const one of writes) if (one.op === "remove") needs.add(claimKey(one.collection, claimOf(one.by)));
  for (const { kind, resource } of steps) takes.add(refKey({ kind, ...resource.metadata }));
  for (const secret of [...secrets, ...unused]) takes.add(refKey({ kind: "Secret", ...secret.metadata }));
  return { takes, needs };
}

/** Whether the plan of one write may be invalid once the other write is done. */
const footprintsOverlap = (one: WriteFootprint, other: WriteFootprint): boolean =>
  !one.takes.isDisjointFrom(other.takes) ||
  !one.takes.isDisjointFrom(other.needs) ||
  !one.needs.isDisjointFrom(other.takes);
