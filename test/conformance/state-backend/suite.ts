/** The conformance suite of the operator's state backends. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { Conflict, type StateBackend } from "@sluice/crds";

export interface StateBackendFactory {
  readonly name: string;
  /** A backend with this name; equal names share their state. */
  open(name: string): StateBackend;
}

export function stateBackendSuite({ name, open }: StateBackendFactory): void {
  const within = (what: string, of: string, body: (store: StateBackend) => Promise<void>) =>
    test(`${name}: ${what}`, async () => {
      const store = open(of);
      try {
        await body(store);
      } finally {
        await store.close();
      }
    });

  within(
    "the key is generated only once, even if several clients request it at the same time",
    "keys",
    async (store) => {
      const other = open("keys");
      const keys = await Promise.all([store.key(), other.key(), store.key()]);
      await other.close();
      assert.equal(keys[0]?.length, 32);
      assert.ok(keys.every((key) => key.equals(keys[0] ?? Buffer.alloc(0))));
    },
  );

  within("a manifest is replaced only with the version of the previous manifest", "manifests", async (store) => {
    await store.key();
    assert.equal(await store.manifest(), null);
    const first = await store.putManifest("one", null);
    await assert.rejects(store.putManifest("two", null), Conflict);
    assert.deepEqual(await store.manifest(), { text: "one", version: first });
    const second = await store.putManifest("two", first);
    await assert.rejects(store.putManifest("three", first), Conflict);
    assert.deepEqual(await store.manifest(), { text: "two", version: second });
  });

  within("parts are found by their names until they are removed", "parts", async (store) => {
    await store.key();
    assert.deepEqual(await store.parts(), []);
    assert.equal(await store.part("abc"), null);
    const content = randomBytes(900 * 1024);
    await store.putPart("abc", content);
    await store.putPart("abc", content);
    await store.putPart("def", Buffer.from("short"));
    assert.deepEqual([...(await store.parts())].sort(), ["abc", "def"]);
    assert.ok((await store.part("abc"))?.equals(content));
    await store.removePart("abc");
    await store.removePart("abc");
    assert.deepEqual(await store.parts(), ["def"]);
  });

  within("more parts than fit in one response are all listed", "many", async (store) => {
    await store.key();
    const names = Array.from({ length: 60 }, (_, index) => `part${index}`).sort();
    for (const part of names) await store.putPart(part, Buffer.from(part));
    assert.deepEqual([...(await store.parts())].sort(), names);
  });
}
