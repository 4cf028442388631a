/** What the listener tells of itself, over a file that it may write and over one that it may not. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { pluginNames } from "@sluice/model";
import { type FileRig, startFileRig } from "../testing-file.ts";

const file = `_format_version: "3.0"
services:
- name: users
  host: users.example
  plugins:
  - name: prometheus
  - name: cors
`;

type Told = Record<string, Record<string, unknown>>;

describe("what the listener tells", () => {
  let rig: FileRig;
  const told = async (path: string) => (await rig.ask("GET", path)).body as Told;
  before(async () => {
    rig = await startFileRig(file, { SLUICE_ADMIN_TOKEN: "" });
  });
  after(() => rig.close());

  test("names Kong's release, its plugins and those in use, and a file that is only read as no database", async () => {
    const { version, edition, plugins, configuration, node_id, sluice } = await told("/");
    assert.deepEqual([version, edition], ["3.9.1", "community"]);
    assert.deepEqual(Object.keys(plugins?.available_on_server ?? {}), [...pluginNames]);
    assert.deepEqual(plugins?.enabled_in_cluster, ["cors", "prometheus"]);
    assert.match(String(node_id), /^[0-9a-f-]{36}$/);
    assert.partialDeepStrictEqual(configuration, { database: "off", role: "traditional" });
    assert.partialDeepStrictEqual(sluice, { product: "Sluice", version: "1.2.3", store: "file" });
  });

  test("tells a hash of the configuration, and no database", async () => {
    const status = await told("/status");
    assert.match(String(status.configuration_hash), /^[0-9a-f]{32}$/);
    assert.notEqual(status.configuration_hash, "0".repeat(32));
    assert.equal(status.database, undefined);
  });

  test("lists its URLs by segments", async () => {
    const { data } = (await told("/endpoints")) as unknown as { data: string[] };
    for (const url of [
      "/",
      "/config",
      "/services/{services}/routes/{routes}",
      "/key-auths/{key-auths}",
      "/schemas/{name}/validate",
    ])
      assert.ok(data.includes(url), url);
    assert.ok(data.indexOf("/services/{services}/routes") < data.indexOf("/snis"));
    assert.equal(new Set(data).size, data.length);
  });

  test("lists its plugins, and has timers and a log level for those who ask", async () => {
    assert.deepEqual(await told("/plugins/enabled"), { enabled_plugins: [...pluginNames].sort() });
    assert.partialDeepStrictEqual(await told("/timers"), { worker: { count: 1 } });
    assert.deepEqual(await told("/debug/node/log-level"), { message: "log level: info" });
  });

  for (const path of ["/workspaces", "/rbac", "/licenses", "/event-hooks", "/default/kong"]) {
    test(`has no ${path}`, async () => assert.equal((await rig.ask("GET", path)).status, 404));
  }
});

test("masks what is secret, and says that a file which it may write can be written", async () => {
  const rig = await startFileRig('_format_version: "3.0"\n', {
    SLUICE_ADMIN_TOKEN: "s3cret-token",
    SLUICE_FILE_WRITABLE: "true",
  });
  try {
    const headers = [["Kong-Admin-Token", "s3cret-token"]] as const;
    const { body } = await rig.ask("GET", "/", { headers });
    assert.partialDeepStrictEqual(body, {
      configuration: { database: "postgres", sluice: { SLUICE_ADMIN_TOKEN: "******", SLUICE_STORE: "file" } },
    });
    assert.doesNotMatch(JSON.stringify(body), /s3cret/);
    const { body: status } = await rig.ask("GET", "/status");
    assert.partialDeepStrictEqual(status, { database: { reachable: true }, configuration_hash: "0".repeat(32) });
  } finally {
    await rig.close();
  }
});
