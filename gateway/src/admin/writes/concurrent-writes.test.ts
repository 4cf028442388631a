/** Concurrent writers, and the errors that they get when the store rejects a write. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { deriveId } from "@sluice/model";
import type { WriteFault } from "../../stores/store.ts";
import { type Admin, startAdmin } from "../index.ts";
import { type Reply, type RequestOptions, requestAt, silentLog, testingSettings } from "../testing.ts";
import { createTestingStore, type TestingStore } from "../testing-store.ts";

describe("concurrent writers", () => {
  let store: TestingStore;
  let admin: Admin;
  let ask: (method: string, path: string, asking?: RequestOptions) => Promise<Reply>;
  before(async () => {
    store = createTestingStore();
    admin = await startAdmin({ settings: testingSettings(), opened: store, log: silentLog, version: "1" });
    ask = requestAt(admin.address.port);
  });
  after(() => admin.close());
  beforeEach(async () => {
    for (const path of ["/plugins", "/services"]) {
      const { body } = await ask("GET", path);
      for (const { id } of (body as { data: { id: string }[] }).data) await ask("DELETE", `${path}/${id}`);
    }
    await ask("PUT", "/services/shop", { json: { host: "a" } });
    store.written.length = 0;
  });

  const changed: WriteFault = { kind: "changed", message: "the service was changed in the meantime" };

  test("do not undo each other's changes of different members", async () => {
    const { body } = await ask("POST", "/plugins", { json: { name: "rate-limiting", config: { year: 9999 } } });
    const { id } = body as { id: string };
    const periods = ["second", "minute", "hour", "day", "month"];
    const replies = await Promise.all(
      periods.map((period, index) => ask("PATCH", `/plugins/${id}`, { json: { config: { [period]: index + 1 } } })),
    );
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
    const shown = (await ask("GET", `/plugins/${id}`)).body;
    assert.partialDeepStrictEqual(shown, { config: { second: 1, minute: 2, hour: 3, day: 4, month: 5, year: 9999 } });
  });

  test("apply a change to the entity as another writer has left it", async () => {
    store.refuse.push(async () => {
      await ask("PATCH", "/services/shop", { json: { retries: 1 } });
    });
    const { status, body } = await ask("PATCH", "/services/shop", { json: { port: 81 } });
    assert.equal(status, 200);
    assert.partialDeepStrictEqual(body, { port: 81, retries: 1 });
  });

  test("do not overwrite the change of another writer when they send If-Match", async () => {
    const { headers } = await ask("GET", "/services/shop");
    const condition = [["If-Match", String(headers.etag)]] as const;
    store.refuse.push(async () => {
      await ask("PATCH", "/services/shop", { json: { retries: 1 } });
    });
    const { status } = await ask("PATCH", "/services/shop", { json: { port: 81 }, headers: condition });
    assert.equal(status, 412);
    assert.partialDeepStrictEqual((await ask("GET", "/services/shop")).body, { port: 80, retries: 1 });
  });

  test("both succeed with a PUT of a name that was free", async () => {
    store.refuse.push(async () => {
      await ask("PUT", "/services/new", { json: { host: "one" } });
    });
    const { status, body } = await ask("PUT", "/services/new", { json: { host: "two" } });
    assert.equal(status, 200);
    assert.partialDeepStrictEqual(body, { host: "two", id: deriveId("services", "new") });
  });

  test("create only one entity when they send If-None-Match", async () => {
    store.refuse.push(async () => {
      await ask("PUT", "/services/new", { json: { host: "one" } });
    });
    const headers = [["If-None-Match", "*"]] as const;
    const { status } = await ask("PUT", "/services/new", { json: { host: "two" }, headers });
    assert.equal(status, 412);
  });

  test("finally get an error when another writer is always faster", async () => {
    store.refuse.push(...Array.from({ length: 100 }, () => changed));
    const { status, body } = await ask("PATCH", "/services/shop", { json: { port: 81 } });
    assert.deepEqual([status, body], [409, { message: changed.message }]);
    assert.ok(store.written.length < 50, "the write gives up");
    store.refuse.length = 0;
  });

  test("create an entity with a random id if the id derived from its name belongs to another entity", async () => {
    const id = deriveId("services", "fresh");
    store.refuse.push({ kind: "primary-key", id });
    const { status, body } = await ask("POST", "/services", { json: { name: "fresh", host: "a" } });
    assert.equal(status, 201);
    assert.notEqual((body as { id: string }).id, id);
  });

  test("have a batch prepared again after a conflict", async () => {
    store.refuse.push(async () => {
      await ask("PATCH", "/services/shop", { json: { retries: 1 } });
    });
    const writes = [
      { method: "PATCH", path: "/services/shop", body: { port: 81 } },
      { method: "PUT", path: "/services/more", body: { host: "a" } },
    ];
    const { status, body } = await ask("POST", "/batch", { json: { writes } });
    assert.equal(status, 200);
    assert.partialDeepStrictEqual(body, { created: [{ name: "more" }], changed: [{ name: "shop" }] });
    assert.partialDeepStrictEqual((await ask("GET", "/services/shop")).body, { port: 81, retries: 1 });
  });

  test("have each write of a batch applied once, and all of them together", async () => {
    const writes = Array.from({ length: 300 }, (_, index) => ({
      method: "PUT",
      path: `/services/s${index}`,
      body: { host: "a" },
    }));
    assert.equal((await ask("POST", "/batch", { json: { writes } })).status, 200);
    assert.deepEqual(
      store.written.map(({ writes: done }) => done.length),
      [300],
    );
  });

  const refused: readonly (readonly [ask: string, message: string])[] = [
    ["POST /services", "cannot create 'services' entities when not using a database"],
    ["PUT /services/shop", "cannot create or update 'services' entities by 'name' when not using a database"],
    [
      `PUT /services/${deriveId("services", "x")}`,
      "cannot create or update 'services' entities when not using a database",
    ],
    ["PATCH /services/shop", "cannot update 'services' entities by 'name' when not using a database"],
    ["DELETE /services/shop", "cannot remove 'services' entities by 'name' when not using a database"],
    [`DELETE /plugins/${deriveId("plugins", "x")}`, "cannot remove 'plugins' entities when not using a database"],
    ["POST /services/shop/routes", "cannot create 'routes' entities when not using a database"],
  ];
  for (const [line, message] of refused) {
    test(`get Kong's message from a read-only store for ${line}: ${message}`, async () => {
      store.refuse.push({ kind: "read-only" });
      const [method = "", path = ""] = line.split(" ");
      const { status, body } = await ask(method, path, { json: bodyFor(path) });
      assert.deepEqual([status, body], [405, { code: 12, name: "operation unsupported", message }]);
    });
  }

  test("set the option force of the store only if they request force=1", async () => {
    await ask("PATCH", "/services/shop", { json: { port: 82 } });
    await ask("PATCH", "/services/shop?force=1", { json: { port: 83 } });
    assert.deepEqual(
      store.written.map(({ options }) => options),
      [
        { plan: false, force: false, author: "anonymous (loopback)" },
        { plan: false, force: true, author: "anonymous (loopback)" },
      ],
    );
  });

  test("get the managers and the paths of the fields that they cannot change", async () => {
    const owners = [
      { manager: "argocd", field: "spec.port" },
      { manager: "kubectl", field: "spec.host" },
    ];
    store.refuse.push({ kind: "owned", what: "Service shop", owners });
    const { status, body } = await ask("PATCH", "/services/shop", { json: { port: 81 } });
    assert.equal(status, 409);
    assert.deepEqual((body as { owners: object }).owners, owners);
    assert.match(
      (body as { message: string }).message,
      /^Service shop: spec\.port, spec\.host are managed by argocd, kubectl/,
    );
  });
});

const bodyFor = (path: string): object => (path.endsWith("/routes") ? { paths: ["/"] } : { host: "a" });
