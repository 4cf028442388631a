import assert from "node:assert/strict";
import { test } from "node:test";
import type { Plugin } from "@sluice/model";
import type { Store } from "../../stores/store.ts";
import { pluginsInUse } from "./root.ts";

const plugin = (name: string) => ({ id: name, name }) as Plugin;

const storeOf = (list: Store["list"], failure: readonly string[] = []) =>
  ({ list, unready: () => failure }) as unknown as Store;

test("each plugin in use is listed once, even if the store has a problem but can still be read", async () => {
  const list = async () => ({ entities: [plugin("key-auth"), plugin("cors"), plugin("key-auth")], more: false });
  const store = storeOf(list as unknown as Store["list"], ["resources cannot be read at the moment: watch closed"]);
  assert.deepEqual(await pluginsInUse(store), ["cors", "key-auth"]);
});

test("no plugin is listed if the store cannot be read, or cannot be read in time", async () => {
  const fails = async () => Promise.reject(new Error("gone"));
  assert.deepEqual(await pluginsInUse(storeOf(fails as unknown as Store["list"])), []);
  const hangs = () => new Promise(() => {});
  assert.deepEqual(await pluginsInUse(storeOf(hangs as unknown as Store["list"]), 1), []);
});
