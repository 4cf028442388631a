/** Kong's decK on every writable store: the established workflows of decK's users. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, type TestContext, test } from "node:test";
import { pluginNames } from "@sluice/model";
import { examplesOf } from "../../../tools/generate/plugin-examples.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { neededConfigs } from "../../plugins/filled-configs.ts";
import { getUrl, type NamedUpstream, startNamedUpstream } from "../../product/client.ts";
import { createDeck, type Deck, noChanges } from "./deck.ts";
import { authorityId, certificateId, everyKind, nextDay } from "./every-kind.ts";
import {
  countEntities,
  emptyKongFile,
  fileOfSize,
  type KongFile,
  kongPlugin,
  rateLimits,
  withSortedMembers,
} from "./kong-file.ts";
import { databaseStore, type RunningStore, writableStores } from "./stores.ts";

/** Names of two services: one for the first and one for the second example on the page of each plugin. */
const exampleTitles = ["first-examples", "second-examples"];

/**
 * The config of the plugin in the example with this index on the plugin's page. If the example does not configure the
 * plugin: a config with only the required fields.
 */
function configOfExample(name: string, at: number): object {
  const found: object[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if ("name" in value && value.name === name && "config" in value) found.push(Object(value.config));
    for (const member of Object.values(value)) visit(member);
  };
  visit(examplesOf(name)[at]?.config);
  return found[0] ?? neededConfigs[name] ?? {};
}

/**
 * The number of services in the large file, which has seven entities per service. Its 1,200 plugins are listed on two
 * pages.
 */
const large = 400;

test("decK leaves credentials of a plugin of your own as they are until it deletes the consumer that has them", async (context) => {
  const folder = temporaryFolder("deck-credentials");
  context.after(folder.remove);
  const plugin = join(folder.path, "token");
  mkdirSync(plugin);
  writeFileSync(
    join(plugin, "schema.ts"),
    `import { definePluginFacts, record } from "@sluice/plugin-sdk";
    const schema = record({}, { description: "A token." });
    export default definePluginFacts({
      name: "token", version: "1.0.0", priority: 1, protects: true, schema, credentials: { schema },
    });`,
  );
  writeFileSync(
    join(plugin, "index.ts"),
    `import facts from "./schema.ts";
    export default { ...facts, phases: () => ({}) };`,
  );
  const running = await databaseStore({ SLUICE_PLUGINS: plugin }).start();
  context.after(() => running.stop());
  const deck = createDeck(running.admin, join(folder.path, "deck"));
  const file: KongFile = { ...emptyKongFile, consumers: [{ username: "ann" }] };
  await deck.change("sync", file);
  const body = JSON.stringify({ plugin: "token", key: "token-of-ann" });
  const headers = { "content-type": "application/json" };
  const url = `${running.admin}/consumers/ann/plugin-credentials`;
  assert.equal((await fetch(url, { method: "POST", headers, body })).status, 201);
  const keys = async () => {
    const { data } = (await (await fetch(`${running.admin}/plugin-credentials`)).json()) as { data: { key: string }[] };
    return data.map(({ key }) => key);
  };
  assert.deepEqual(await deck.change("diff", file), noChanges);
  assert.deepEqual(
    (await deck.change("sync", { ...emptyKongFile, consumers: [{ username: "ann", tags: ["t"] }] })).updated,
    ["consumer ann"],
  );
  assert.doesNotMatch(JSON.stringify(await deck.dump()), /token-of-ann/);
  assert.deepEqual(await keys(), ["token-of-ann"]);
  assert.deepEqual((await deck.change("sync", emptyKongFile)).deleted, ["consumer ann"]);
  assert.deepEqual(await keys(), []);
});

test("decK leaves GraphQL documents as they are", async (context) => {
  const folder = temporaryFolder("deck-documents");
  context.after(folder.remove);
  const running = await databaseStore().start();
  context.after(() => running.stop());
  const deck = createDeck(running.admin, join(folder.path, "deck"));
  const url = `${running.admin}/graphql_documents/web`;
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ manifest: '{"users":"query OfWeb { users }"}' });
  assert.equal((await fetch(url, { method: "PUT", headers, body })).status, 200);
  const file: KongFile = { ...emptyKongFile, consumers: [{ username: "ann" }] };
  await deck.change("sync", file);
  assert.deepEqual(await deck.change("diff", file), noChanges);
  assert.doesNotMatch(JSON.stringify(await deck.dump()), /OfWeb/);
  await deck.change("sync", emptyKongFile);
  assert.equal((await fetch(url)).status, 200);
});

for (const store of writableStores) {
  describe(`decK on a ${store.name} store`, () => {
    const folder = temporaryFolder("deck");
    let upstream: NamedUpstream;
    let running: RunningStore;
    let deck: Deck;
    let file: KongFile;

    before(async () => {
      upstream = await startNamedUpstream("users");
      running = await store.start();
      deck = createDeck(running.admin, join(folder.path, store.name));
      file = everyKind({ upstreamPort: upstream.port });
    });
    after(async () => {
      await running?.stop();
      await upstream?.close();
      folder.remove();
    });
    beforeEach(() => deck.reset());

    test("ping finds a Kong version that decK knows", async () => {
      const said = "Successfully connected to Kong!\nKong version:  3.9.1\n";
      assert.deepEqual(await deck.run(["ping"]), { code: 0, stdout: said, stderr: "" });
    });

    test("validate accepts a valid file, and reports every error of an invalid file", async () => {
      assert.deepEqual(await deck.run(["validate"], file), { code: 0, stdout: "", stderr: "" });
      const services = [{ name: "bad", host: "bad host", routes: [{ name: "worse", paths: ["no-slash"] }] }];
      const { code, stderr } = await deck.run(["validate"], { ...emptyKongFile, services });
      assert.equal(code, 1, stderr);
      assert.match(stderr, /validate entity 'services \(bad\)': .*schema violation \(host: invalid value: bad host\)/);
      assert.match(stderr, /validate entity 'routes \(worse\)': .*schema violation \(paths\.1: should start with: \//);
    });

    test("sync creates all entities, and then reports no difference", async () => {
      const { created, ...others } = await deck.change("sync", file);
      assert.deepEqual(others, { updated: [], deleted: [] });
      const total = Object.values(countEntities(file)).reduce((sum, count) => sum + count, 0);
      assert.equal(created.length, total, created.join("\n"));
      assert.deepEqual(await deck.change("diff", file), noChanges);
      assert.deepEqual(await deck.change("sync", file), noChanges);
      assert.equal((await deck.run(["diff", "--non-zero-exit-code"], file)).code, 0);
    });

    test("dump returns the synced configuration", async () => {
      await deck.change("sync", file);
      assert.deepEqual(comparable(await deck.dump(["--skip-defaults"])), comparable(file));
      const whole = await deck.dump();
      assert.deepEqual(await deck.change("diff", whole), noChanges);
    });

    test("a file with every plugin in several configurations, and its dump, cause no difference once the file is synced", async () => {
      const services = exampleTitles.map((name, at) => ({
        name,
        host: "orders.test",
        plugins: pluginNames().map((used) => kongPlugin(used, configOfExample(used, at))),
      }));
      const plugins = pluginNames().map((name) => kongPlugin(name, neededConfigs[name] ?? {}));
      const all: KongFile = { ...emptyKongFile, services, plugins };
      const expected = services.length + plugins.length * (1 + services.length);
      assert.equal((await deck.change("sync", all)).created.length, expected);
      assert.deepEqual(await deck.change("diff", all), noChanges);
      assert.deepEqual(await deck.change("diff", await deck.dump()), noChanges);
      await deck.reset();
    });

    test("routes for tcp, tls and tls_passthrough cause no difference once they are synced, and are dumped as they are", async () => {
      const logged = kongPlugin("file-log", { path: "/dev/null" }, { protocols: ["tcp", "tls"] });
      const restricted = kongPlugin("ip-restriction", { deny: ["192.0.2.1"] }, { protocols: ["tls_passthrough"] });
      const streams: KongFile = {
        ...emptyKongFile,
        services: [
          {
            ...{ name: "database", host: "postgres.internal", port: 5432, protocol: "tcp" },
            routes: [
              { name: "both", protocols: ["tcp", "tls"], snis: ["db.example"], destinations: [{ port: 9000 }] },
              { name: "sources", protocols: ["tcp"], sources: [{ ip: "10.0.0.0/8" }, { ip: "192.0.2.7", port: 1 }] },
            ],
            plugins: [logged],
          },
          {
            ...{ name: "mail", host: "mail.internal", port: 465, protocol: "tls", tls_verify: false },
            routes: [{ name: "passed", protocols: ["tls_passthrough"], snis: ["mail.example"], plugins: [restricted] }],
          },
        ],
      };
      assert.equal((await deck.change("sync", streams)).created.length, 7);
      assert.deepEqual(await deck.change("diff", streams), noChanges);
      assert.deepEqual(comparable(await deck.dump(["--skip-defaults"])), comparable(streams));
      assert.deepEqual(await deck.change("diff", await deck.dump()), noChanges);
      const services = streams.services?.slice(0, 1).map((service) => ({
        ...service,
        plugins: [kongPlugin("file-log", { path: "/dev/null" }, { protocols: ["http"] })],
      }));
      const { code, stderr } = await deck.run(["sync"], { ...emptyKongFile, ...(services && { services }) });
      assert.equal(code, 1);
      assert.match(
        stderr,
        /protocols: must match the protocols of at least one route pointing to this Plugin's service/,
      );
      await deck.reset();
    });

    for (const [what, config] of rateLimits) {
      test(`a file whose rate-limiting has ${what} causes no difference once it is synced`, async () => {
        const dumped: KongFile = { ...emptyKongFile, plugins: [kongPlugin("rate-limiting", config)] };
        assert.deepEqual((await deck.change("sync", dumped)).created, ["plugin rate-limiting (global)"]);
        assert.deepEqual(await deck.change("diff", dumped), noChanges);
        const whole = await deck.dump();
        assert.deepEqual(await deck.change("diff", whole), noChanges);
        assert.deepEqual((await deck.change("sync", whole)).updated, []);
      });
    }

    test("a dumped hash of a password causes no difference, and a plain password is stored as a hash", async () => {
      const file = (password: string): KongFile => ({
        ...emptyKongFile,
        consumers: [{ username: "ann", basicauth_credentials: [{ username: "ann", password }] }],
      });
      const hashed = file("0123456789abcdef0123456789abcdef01234567");
      assert.deepEqual((await deck.change("sync", hashed)).created, [
        "basic-auth ann for consumer ann",
        "consumer ann",
      ]);
      assert.deepEqual(await deck.change("diff", hashed), noChanges);
      assert.deepEqual(await deck.change("diff", await deck.dump()), noChanges);
      await deck.reset();
      await deck.change("sync", file("open sesame"));
      const whole = await deck.dump();
      assert.match(JSON.stringify(whole), /"password":"\$scrypt\$/);
      assert.deepEqual(await deck.change("diff", whole), noChanges);
      // decK does not compare passwords.
      assert.deepEqual(await deck.change("diff", file("open sesame")), noChanges);
    });

    test("a dump with ids restores all entities with their ids", async () => {
      await deck.change("sync", file);
      const whole = await deck.dump(["--with-id"]);
      await deck.reset();
      await deck.change("sync", whole);
      assert.deepEqual(withSortedMembers(await deck.dump(["--with-id"])), withSortedMembers(whole));
    });

    test("sync of a changed file makes exactly the changes of the file", async () => {
      await deck.change("sync", file);
      const changed = nextDay(file);
      const expected = {
        created: ["consumer-group bronze", "consumer-group-consumer ann", "route new", "vault new-env"],
        updated: [
          `certificate ${certificateId}`,
          "consumer-group gold",
          "plugin prometheus (global)",
          "route users",
          "service private",
          "service users",
          "target 127.0.0.1:9001",
          "vault my-env",
        ],
        deleted: [
          `ca-certificate ${authorityId}`,
          "consumer bob@example.test",
          "consumer-group silver",
          "consumer-group-consumer ann",
          "key-auth f_ann for consumer ann",
          "plugin cors for service users",
          "plugin rate-limiting for consumer-group gold",
          "route nowhere",
          "target 127.0.0.1:9002",
          "vault other-env",
        ],
      };
      assert.deepEqual(await deck.change("diff", changed), expected);
      assert.deepEqual(await deck.change("sync", changed), expected);
      assert.deepEqual(comparable(await deck.dump(["--skip-defaults"])), comparable(changed));
    });

    test("apply adds and changes entities, and deletes no entity", async () => {
      await deck.change("sync", file);
      const services = [{ name: "more", host: "more.test" }];
      const more: KongFile = { ...emptyKongFile, services };
      assert.deepEqual(await deck.change("apply", more), { ...noChanges, created: ["service more"] });
      assert.deepEqual(
        await deck.change("diff", { ...file, services: [...(file.services ?? []), ...services] }),
        noChanges,
      );
    });

    test("with --select-tag, entities without the tag are not changed", async () => {
      await deck.change("sync", file);
      const tag = ["--select-tag", "team-b"];
      const services = [{ name: "b", host: "b.test", routes: [{ name: "b", paths: ["/b"] }] }];
      const theirs: KongFile = { ...emptyKongFile, _info: { select_tags: ["team-b"] }, services };
      assert.deepEqual((await deck.change("sync", theirs)).deleted, []);
      assert.deepEqual(await deck.change("diff", theirs), noChanges);
      assert.deepEqual(countEntities(await deck.dump(tag)), { services: 1, routes: 1 });
      assert.deepEqual((await deck.reset(tag)).deleted, ["route b", "service b"]);
      assert.deepEqual(await deck.change("diff", file), noChanges);
    });

    test("upstream_headers, which decK does not know, stay when decK changes the service, are not dumped, and are refused in a file", async () => {
      await deck.change("sync", file);
      const url = `${running.admin}/services/users`;
      const upstream_headers = [{ name: "X-Gateway-Secret", value: "the-secret" }];
      const headers = { "content-type": "application/json" };
      await fetch(url, { method: "PATCH", headers, body: JSON.stringify({ upstream_headers }) });
      assert.deepEqual(await deck.change("diff", file), noChanges);
      await deck.change("sync", nextDay(file));
      const service = (await (await fetch(url)).json()) as Readonly<Record<string, unknown>>;
      assert.deepEqual([service.retries, service.upstream_headers], [3, upstream_headers]);
      assert.doesNotMatch(JSON.stringify(await deck.dump()), /the-secret/);
      const services = [{ name: "users", host: "users.test", upstream_headers }];
      const { code, stderr } = await deck.run(["sync"], { ...emptyKongFile, services });
      assert.deepEqual([code, /Additional property upstream_headers is not allowed/.test(stderr)], [1, true], stderr);
    });

    test("a refused sync reports Kong's messages, and changes no entity", async () => {
      const services = [{ name: "bad", host: "bad host" }];
      const { code, stderr } = await deck.run(["sync"], { ...emptyKongFile, services });
      assert.equal(code, 1);
      assert.match(stderr, /schema violation \(host: invalid value: bad host\)/);
      assert.deepEqual(countEntities(await deck.dump()), {});
    });

    test("a synced configuration is served at once", async () => {
      const users = (key?: string) => getUrl(`${running.proxy}/users/1`, key === undefined ? {} : { apikey: key });
      await deck.change("sync", file);
      assert.deepEqual((await users("key-of-ann")).body, { name: "users", path: "/1" });
      assert.equal((await users()).status, 401);
      await deck.reset();
      assert.equal((await users("key-of-ann")).status, 404);
    });

    test(`a file of ${7 * large} entities is synced, compared, changed, dumped and removed`, async (context) => {
      const whole = fileOfSize(large);
      const counts = {
        services: large,
        routes: 2 * large,
        plugins: 3 * large,
        consumers: large / 2,
        keyauth_credentials: large / 2,
      };
      assert.deepEqual(countEntities(whole), counts);
      const { created } = await timed(context, "sync", () => deck.change("sync", whole));
      assert.equal(created.length, 7 * large);
      assert.deepEqual(await timed(context, "diff", () => deck.change("diff", whole)), noChanges);
      const dumped = await timed(context, "dump", () => deck.dump(["--skip-defaults"]));
      assert.deepEqual(withSortedMembers(dumped), withSortedMembers(whole));
      const services = (whole.services ?? [])
        .slice(1)
        .map((service, index) => (index === 7 ? { ...service, port: 9 } : service));
      const { updated, deleted } = await timed(context, "a change", () => deck.change("sync", { ...whole, services }));
      assert.deepEqual(updated, ["service service-8"]);
      assert.equal(deleted.length, 6);
      assert.equal((await timed(context, "reset", () => deck.reset())).deleted.length, 7 * large - 6);
      assert.deepEqual(countEntities(await deck.dump()), {});
    });
  });
}

/**
 * The file in a canonical form. decK's output contains the defaults of health checks. Therefore the form keeps only one
 * of their values, the one that `everyKind` sets.
 */
function comparable(file: KongFile): unknown {
  const upstreams = (file.upstreams ?? []).map(({ healthchecks, ...upstream }) => {
    const { passive } = healthchecks as { passive: { unhealthy: { http_failures: number } } };
    return { ...upstream, failures: passive.unhealthy.http_failures };
  });
  return withSortedMembers({ ...file, upstreams });
}

/** Runs a step, prints its duration, and resolves to its result. */
async function timed<T>(context: TestContext, what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const value = await work();
  context.diagnostic(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return value;
}
