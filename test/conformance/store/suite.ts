/** The conformance suite of stores. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Collection, collections, type Entities, type Entity, type WaitResponse } from "@sluice/model";
import type {
  Effect,
  Store,
  StoreWriteOptions,
  Write,
  WriteFault,
  WriteOutcome,
} from "../../../gateway/src/stores/store.ts";
import { testBatches } from "./batches.ts";
import { testCreating } from "./creating.ts";
import { testRacing } from "./racing.ts";
import { testReading } from "./reading.ts";
import { testRemoving } from "./removing.ts";
import { testReplacing } from "./replacing.ts";
import { type RevisionTraits, revisions } from "./revisions.ts";

export interface StoreHolder {
  /**
   * Opens a store over the same entities. Two stores behave like two processes; if only one process may write, all
   * calls return the same store.
   */
  open(): Store | Promise<Store>;
  /** Resolves when the revisions contain all writes up to the call. Default: they always do. */
  recorded?(): Promise<void>;
  /** Closes all opened stores and deletes the entities. */
  close(): Promise<void>;
}

/** The test's context: an initially empty store, and helpers. */
export interface StoreCase {
  readonly store: Store;
  /** Opens a store as another process would. */
  open(): Promise<Store>;
  /** Resolves when the revisions contain all writes up to the call. */
  recorded(): Promise<void>;
  /** Executes writes, which must succeed, and returns their effects. */
  write(writes: readonly Write[], options?: StoreWriteOptions): Promise<readonly Effect[]>;
  create<Name extends Collection>(collection: Name, entity: Entities[Name]): Promise<Entities[Name]>;
  replace<Name extends Collection>(collection: Name, entity: Entities[Name]): Promise<Entities[Name]>;
  remove(collection: Collection, id: string): Promise<Effect>;
  /** Executes writes, asserts that they are refused and change nothing, and returns the fault. */
  refused(...writes: readonly Write[]): Promise<{ readonly fault: WriteFault; readonly index: number }>;
  all<Name extends Collection>(collection: Name): Promise<readonly Entities[Name][]>;
  ids(collection: Collection): Promise<readonly string[]>;
  /** All entities, by collection. */
  everything(): Promise<Readonly<Record<string, readonly Entity[]>>>;
}

export type StoreTest = (does: string, run: (its: StoreCase) => Promise<void>) => void;

const sections = [testReading, testCreating, testReplacing, testRemoving, testBatches, testRacing];

/**
 * @param hold Returns an empty store for each test.
 * @param revisionTraits Absent: the store keeps no revisions.
 */
export function describeStore(name: string, hold: () => Promise<StoreHolder>, revisionTraits?: RevisionTraits): void {
  describe(`${name} as a store`, () => {
    for (const section of revisionTraits ? [...sections, revisions(revisionTraits)] : sections) {
      section((does, run) => {
        test(does, async () => {
          const holder = await hold();
          try {
            await run(caseOf(await holder.open(), holder));
          } finally {
            await holder.close();
          }
        });
      });
    }
  });
}

export const createWrite = (collection: Collection, entity: Entity): Write => ({ op: "create", collection, entity });
export const replaceWrite = (collection: Collection, entity: Entity): Write => ({ op: "replace", collection, entity });
export const removeWrite = (collection: Collection, id: string): Write => ({ op: "remove", collection, by: { id } });

/** Asserts that `programmed` is absent or a function. */
function checkOutcome({ programmed }: WriteOutcome): void {
  assert.ok(programmed === undefined || typeof programmed === "function");
}

export const isAnswer = (answer: WaitResponse | null): boolean =>
  answer === null || (typeof answer.programmed === "boolean" && Array.isArray(answer.lagging));

function caseOf(store: Store, holder: StoreHolder): StoreCase {
  const all = async <Name extends Collection>(collection: Name) =>
    (await store.list(collection, { size: 1000 })).entities;
  const everything = async () =>
    Object.fromEntries(
      await Promise.all(collections.map(async (name) => [name, (await all(name)) as readonly Entity[]] as const)),
    );
  const write = async (writes: readonly Write[], options?: StoreWriteOptions) => {
    const outcome = await store.write(writes, options);
    assert.equal(outcome.fault, undefined, JSON.stringify(outcome.fault));
    checkOutcome(outcome);
    assert.equal(outcome.effects?.length, writes.length);
    return outcome.effects ?? [];
  };
  const one = async <Name extends Collection>(written: Write): Promise<Entities[Name]> => {
    const [effect] = await write([written]);
    assert.ok(effect?.after);
    return effect.after as Entities[Name];
  };
  return {
    store,
    open: async () => holder.open(),
    recorded: async () => holder.recorded?.(),
    write,
    create: (collection, entity) => one(createWrite(collection, entity)),
    replace: (collection, entity) => one(replaceWrite(collection, entity)),
    async remove(collection, id) {
      const [effect] = await write([removeWrite(collection, id)]);
      assert.ok(effect);
      return effect;
    },
    async refused(...writes) {
      const before = await everything();
      const { fault, index } = { index: -1, ...(await store.write(writes)) };
      assert.ok(fault, "the write should have been refused");
      assert.deepEqual(await everything(), before);
      return { fault, index };
    },
    all,
    ids: async (collection) => (await all(collection)).map(({ id }) => id),
    everything,
  };
}
