/** Revisions: what changed, and who changed it. */
import assert from "node:assert/strict";
import { readAll } from "../../../gateway/src/stores/read-all.ts";
import { netChanges, writesToUndo } from "../../../gateway/src/stores/revisions/net-changes.ts";
import type { EntityChange, Revisions, StoreRevision } from "../../../gateway/src/stores/revisions/revisions.ts";
import type { StoreWriteOptions, Write } from "../../../gateway/src/stores/store.ts";
import {
  consumerEntity,
  credentialEntity,
  pluginEntity,
  routeEntity,
  serviceEntity,
  withoutTimestamps,
} from "./entities.ts";
import { createWrite, removeWrite, replaceWrite, type StoreCase, type StoreTest } from "./suite.ts";

const revisionsIn = ({ store }: StoreCase): Revisions => store.revisions ?? assert.fail("the store keeps no revisions");

async function newestIn(its: StoreCase): Promise<StoreRevision> {
  await its.recorded();
  const [newest] = (await revisionsIn(its).list({ size: 1 })).revisions;
  return newest ?? assert.fail("there is no revision");
}

/** Writes, and returns the revision of the writes. */
async function revise(its: StoreCase, writes: readonly Write[], options?: StoreWriteOptions): Promise<StoreRevision> {
  const before = await newestIn(its);
  await its.write(writes, options);
  const after = await newestIn(its);
  assert.ok(after.number > before.number);
  return after;
}

async function changesIn(its: StoreCase, after: number, to: number): Promise<readonly EntityChange[]> {
  const { changes, missing } = await revisionsIn(its).changes({ after, to });
  return changes ?? assert.fail(missing);
}

const texts = (changes: readonly EntityChange[]): readonly string[] =>
  changes
    .map(({ collection, before, after }) => `${collection} ${before ? "before" : ""} ${after ? "after" : ""}`.trim())
    .sort();

export interface RevisionTraits {
  /**
   * Whether each write is a revision of its own, with its author and with the values of secrets. The operator joins
   * writes by time instead, does not know the callers of the admin API, and copies no Secrets.
   */
  readonly ofWrites: boolean;
}

/** The traits of stores that record revisions with their writes. */
export const revisionsOfWrites: RevisionTraits = { ofWrites: true };

export const revisions =
  ({ ofWrites }: RevisionTraits) =>
  (test: StoreTest): void => {
    const authorOf = (name: string) => (ofWrites ? name : "unknown");

    test("keeps a revision of each write, with its author and the numbers of changed entities", async (its) => {
      const users = serviceEntity("users");
      const from = Date.now();
      const { number, author, time, counts } = await revise(
        its,
        [
          createWrite("services", users),
          createWrite("routes", routeEntity({ name: "web", service: { id: users.id } })),
        ],
        { author: "ann" },
      );
      assert.deepEqual([author, counts], [authorOf("ann"), { created: 2, changed: 0, deleted: 0 }]);
      assert.ok(time >= from - 1 && time <= Date.now() + 1);
      const next = await revise(its, [replaceWrite("services", { ...users, retries: 1 })], { author: "bob" });
      assert.deepEqual([next.author, next.counts], [authorOf("bob"), { created: 0, changed: 1, deleted: 0 }]);
      assert.equal((await revisionsIn(its).find(number))?.author, authorOf("ann"));
    });

    test("keeps each changed entity as readers saw it before and after the revision", async (its) => {
      const users = await its.create("services", serviceEntity("users"));
      const bob = await its.create("consumers", consumerEntity("bob"));
      const key = await its.create("keyauth_credentials", credentialEntity(bob, "secret"));
      const { number } = await revise(its, [
        replaceWrite("services", { ...users, retries: 1, tags: ["a"] }),
        removeWrite("consumers", bob.id),
        createWrite("plugins", pluginEntity("cors", { service: { id: users.id } })),
      ]);
      const changes = netChanges(await changesIn(its, number - 1, number));
      assert.deepEqual(texts(changes), [
        "consumers before",
        "keyauth_credentials before",
        "plugins  after",
        "services before after",
      ]);
      const of = (collection: string) => changes.find((one) => one.collection === collection);
      assert.deepEqual(of("services")?.before, users);
      assert.deepEqual(of("services")?.after, await its.store.find("services", { id: users.id }));
      const gone = of("keyauth_credentials")?.before;
      if (ofWrites) assert.deepEqual(gone, key);
      else assert.deepEqual([gone?.id, Reflect.get(gone ?? {}, "key")], [key.id, undefined]);
    });

    test("keeps no revision of a plan, a refused write, or a write that changes nothing", async (its) => {
      const users = await its.create("services", serviceEntity("users"));
      const { last } = await newestIn(its);
      await its.write([createWrite("services", serviceEntity("other"))], { plan: true });
      await its.refused(createWrite("services", serviceEntity("users")));
      await its.write([removeWrite("services", serviceEntity("absent").id)]);
      await its.write([replaceWrite("services", users)]);
      assert.equal((await newestIn(its)).last, last);
    });

    test("lists the newest revisions first, in pages", async (its) => {
      const names = ["a", "b", "c", "d"];
      const numbers: number[] = [];
      for (const name of names)
        numbers.unshift((await revise(its, [createWrite("services", serviceEntity(name))], { author: name })).number);
      const first = await revisionsIn(its).list({ size: 2 });
      const second = await revisionsIn(its).list({ size: 2, before: first.revisions.at(-1)?.number ?? 0 });
      assert.deepEqual(
        [...first.revisions, ...second.revisions].map((one) => one.number),
        numbers,
      );
      assert.deepEqual([first.more, second.more], [true, true]);
      assert.deepEqual(
        [...first.revisions, ...second.revisions].map(({ author }) => author),
        names.toReversed().map(authorOf),
      );
    });

    test("can be returned to the state of any revision by writes that undo the later changes", async (its) => {
      const [users, bob] = [serviceEntity("users"), consumerEntity("bob")];
      const states: { readonly number: number; readonly entities: object }[] = [];
      const steps: readonly (readonly Write[])[] = [
        [
          createWrite("services", users),
          createWrite("routes", routeEntity({ name: "web", service: { id: users.id } })),
        ],
        [
          createWrite("consumers", bob),
          ...(ofWrites ? [createWrite("keyauth_credentials", credentialEntity(bob, "secret"))] : []),
        ],
        [
          replaceWrite("services", { ...users, name: "renamed" }),
          createWrite("services", serviceEntity("users", { id: OTHER })),
        ],
        [removeWrite("consumers", bob.id), replaceWrite("services", { ...users, name: "renamed", retries: 1 })],
      ];
      const shown = async () =>
        Object.fromEntries(
          Object.entries(await its.everything()).map(([name, list]) => [name, list.map(withoutTimestamps)]),
        );
      for (const [index, writes] of steps.entries()) {
        const { number } = await revise(its, writes, { author: `author ${index}` });
        states.push({ number, entities: await shown() });
      }
      for (const { number, entities } of [...states.toReversed(), ...states]) {
        const changes = await changesIn(its, number, (await newestIn(its)).number);
        const { writes } = writesToUndo(await readAll(its.store), changes, { database: false, now: 1 });
        await its.write(writes ?? assert.fail(), { author: `to ${number}` });
        assert.deepEqual(await shown(), entities);
      }
    });

    if (ofWrites)
      test("joins the further changes of an author into one revision after more than twenty changes in close succession", async (its) => {
        const { number } = await revise(its, [createWrite("services", serviceEntity("first"))], { author: "deck" });
        for (let index = 0; index < 40; index++)
          await its.write([createWrite("services", serviceEntity(`s-${index}`))], { author: "deck" });
        const { revisions: listed } = await revisionsIn(its).list({ size: 100 });
        const own = listed.filter((one) => one.number >= number);
        assert.ok(own.length < 41 && own.length >= 20, `${own.length} revisions`);
        assert.equal(
          own.reduce((sum, { counts }) => sum + (counts?.created ?? 0), 0),
          41,
        );
        const newest = await newestIn(its);
        assert.ok(newest.last > newest.number);
        assert.equal((await changesIn(its, number - 1, newest.number)).length, 41);
        await revise(its, [createWrite("services", serviceEntity("last"))], { author: "ann" });
      });
  };

const OTHER = "11111111-1111-4111-8111-111111111111";
