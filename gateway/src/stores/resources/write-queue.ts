/**
 * Writes that wait for their turn, in the order in which they came. One after the other is planned; those that have
 * nothing to do with each other are carried out at once. So every write is planned on what those before it have left
 * that it has to do with, and an answer never depends on a write that may still fail.
 */
import type { MutexHold } from "@sluice/crds";
import { footprintsOverlap, type WriteFootprint } from "./footprint.ts";

/** A write that has been planned. */
export interface QueuedWork {
  readonly footprint: WriteFootprint;
  /** Nothing else is under way while this is. */
  readonly isExclusive: boolean;
  /** Carries it out; true: it was planned on what is not true any more, and stays first in the line. Never rejects. */
  start(turn: MutexHold): Promise<boolean>;
}

export interface WriteQueueOptions<Item> {
  /** Runs while no other process writes; rejects when there is no turn to be had, or what is there cannot be read. */
  readonly withMutex: (run: (turn: MutexHold) => Promise<void>) => Promise<void>;
  /** Null: it is answered already. */
  readonly plan: (item: Item) => Promise<QueuedWork | null>;
  /** Answers one that cannot be planned. */
  readonly refuse: (item: Item, error: unknown) => void;
}

export interface WriteQueue<Item> {
  add(item: Item): void;
  /** Resolves when nothing waits and nothing is under way. */
  empty(): Promise<void>;
}

/** Writes that are under way at once. */
const MAX_CONCURRENT_WRITES = 16;
/** Milliseconds after which other processes get their turn, however much waits here. */
const MAX_TURN = 2000;

export function createWriteQueue<Item>({ withMutex, plan, refuse }: WriteQueueOptions<Item>): WriteQueue<Item> {
  const items: Item[] = [];
  let turns = 0;
  let last: Promise<unknown> = Promise.resolve();
  let wake = (): void => {};

  function begin(): void {
    turns++;
    last = withMutex(serve)
      .catch((error: unknown) => {
        for (const item of items.splice(0)) refuse(item, error);
      })
      .finally(() => {
        turns--;
        // What came while the turn ended.
        if (turns === 0 && items.length > 0) begin();
      });
  }

  async function serve(turn: MutexHold): Promise<void> {
    const until = performance.now() + MAX_TURN;
    const isOpen = (): boolean => performance.now() < until && turn.isHeld?.() !== false;
    const under = new Set<QueuedWork>();
    const mayGo = ({ isExclusive: isAlone, footprint }: Pick<QueuedWork, "isExclusive" | "footprint">): boolean =>
      isAlone
        ? under.size === 0
        : under.size < MAX_CONCURRENT_WRITES &&
          [...under].every((one) => !one.isExclusive && !footprintsOverlap(one.footprint, footprint));
    /** The first in the line as it was planned when it could not go yet. */
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
      void work.start(turn).then((isStale) => {
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
        // Asked for before this one ends: whoever gives others their turn has to know that more waits here.
        begin();
        return;
      }
    }
  }

  return {
    add(item) {
      items.push(item);
      if (turns === 0) begin();
      else wake();
    },
    async empty() {
      while (turns > 0) await last;
    },
  };
}
