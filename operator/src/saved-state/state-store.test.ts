import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { MAX_PART_BYTES } from "./state-parts.ts";
import { createStateStore, type StateStore } from "./state-store.ts";
import { type TestStore, testStore } from "./testing-store.ts";

function route(name: string, spec: Readonly<Record<string, unknown>> = {}): readonly [string, Resource] {
  const metadata = { name, namespace: "default", uid: `uid-${name}`, generation: 1, resourceVersion: "7" };
  const status = { conditions: [] };
  const full = { paths: [`/${name}`], ...spec };
  return [`Route/default/${name}`, { apiVersion: "sluice.dev/v1alpha1", kind: "Route", metadata, spec: full, status }];
}
const many = (count: number) => new Map(Array.from({ length: count }, (_, index) => route(`route-${index}`)));

interface Scene {
  readonly store: TestStore;
  readonly warnings: object[];
  newStore(): StateStore;
  /** A store that has read the saved state. */
  informed(): Promise<StateStore>;
}

function scene(): Scene {
  const store = testStore();
  const warnings: object[] = [];
  const newStore = () => createStateStore({ store, log: { warn: (details: object) => void warnings.push(details) } });
  return {
    store,
    warnings,
    newStore,
    async informed() {
      const made = newStore();
      await made.read();
      return made;
    },
  };
}
const document = (resources: ReadonlyMap<string, Resource>, revision = 1, term = 1) => ({
  term,
  revision,
  hash: `hash-${revision}`,
  resources,
});

test("the next operator can read the saved state, which contains no status", async () => {
  const { newStore } = scene();
  assert.equal(await newStore().read(), null);
  assert.equal(await newStore().term(), 0);
  await newStore().write(document(many(50), 3, 4));
  const kept = await newStore().read();
  assert.equal(kept?.size, 50);
  const { status, metadata, spec } = kept?.get("Route/default/route-7") ?? {};
  assert.deepEqual([status, metadata?.uid, metadata?.resourceVersion], [undefined, "uid-route-7", undefined]);
  assert.deepEqual(spec, { paths: ["/route-7"] });
  assert.equal(await newStore().term(), 4);
});

test("a change of one resource writes one part and removes the replaced part", async () => {
  const { store, newStore, informed } = scene();
  const mine = newStore();
  const before = many(5000);
  await mine.write(document(before));
  const first = store.puts.length;
  assert.ok(first >= 16, `${first} parts`);
  await mine.write(document(new Map([...before, route("route-7", { paths: ["/other"] })]), 2));
  assert.equal(store.puts.length, first + 1);
  assert.equal(store.kept.size, first);
  assert.deepEqual((await newStore().read())?.get("Route/default/route-7")?.spec, { paths: ["/other"] });
  // A restarted operator knows the saved parts, and writes only the part that differs.
  await (await informed()).write(document(before, 3, 2));
  assert.equal(store.puts.length, first + 2);
});

test("the saved state contains no secret in clear text, and cannot be decrypted with another key", async () => {
  const { store, newStore, warnings } = scene();
  const secret = "a-password-that-stays-secret";
  await newStore().write(document(new Map([route("secret", { config: { redis_password: secret } })])));
  const all = Buffer.concat([...store.kept.values()]).toString("latin1");
  assert.ok(!all.includes(secret) && !all.includes("Route"));
  assert.ok(!(await store.manifest())?.text.includes("default"));
  store.loseKey();
  assert.equal((await newStore().read())?.size, 0);
  assert.equal(warnings.length, 1);
  assert.doesNotMatch(JSON.stringify(warnings), new RegExp(secret));
});

test("when the key is replaced, all parts are encrypted again with the new key, and a later operator can read the parts", async () => {
  const { store, newStore, warnings } = scene();
  const resources = new Map([route("a"), route("b")]);
  const one = newStore();
  await one.write(document(resources));
  assert.equal(await one.isKeyReplaced(), false);
  const before = [...store.kept.keys()];
  store.loseKey();
  assert.equal(await one.isKeyReplaced(), true);
  await one.write(document(resources));
  assert.equal(await one.isKeyReplaced(), false);
  assert.deepEqual(
    before.filter((name) => store.kept.has(name)),
    [],
    "no part can be decrypted with the former key",
  );
  assert.deepEqual([...((await newStore().read()) ?? [])].map(([name]) => name).sort(), [...resources.keys()].sort());
  assert.equal(warnings.length, 1, "the new key is logged once");
});

test("when the key is replaced, an operator that only reads uses the new key too", async () => {
  const { store, newStore } = scene();
  const [leader, follower] = [newStore(), newStore()];
  await leader.write(document(new Map([route("a")])));
  assert.equal((await follower.read())?.size, 1);
  store.loseKey();
  await leader.write(document(new Map([route("a"), route("b")]), 3, 2));
  assert.equal((await follower.read())?.size, 2);
});

const damages: readonly (readonly [what: string, damage: (store: TestStore, part: string) => void])[] = [
  ["is gone", ({ kept }, part) => void kept.delete(part)],
  ["is truncated", ({ kept }, part) => void kept.set(part, (kept.get(part) ?? Buffer.alloc(0)).subarray(0, 40))],
  ["is garbage", ({ kept }, part) => void kept.set(part, randomBytes(500))],
  ["is empty", ({ kept }, part) => void kept.set(part, Buffer.alloc(0))],
  [
    "has the content of another part",
    ({ kept }, part) => void kept.set(part, [...kept].find(([name]) => name !== part)?.[1] ?? Buffer.alloc(0)),
  ],
];
for (const [what, damage] of damages)
  test(`if a part ${what}, only the content of that part is lost, and the fault is logged`, async () => {
    const { store, newStore, warnings } = scene();
    await newStore().write(document(many(200)));
    damage(store, store.puts[3] ?? "");
    const kept = (await newStore().read())?.size ?? 0;
    assert.ok(kept > 150 && kept < 200, `${kept} of 200`);
    assert.equal(warnings.length, 1);
  });

test("a write that fails halfway leaves the previous state intact", async () => {
  const { store, newStore, informed } = scene();
  await newStore().write(document(many(200)));
  const parts = store.kept.size;
  store.failAfter(2);
  const others = new Map(Array.from({ length: 200 }, (_, index) => route(`route-${index}`, { paths: ["/new"] })));
  await assert.rejects((await informed()).write(document(others, 2)), /the store is full/);
  assert.deepEqual((await newStore().read())?.get("Route/default/route-7")?.spec, { paths: ["/route-7"] });
  store.failAfter(Number.POSITIVE_INFINITY);
  await (await informed()).write(document(others, 3));
  assert.deepEqual((await newStore().read())?.get("Route/default/route-7")?.spec, { paths: ["/new"] });
  assert.equal(store.kept.size, parts, "no unused part remains");
});

test("an operator of an earlier term does not replace the state of a later term", async () => {
  const { newStore } = scene();
  await newStore().write(document(many(1), 1, 5));
  await assert.rejects(newStore().write(document(many(2), 9, 4)), { name: "Conflict", message: /term 5/ });
  assert.equal((await newStore().read())?.size, 1);
});

test("after another operator has saved, a read reads only the parts that are unknown to its store, and each only once", async () => {
  const { store, newStore } = scene();
  const [one, other] = [newStore(), newStore()];
  const before = many(200);
  await one.write(document(before));
  assert.equal(await one.read(), null, "parts that this store has written are not read");
  assert.equal((await other.read())?.size, 200);
  assert.equal(await other.read(), null, "parts that this store has read are not read again");
  await one.write(document(new Map([...before, route("route-7", { paths: ["/other"] })]), 2));
  const news = await other.read();
  assert.deepEqual(news?.get("Route/default/route-7")?.spec, { paths: ["/other"] });
  assert.ok(news.size < 50, `${news.size} of 200 resources were read; one of ${store.kept.size} parts had changed`);
  assert.equal(await other.read(), null);
});

test("unread state is not replaced", async () => {
  const { newStore } = scene();
  const [one, other] = [newStore(), newStore()];
  await one.write(document(many(2)));
  await assert.rejects(other.write(document(many(1), 1, 2)), { name: "Conflict", message: /not been read/ });
  await other.read();
  await one.write(document(many(3), 2));
  await assert.rejects(other.write(document(many(1), 1, 2)), { name: "Conflict", message: /not been read/ });
  await other.read();
  await other.write(document(many(1), 1, 2));
  assert.equal((await newStore().read())?.size, 1);
});

test("incompressible state is split into more parts, so that each fits a ConfigMap", async () => {
  const { store, newStore } = scene();
  const long = () => ({ paths: [`/${randomBytes(300_000).toString("base64url")}`] });
  await newStore().write(document(new Map(Array.from({ length: 24 }, (_, index) => route(`route-${index}`, long())))));
  const sizes = [...store.kept.values()].map(({ length }) => length);
  assert.ok(Math.max(...sizes) < MAX_PART_BYTES + 1000, `${Math.max(...sizes)}`);
  assert.equal((await newStore().read())?.size, 24);
});

test("a resource that fits in no part is left out and logged, and all other resources are saved", async () => {
  const { newStore, warnings } = scene();
  const long = route("long", { paths: [`/${randomBytes(1_000_000).toString("base64url")}`] });
  await newStore().write(document(new Map([...many(3), long])));
  assert.equal((await newStore().read())?.size, 3);
  assert.deepEqual(warnings, [{ resource: "Route/default/long" }]);
});
