/** The response headers that report on the nodes, and the start and stop of the listener. */
import assert from "node:assert/strict";
import { mkdir, rm } from "node:fs/promises";
import { describe, test } from "node:test";
import { readSettings, type WaitResponse } from "@sluice/model";
import { waitFor } from "../../../../tools/process/index.ts";
import { adminSettings } from "../../settings/commands/admin.ts";
import { openStore } from "../../stores/open.ts";
import { startAdmin } from "../index.ts";
import { type AdminRig, servedWait, silentLog, startAdminRig } from "../testing.ts";
import { programmedHeaders } from "./response-headers.ts";

const using = async (run: (rig: AdminRig) => Promise<void>, env: Record<string, string> = {}): Promise<void> => {
  const rig = await startAdminRig(env);
  try {
    await run(rig);
  } finally {
    await rig.close();
  }
};
const problem = { kind: "Service", namespace: "default", name: "a", reason: "Conflicted", message: "é\r\nhas it" };

describe("the response to a write", () => {
  const table: readonly (readonly [string, Partial<WaitResponse> | null, Record<string, string>])[] = [
    ["every node serves the write", {}, { "X-Sluice-Programmed": "true" }],
    ["a node is silent", { silent: ["b"] }, { "X-Sluice-Programmed": "true", "X-Sluice-Silent": "b" }],
    [
      "nodes lag",
      { programmed: false, lagging: ["a", "b"] },
      { "X-Sluice-Programmed": "pending", "X-Sluice-Lagging": "a, b" },
    ],
    [
      "a resource is not served",
      { programmed: false, problems: [problem] },
      { "X-Sluice-Programmed": "false", "X-Sluice-Problem": "Service default/a: Conflicted: ?has it" },
    ],
    [
      "no operator can be queried",
      null,
      { "X-Sluice-Programmed": "pending", "X-Sluice-Problem": "no source reports what the nodes serve" },
    ],
  ];
  for (const [when, answer, headers] of table) {
    test(`reports that ${when}`, () =>
      assert.deepEqual(programmedHeaders(answer && { ...servedWait, ...answer }), headers));
  }

  test("keeps Kong's status code, whatever the nodes do", () =>
    using(
      async (rig) => {
        rig.answer = { programmed: false, lagging: ["a"] };
        const lagging = await rig.ask("POST", "/services", { form: "name=a&host=a" });
        assert.deepEqual([lagging.status, lagging.headers["x-sluice-programmed"]], [201, "pending"]);
        assert.equal(lagging.headers["x-sluice-lagging"], "a");
        assert.match(String(lagging.headers["server-timing"]), /^nodes;dur=\d+\.\d$/);
        assert.equal(rig.waits[0]?.timeout, 250);
        rig.answer = { programmed: false, problems: [problem] };
        const kept = await rig.ask("DELETE", "/services/a");
        assert.deepEqual([kept.status, kept.headers["x-sluice-programmed"]], [204, "false"]);
        assert.deepEqual(
          rig.waits[1]?.resources.map(({ kind, deleted }) => [kind, deleted]),
          [["Service", true]],
        );
        rig.answer = null;
        const alone = await rig.ask("POST", "/services", { form: "name=a&host=a" });
        assert.deepEqual([alone.status, alone.headers["x-sluice-programmed"]], [201, "pending"]);
        const { body } = await rig.ask("GET", "/status");
        assert.partialDeepStrictEqual(body, { sluice: { fleet: { reachable: false } } });
      },
      { SLUICE_ADMIN_WAIT: "250ms" },
    ));
});

describe("the admin listener", () => {
  test("lets exactly one of several POSTs take a name", () =>
    using(async (rig) => {
      const form = "name=users&host=a";
      const replies = await Promise.all(Array.from({ length: 8 }, () => rig.ask("POST", "/services", { form })));
      assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409, 409, 409]);
    }));

  test("reports why the store is unavailable, and continues when it is back", () =>
    using(async (rig) => {
      await rm(rig.directory, { recursive: true });
      const form = "name=users&host=a";
      const { status, body } = await rig.ask("POST", "/services", { form });
      assert.equal(status, 500);
      assert.deepEqual(Object.keys(body as object), ["message"]);
      const { message } = body as { message: string };
      assert.match(message, /^the resources cannot be read or written: ENOENT: no such file or directory, /);
      await mkdir(rig.directory);
      assert.equal((await rig.ask("POST", "/services", { form })).status, 201);
    }));

  test("generates different keys of 32 letters and digits, and shows a ttl only for a key that expires", () =>
    using(async (rig) => {
      await rig.ask("POST", "/consumers", { form: "username=bob" });
      const keys = new Set<string>();
      for (let count = 0; count < 3; count++) {
        const { body } = await rig.ask("POST", "/consumers/bob/key-auth");
        const { key, ...rest } = body as { key: string };
        assert.match(key, /^[A-Za-z0-9]{32}$/);
        assert.ok(!Object.hasOwn(rest, "ttl"));
        keys.add(key);
      }
      assert.equal(keys.size, 3);
      const { body } = await rig.ask("POST", "/consumers/bob/key-auth", { form: "ttl=100" });
      const { ttl } = body as { ttl: number };
      assert.ok(ttl > 90 && ttl <= 100, "the remaining seconds");
    }));

  test("uses Kong's header names if a setting selects these names", () =>
    using(
      async (rig) => {
        const { headers } = await rig.ask("GET", "/");
        assert.equal(headers.server, "kong/3.9.1");
        assert.match(String(headers["x-kong-admin-latency"]), /^\d+$/);
        assert.equal(headers["x-sluice-admin-latency"], undefined);
      },
      { SLUICE_COMPAT: "kong" },
    ));

  test("closes while a write waits for nodes, and answers the write", async () => {
    const rig = await startAdminRig();
    rig.answer = "never";
    const reply = rig.ask("POST", "/services", { form: "name=a&host=a" });
    await waitFor(() => rig.waits.length === 1, { what: "the wait request to the operator" });
    await rig.close();
    const { status, headers } = await reply;
    assert.deepEqual([status, headers["x-sluice-programmed"]], [201, "pending"]);
  });

  const addresses = ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0", "127.0.0.1.example.org:0"];
  for (const address of addresses) {
    test(`refuses to listen on ${address}, because any client could write there`, async () => {
      const settings = readSettings(adminSettings, { SLUICE_ADMIN_LISTEN: address });
      assert.ok(settings.value);
      const opened = await openStore(
        { ...settings.value, store: "directory", directory: import.meta.dirname },
        silentLog,
      );
      await assert.rejects(startAdmin({ settings: settings.value, opened, log: silentLog, version: "1" }), {
        name: "SettingsError",
        message: /^SLUICE_ADMIN_LISTEN is .*callers are not authenticated.*SLUICE_ADMIN_TOKEN.*127\.0\.0\.1:8001/,
      });
      await opened.close();
    });
  }

  test("fails with an error that names the port when the port is taken", () =>
    using(async (rig) => {
      const { port } = rig.admin.address;
      const settings = readSettings(adminSettings, { SLUICE_ADMIN_LISTEN: `127.0.0.1:${port}` });
      assert.ok(settings.value);
      const opened = await openStore({ ...settings.value, store: "directory", directory: rig.directory }, silentLog);
      const start = startAdmin({ settings: settings.value, opened, log: silentLog, version: "1" });
      await assert.rejects(start, { code: "EADDRINUSE", port });
      await opened.close();
    }));
});
