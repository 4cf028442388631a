/** A document that takes long to load: the response to it, and the responses to documents that are sent meanwhile. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Store, WriteOutcome } from "../../stores/store.ts";
import { configRoutes } from "./routes.ts";

/** POST /config with a store whose writes end when the test settles `loading`. */
function startLoading(timeout?: number) {
  const loading = Promise.withResolvers<WriteOutcome>();
  const store: Store = {
    list: async () => ({ entities: [], more: false }),
    find: async () => null,
    write: () => loading.promise,
    unready: () => [],
  };
  const [route] = configRoutes({
    store,
    warnings: async () => ({}),
    planOf: async () => ({ created: [], changed: [], deleted: [], requests: null }),
    settings: { store: "file" },
    ...(timeout !== undefined && { timeout }),
  });
  const bytes = Buffer.from(JSON.stringify({ _format_version: "3.0", services: [{ name: "users", host: "a" }] }));
  const headers = { "content-type": "application/json" };
  return {
    loading,
    post: async () =>
      route?.handlers.POST?.({
        method: "POST",
        path: "/config",
        query: new URLSearchParams(),
        params: {},
        trusted: true,
        endsInSlash: false,
        author: "a test",
        headers,
        bytes,
      }),
  };
}

const busy = { status: 429, message: "Currently loading previous configuration", headers: { "Retry-After": "5" } };
const late = {
  status: 504,
  message:
    "Timed out while loading configuration; loading continues, and configuration_hash in GET /status shows what is served",
};

describe("a document that takes long to load", () => {
  test("causes the response 429 to a second document", async () => {
    const { loading, post } = startLoading();
    const first = post();
    await assert.rejects(post(), busy);
    loading.resolve({ effects: [] });
    assert.equal((await first)?.status, 201);
    assert.equal((await post())?.status, 201);
  });

  test("is answered with 504 after the time limit, and no other document is accepted until it is loaded", async () => {
    const { loading, post } = startLoading(1);
    await assert.rejects(post(), late);
    await assert.rejects(post(), busy);
    loading.resolve({ effects: [] });
    await loading.promise;
    await untilTaken(post);
  });

  test("may fail after its response; later documents are then no longer answered with 429", async () => {
    const { loading, post } = startLoading(1);
    await assert.rejects(post(), late);
    loading.reject(new Error("the disk is full"));
    await assert.rejects(untilTaken(post), /the disk is full/);
  });
});

/** Sends documents until the response is not 429: the first load ends some ticks after the store's write. */
async function untilTaken(post: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await post();
      return;
    } catch (error) {
      if ((error as { status?: number }).status !== 429) throw error;
    }
  }
}
