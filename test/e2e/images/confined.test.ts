import assert from "node:assert/strict";
import { chownSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { Redis } from "ioredis";
import pg from "pg";
import { findImports, packageOf } from "../../../tools/check/find-imports.ts";
import { isTest } from "../../../tools/check/imports.ts";
import { sourceFiles } from "../../../tools/check/source-files.ts";
import { type UnpackedImage, unpackImages } from "../../../tools/images/archive/unpack.ts";
import { type Container, startContainer } from "../../../tools/images/confine.ts";
import { dependencyClosureOf } from "../../../tools/images/contents/lock.ts";
import { type ImageWorkload, imageUser, workloads } from "../../../tools/images/contents/workloads.ts";
import type { ImageName } from "../../../tools/images/images.ts";
import { freePort, temporaryFolder, waitFor } from "../../../tools/process/index.ts";

let all: Readonly<Record<ImageName, UnpackedImage>>;
before(async () => {
  all = await unpackImages();
});

interface Says extends Omit<Container, "name" | "ready" | "volumes"> {
  readonly image: ImageName;
  readonly does: string;
  readonly words: readonly string[];
  readonly says: RegExp;
  /** The exit code of a container that ends by itself. Undefined: the container keeps running. */
  readonly code?: number;
}

const declarative = JSON.stringify({ _format_version: "3.0", services: [{ name: "up", url: "http://up.example" }] });

/** A kubeconfig with an API server's address at which no process listens. */
const kubeconfig = JSON.stringify({
  clusters: [{ name: "none", cluster: { server: "https://127.0.0.1:1" } }],
  users: [{ name: "nobody", user: { token: "none" } }],
  contexts: [{ name: "none", context: { cluster: "none", user: "nobody" } }],
  "current-context": "none",
});
const noCluster = { files: { "/etc/kubeconfig": kubeconfig }, says: /"kind":"Route".*ECONNREFUSED/ };
const inCluster = { KUBECONFIG: "/etc/kubeconfig", SLUICE_STORE: "cluster", SLUICE_ADMIN_LISTEN: "127.0.0.1:0" };
const operator = { KUBECONFIG: "/etc/kubeconfig", SLUICE_OPERATOR_LISTEN: "127.0.0.1:0" };

const commands: readonly Says[] = [
  { image: "gateway", does: "prints its version", words: ["version"], code: 0, says: /^\d+\.\d+\.\d+\n$/ },
  { image: "gateway", does: "reports the missing setting", words: ["gateway"], code: 1, says: /SLUICE_PUSH_TOKEN/ },
  {
    image: "gateway",
    does: "reports the package that sluice start needs and the image lacks",
    words: ["start"],
    env: { SLUICE_STORE: "file", SLUICE_FILE: "/tmp/sluice.json" },
    code: 1,
    says: /^sluice: this command needs the package @sluice\/crds, which is not installed.*\n$/,
  },
  {
    image: "gateway",
    does: "creates the tables of an embedded database",
    words: ["migrations", "bootstrap"],
    env: { SLUICE_DATABASE_DIR: "/tmp/database" },
    code: 0,
    says: /database bootstrapped/,
  },
  {
    image: "admin",
    does: "converts a file into custom resources",
    words: ["config", "convert", "/etc/sluice.json", "--to", "custom-resources"],
    files: { "/etc/sluice.json": declarative },
    code: 0,
    says: /^apiVersion: sluice\.dev\/v1alpha1\nkind: Service$/m,
  },
  { image: "admin", does: "reports that no API server answers", words: ["admin"], env: inCluster, ...noCluster },
  { image: "operator", does: "reports the missing setting", words: [], code: 1, says: /SLUICE_PUSH_TOKEN/ },
  {
    image: "operator",
    does: "reports that no API server answers",
    words: [],
    env: { ...operator, SLUICE_PUSH_TOKEN: "t".repeat(40) },
    ...noCluster,
  },
  {
    image: "user-api",
    does: "lists its commands",
    words: ["help"],
    code: 0,
    says: /usage: sluice-user-api \[COMMAND\]/,
  },
  { image: "user-api", does: "reports the missing setting", words: ["serve"], code: 1, says: /GATEWAY_SECRET must be/ },
];

// Two tests run at a time, because some containers wait for connections to fail.
describe("a container of the image", { concurrency: 2 }, () => {
  for (const { image, does, code, says, ...container } of commands) {
    test(`${image} ${does}`, async (context) => {
      const started = await running(context, image, { ...container, volumes: { "/tmp": null } });
      if (code !== undefined) assert.equal((await started.ended()).code, code, started.tail());
      await started.waitForOutput(says);
    });
  }

  for (const workload of Object.values(workloads)) {
    test(`${workload.name} has every package that its programs import, and loads them`, async (context) => {
      const imports = importsOf(workload);
      assert.ok(imports.size > 0);
      const importing = (specifiers: readonly string[]) =>
        specifiers.map((specifier) => `await import(${JSON.stringify(specifier)});\n`).join("");
      // A module in each workspace folder, because Node looks for a package from the module that imports it. One
      // process loads all, so that it loads a package that several folders import only once.
      const modules = Object.fromEntries(
        [...imports].map(([folder, specifiers]) => [`/sluice/${folder}/load.js`, importing(specifiers)]),
      );
      const entry = `/sluice/${workload.workspace}/load-all.js`;
      const [node = "", ...flags] = all[workload.name].runAs.Entrypoint.slice(0, -1);
      const container = await running(context, workload.name, {
        entrypoint: [node, ...flags, entry],
        words: [],
        files: { ...modules, [entry]: importing(Object.keys(modules)) },
      });
      assert.equal((await container.ended()).code, 0, container.tail());
    });
  }
});

/** Images have only the parts of this package that Sluice loads. The tests without an API server load these parts. */
const PARTIAL = "@kubernetes/client-node";

const sources = sourceFiles().filter(({ path }) => !isTest(path));

/** What the sources of a workspace folder import, for values; read once, because most workloads share their folders. */
const importsBelow = new Map<string, readonly string[]>();
function importedBelow(folder: string): readonly string[] {
  const known = importsBelow.get(folder);
  if (known !== undefined) return known;
  const found = findImports(sources.filter(({ path }) => path.startsWith(`${folder}/src/`)));
  const specifiers = found.filter(({ names }) => names?.length !== 0).map(({ specifier }) => specifier);
  const distinct = [...new Set(specifiers)];
  importsBelow.set(folder, distinct);
  return distinct;
}

/** The packages that a workload's programs import, by workspace folder. Packages in `without` are left out. */
function importsOf({ workspace, without }: ImageWorkload): ReadonlyMap<string, readonly string[]> {
  const left: readonly string[] = [...without, PARTIAL];
  const isLoaded = (specifier: string) => {
    const name = packageOf(specifier);
    return name !== undefined && !left.includes(name);
  };
  const folders = dependencyClosureOf(workspace, without).workspaces.map(({ path }) => path);
  return new Map(folders.map((folder) => [folder, importedBelow(folder).filter(isLoaded)]));
}

/** Starts a container that is stopped at the end of the test. */
async function running(context: TestContext, image: ImageName, container: Omit<Container, "name">) {
  const started = await startContainer(all[image], { name: image, ...container });
  context.after(async () => {
    await started.stop();
    started.remove();
  });
  return started;
}

test("gateway answers on its proxy and status ports, and stops gracefully", async (context) => {
  const [proxy, status] = [await freePort(), await freePort()];
  const services = [{ name: "up", url: "http://127.0.0.1:9", routes: [{ name: "route", paths: ["/there"] }] }];
  const gateway = await running(context, "gateway", {
    ready: `http://127.0.0.1:${status}/status`,
    files: { "/etc/sluice/sluice.json": JSON.stringify({ _format_version: "3.0", services }) },
    env: {
      SLUICE_SOURCE: "file",
      SLUICE_FILE: "/etc/sluice/sluice.json",
      SLUICE_WORKERS: "2",
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
    },
  });
  const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${proxy}${path}`)).status;
  await waitFor(async () => (await statusOf("/there")) === 502, { what: "the route" });
  assert.deepEqual([await statusOf("/there"), await statusOf("/elsewhere")], [502, 404]);
  assert.equal((await gateway.stop()).code, 0, gateway.tail());
});

test("sluice serves a write at once with an embedded database in its only volume, requires the token that it has created there, and stops gracefully", async (context) => {
  const folder = temporaryFolder("volume");
  context.after(folder.remove);
  chownSync(folder.path, imageUser.id, imageUser.id);
  const [proxy, admin, status] = [await freePort(), await freePort(), await freePort()];
  const volumes = { "/var/lib/sluice": folder.path };
  const env = {
    SLUICE_PROXY_LISTEN: `0.0.0.0:${proxy}`,
    SLUICE_ADMIN_LISTEN: `0.0.0.0:${admin}`,
    SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
    SLUICE_ADMIN_URL: `http://127.0.0.1:${admin}`,
  };
  const sluice = await running(context, "sluice", { ready: `http://127.0.0.1:${admin}/readyz`, volumes, env });
  const [, token] = await Promise.all([
    sluice.waitForOutput(/the admin API requires the token in this file, which has been created/),
    readFile(join(folder.path, "admin-token"), "utf8"),
  ]);
  const send = async (path: string, body: object, headers: Record<string, string>) => {
    const init = {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    };
    return (await fetch(`http://127.0.0.1:${admin}${path}`, init)).status;
  };
  const service = { name: "up", url: "http://127.0.0.1:9" };
  assert.equal(await send("/services", service, {}), 401);
  const authorized = { "kong-admin-token": token.trim() };
  assert.equal(await send("/services", service, authorized), 201);
  assert.equal(await send("/services/up/routes", { paths: ["/there"] }, authorized), 201);
  assert.equal((await fetch(`http://127.0.0.1:${proxy}/there`)).status, 503, "loopback is not an allowed upstream");
  const inside = async (entrypoint: readonly string[]) => {
    const ended = await running(context, "sluice", { entrypoint, words: [], volumes, env });
    return [(await ended.ended()).code, ended.output()] as const;
  };
  const [code, shown] = await inside(["/usr/local/bin/sluice", "status"]);
  assert.equal(code, 0, shown);
  assert.match(shown, /served as written/);
  const [, ...check] = all.sluice.runAs.Healthcheck?.Test ?? [];
  const at = (port: number) => check.map((word) => word.replace("8007", `${port}`).replace("8001", "1"));
  assert.deepEqual([(await inside(at(status)))[0], (await inside(at(1)))[0]], [0, 1]);
  assert.equal((await sluice.stop()).code, 0, sluice.tail());
});

test("user-api answers a query with an embedded database below /tmp, and stops gracefully", async (context) => {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const userApi = await running(context, "user-api", {
    ready: `${address}/readyz`,
    volumes: { "/tmp": null },
    env: {
      SLUICE_USER_API_MODE: "development",
      SLUICE_USER_API_LISTEN: `127.0.0.1:${port}`,
      SLUICE_USER_API_DATA: "/tmp/users",
    },
  });
  const answer = await fetch(`${address}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: "{ __typename }" }),
  });
  assert.deepEqual(await answer.json(), { data: { __typename: "Query" } });
  assert.equal((await userApi.stop()).code, 0, userApi.tail());
});

test("test-postgres creates its data once, admits only clients with the password, and keeps the data that clients write", async (context) => {
  const folder = temporaryFolder("volume");
  context.after(folder.remove);
  chownSync(folder.path, imageUser.id, imageUser.id);
  const env = { POSTGRES_PASSWORD: "secret", POSTGRES_USER: "users", POSTGRES_DB: "directory" };
  const volumes = { "/var/lib/postgresql": folder.path, "/tmp": null };
  for (const kept of [0, 1]) {
    const port = await freePort();
    const ready = /ready to accept connections/;
    const postgres = await running(context, "test-postgres", { ready, env, volumes, words: ["-p", `${port}`] });
    const client = new pg.Client(`postgres://users:secret@127.0.0.1:${port}/directory`);
    await client.connect();
    await client.query("CREATE TABLE IF NOT EXISTS kept (at int)");
    const { rows } = await client.query("WITH was AS (SELECT count(*)::int AS n FROM kept) SELECT n FROM was");
    await client.query("INSERT INTO kept VALUES (1)");
    await client.end();
    assert.deepEqual(rows, [{ n: kept }]);
    await assert.rejects(new pg.Client(`postgres://users:wrong@127.0.0.1:${port}/directory`).connect(), /password/);
    postgres.signal("SIGINT");
    assert.equal((await postgres.ended()).code, 0, postgres.tail());
  }
});

test("test-postgres without a password names the variables that set it", async (context) => {
  const container = await running(context, "test-postgres", { volumes: { "/var/lib/postgresql": null, "/tmp": null } });
  assert.equal((await container.ended()).code, 1);
  assert.match(container.output(), /POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE/);
});

test("test-redis starts with the given arguments, and answers", async (context) => {
  const port = await freePort();
  const words = ["redis-server", "--port", `${port}`, "--requirepass", "secret", "--save", ""];
  await running(context, "test-redis", { ready: /Ready to accept connections/, words, volumes: { "/data": null } });
  const client = new Redis({ port, password: "secret", maxRetriesPerRequest: 0 });
  context.after(() => client.disconnect());
  assert.equal(await client.ping(), "PONG");
});
