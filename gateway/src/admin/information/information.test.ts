/** Information about the listener, with a read-only file and with a writable one. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { pluginNames, registerPlugins } from "@sluice/model";
import { deviceTokenFacts } from "../../../../test/plugins/device-token.ts";
import { firstKeyPair as pair } from "../../../../tools/programs/pairs.ts";
import { type FileRig, startFileRig } from "../testing-file.ts";

const file = `_format_version: "3.0"
services:
- name: users
  host: users.example
  plugins:
  - name: prometheus
  - name: cors
`;

registerPlugins([deviceTokenFacts]);

const ids = {
  plugin: "11111111-1111-4111-8111-111111111111",
  key: "22222222-2222-4222-8222-222222222222",
  target: "33333333-3333-4333-8333-333333333333",
  certificate: "44444444-4444-4444-8444-444444444444",
  acl: "55555555-5555-4555-8555-555555555555",
  authority: "77777777-7777-4777-8777-777777777777",
  groupPlugin: "66666666-6666-4666-8666-666666666666",
  credential: "99999999-9999-4999-8999-999999999999",
  subjectName: "88888888-8888-4888-8888-888888888888",
};

/** Entities of each kind, with every reference that they may have. */
const everything = JSON.stringify({
  _format_version: "3.0",
  certificates: [{ id: ids.certificate, ...pair, snis: [{ name: "base.example" }] }],
  ca_certificates: [{ id: ids.authority, cert: pair.cert }],
  services: [{ name: "base", url: "https://base.example", client_certificate: ids.certificate }],
  routes: [{ name: "base", paths: ["/base"], service: "base" }],
  consumers: [
    {
      username: "base",
      keyauth_credentials: [{ id: ids.key, key: "a-key" }],
      jwt_secrets: [{ key: "issuer", secret: "s" }],
      basicauth_credentials: [{ username: "ann", password: "s" }],
      hmacauth_credentials: [{ username: "ann", secret: "s" }],
      mtls_auth_credentials: [{ id: ids.subjectName, subject_name: "a@b", ca_certificate: ids.authority }],
      acls: [{ id: ids.acl, group: "admins" }],
      groups: [{ name: "gold" }],
      plugin_credentials: [{ id: ids.credential, plugin: deviceTokenFacts.name, key: "token" }],
    },
  ],
  consumer_groups: [{ name: "gold" }],
  vaults: [{ name: "env", prefix: "base-env" }],
  graphql_documents: [{ name: "base", manifest: '{"users":"{ users }"}' }],
  plugins: [
    { id: ids.groupPlugin, name: "rate-limiting", config: { minute: 5 }, consumer_group: "gold" },
    { id: ids.plugin, name: "rate-limiting", config: { minute: 5 }, service: "base", route: "base", consumer: "base" },
  ],
  upstreams: [
    {
      name: "base.upstream",
      client_certificate: ids.certificate,
      targets: [{ id: ids.target, target: "10.0.0.1:80" }],
    },
  ],
});

/** The value of each URL parameter. */
const filling: Readonly<Record<string, string>> = {
  number: "0",
  services: "base",
  routes: "base",
  consumers: "base",
  upstreams: "base.upstream",
  snis: "base.example",
  certificates: ids.certificate,
  ca_certificates: ids.authority,
  plugins: ids.plugin,
  plugin_id: ids.plugin,
  cache_key: "0".repeat(64),
  "key-auths": ids.key,
  "key-auth": ids.key,
  jwts: "issuer",
  jwt: "issuer",
  "basic-auths": "ann",
  "basic-auth": "ann",
  "hmac-auths": "ann",
  "hmac-auth": "ann",
  "mtls-auths": ids.subjectName,
  "mtls-auth": ids.subjectName,
  acls: ids.acl,
  "plugin-credentials": ids.credential,
  consumer_groups: "gold",
  vaults: "base-env",
  graphql_documents: "base",
  targets: ids.target,
  address: "10.0.0.1:80",
  tag: "blue",
  name: "services",
  level: "debug",
};

type InformationBody = Record<string, Record<string, unknown>>;

describe("the information of the admin listener", () => {
  let rig: FileRig;
  const bodyOf = async (path: string) => (await rig.ask("GET", path)).body as InformationBody;
  before(async () => {
    rig = await startFileRig(file, { SLUICE_ADMIN_TOKEN: "" });
  });
  after(() => rig.close());

  test("contains Kong's release, the available plugins, the plugins in use, and database off for a read-only file", async () => {
    const { version, edition, plugins, configuration, node_id, sluice } = await bodyOf("/");
    assert.deepEqual([version, edition], ["3.9.1", "community"]);
    assert.deepEqual(Object.keys(plugins?.available_on_server ?? {}), [...pluginNames()]);
    assert.deepEqual(plugins?.enabled_in_cluster, ["cors", "prometheus"]);
    assert.match(String(node_id), /^[0-9a-f-]{36}$/);
    assert.partialDeepStrictEqual(configuration, { database: "off", role: "traditional" });
    assert.partialDeepStrictEqual(sluice, { product: "Sluice", version: "1.2.3", store: "file" });
  });

  test("contains a hash of the configuration, and no database for a read-only file", async () => {
    const status = await bodyOf("/status");
    assert.match(String(status.configuration_hash), /^[0-9a-f]{32}$/);
    assert.notEqual(status.configuration_hash, "0".repeat(32));
    assert.equal(status.database, undefined);
  });

  test("lists the URLs, sorted segment by segment", async () => {
    const { data } = (await bodyOf("/endpoints")) as unknown as { data: string[] };
    for (const url of [
      "/",
      "/config",
      "/explain",
      "/requests",
      "/traffic",
      "/access-log",
      "/revisions/{number}/rollback",
      "/debug-tokens",
      "/usage/credentials",
      "/services/{services}/routes/{routes}",
      "/key-auths/{key-auths}",
      "/schemas/{name}/validate",
    ])
      assert.ok(data.includes(url), url);
    assert.ok(data.indexOf("/services/{services}/routes") < data.indexOf("/snis"));
    assert.equal(new Set(data).size, data.length);
  });

  test("lists only URLs that are found with every method that they allow", async (context) => {
    const full = await startFileRig(everything, { SLUICE_ADMIN_TOKEN: "" });
    context.after(() => full.close());
    const { body } = await full.ask("GET", "/endpoints");
    const lost: string[] = [];
    // Left out: cached responses, which are on nodes, and custom resources. This listener has neither.
    const absent = /\{cache_key\}|^\/resources\//;
    for (const url of (body as { data: string[] }).data.filter((url) => !absent.test(url))) {
      const path = url
        .replace("plugins/{name}", "plugins/cors")
        .replace("plugin_credentials/{name}", `plugin_credentials/${deviceTokenFacts.name}`)
        .replace("vaults/{name}", "vaults/env")
        .replace("origins/{collection}/{id}", `origins/plugins/${ids.plugin}`)
        .replace("certificate-details/{id}", `certificate-details/${ids.certificate}`)
        .replace(/\/plugins\/\{plugins\}\/consumer_group$/, `/plugins/${ids.groupPlugin}/consumer_group`)
        .replace("{consumer_groups}/plugins/{plugins}", `{consumer_groups}/plugins/${ids.groupPlugin}`)
        .replaceAll(/\{([^}]+)\}/g, (_, name: string) => filling[name] ?? `no ${name} to ask for`);
      const { headers } = await full.ask("OPTIONS", path);
      for (const method of String(headers.allow).split(", ")) {
        const reply = await full.ask(method, `${path}?dry_run=1`, method === "GET" ? {} : { json: {} });
        if (reply.status === 404) lost.push(`${method} ${url}: ${JSON.stringify(reply.body)}`);
      }
    }
    assert.deepEqual(lost, []);
  });

  test("does not list URLs of features that only Kong has", async () => {
    const { data } = (await bodyOf("/endpoints")) as unknown as { data: string[] };
    for (const url of ["/partials", "/consumers/{consumers}/oauth2", "/routes/{routes}/filter-chains"])
      assert.ok(!data.includes(url), url);
  });

  test("lists the plugins, and includes timers and the log level", async () => {
    assert.deepEqual(await bodyOf("/plugins/enabled"), { enabled_plugins: [...pluginNames()].sort() });
    assert.partialDeepStrictEqual(await bodyOf("/timers"), { worker: { count: 1 } });
    assert.deepEqual(await bodyOf("/debug/node/log-level"), { message: "log level: info" });
  });

  for (const path of ["/workspaces", "/rbac", "/licenses", "/event-hooks", "/default/kong"]) {
    test(`does not exist at ${path}, which only Kong Enterprise has`, async () =>
      assert.equal((await rig.ask("GET", path)).status, 404));
  }
});

test("the admin listener masks secrets, and reports a writable file as a database that can be reached", async () => {
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
