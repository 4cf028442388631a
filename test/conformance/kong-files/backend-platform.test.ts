/**
 * The kind of configuration that self-hosted backend platforms ship with Kong, in a node that is started as users start
 * it. One test serves the file unchanged, except for the port of its upstreams; the other adds a Lua function first.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { startFileNode } from "../../../gateway/src/testing-file-node.ts";
import { builtProgram } from "../../../tools/build/programs.ts";
import { startProcess, temporaryFolder } from "../../../tools/process/index.ts";

const folder = temporaryFolder("backend-platform");
const program = await builtProgram("gateway");
const upstream = createServer(({ url, headers }, response) => response.end(JSON.stringify({ url, headers })));
before(() => new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve)));
after(() => {
  upstream.close();
  folder.remove();
});

const platform = () =>
  readFileSync(join(import.meta.dirname, "files/backend-platform.yml"), "utf8").replaceAll(
    ":9999",
    `:${(upstream.address() as AddressInfo).port}`,
  );

async function startNode(context: TestContext, file: string): Promise<string> {
  const env = { SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8" };
  const { node, proxy } = await startFileNode({ file, env, cwd: folder.path });
  context.after(() => node.stop());
  return `http://127.0.0.1:${proxy}`;
}

async function run(...args: readonly string[]) {
  const command = await startProcess(program, args, { name: "sluice", cwd: folder.path });
  const { code } = await command.ended();
  return { code, output: command.output() };
}

interface Row {
  readonly what: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  /** The URL that the upstream receives. */
  readonly url?: string;
  /** Headers that the upstream receives; undefined for a header that it must not receive. */
  readonly sent?: Readonly<Record<string, string | undefined>>;
}

const basic = `Basic ${Buffer.from("console:a-password").toString("base64")}`;

const rows: readonly Row[] = [
  { what: "a request to an open path without a key", path: "/auth/v1/verify?a=b", url: "/verify?a=b" },
  { what: "a request to a protected path without a key", path: "/rest/v1/items", status: 401 },
  {
    what: "a request to a protected path with an unknown key",
    path: "/rest/v1/items",
    headers: { apikey: "none" },
    status: 401,
  },
  {
    what: "a request with a public key, which the upstream also gets as the bearer token,",
    path: "/rest/v1/items?select=*",
    headers: { apikey: "pk_public" },
    url: "/items?select=*",
    sent: {
      authorization: "Bearer pk_public",
      apikey: "pk_public",
      "x-consumer-username": "public",
      "x-consumer-groups": undefined,
    },
  },
  {
    what: "a request with a secret key as the bearer token, which is replaced,",
    path: "/rest/v1/",
    headers: { apikey: "sk_service", authorization: "Bearer sk_service" },
    url: "/",
    sent: { authorization: "Bearer token-of-service", "x-consumer-username": "service" },
  },
  {
    what: "a request with the bearer token of a user, which the upstream gets unchanged,",
    path: "/rest/v1/items",
    headers: { apikey: "pk_public", authorization: "Bearer of-a-user" },
    sent: { authorization: "Bearer of-a-user" },
  },
  {
    what: "a request to the admin API with a public key",
    path: "/admin/v1/users",
    headers: { apikey: "pk_public" },
    status: 403,
  },
  {
    what: "a request to the admin API with a secret key, which the upstream does not get,",
    path: "/admin/v1/users",
    headers: { apikey: "sk_service" },
    url: "/admin/users",
    sent: { apikey: undefined, "x-consumer-groups": "admin" },
  },
  { what: "a request to an internal path", path: "/internal/metrics", headers: { apikey: "sk_service" }, status: 403 },
  { what: "a request to the console without a password", path: "/project", status: 401 },
  {
    what: "a request to the console with a wrong password",
    path: "/project",
    headers: { authorization: "Basic eDp5" },
    status: 401,
  },
  {
    what: "a request to the console with its password, which the upstream does not get,",
    path: "/project",
    headers: { authorization: basic },
    url: "/project",
    sent: { authorization: undefined, "x-consumer-username": "CONSOLE", "x-credential-identifier": "console" },
  },
];

async function check(proxy: string, { path, headers = {}, status = 200, url, sent = {} }: Row) {
  const response = await fetch(`${proxy}${path}`, { headers: { ...headers, origin: "https://app.example" } });
  const body = await response.text();
  assert.equal(response.status, status, body);
  if (status !== 200) return;
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  const seen = JSON.parse(body) as { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  if (url !== undefined) assert.equal(seen.url, url);
  for (const [name, value] of Object.entries(sent)) assert.equal(seen.headers[name], value, name);
}

test("the configuration of a backend platform is served unchanged", async (context) => {
  writeFileSync(join(folder.path, "kong.yml"), platform());
  assert.deepEqual(await run("config", "parse", "kong.yml"), { code: 0, output: "parse successful\n" });
  assert.equal((await run("migrate", "kong.yml")).code, 0);
  const proxy = await startNode(context, "kong.yml");
  for (const row of rows) await context.test(`${row.what} is answered ${row.status ?? 200}`, () => check(proxy, row));
  await context.test("a preflight request needs no key", async () => {
    const headers = { origin: "https://app.example", "access-control-request-method": "POST" };
    const { status } = await fetch(`${proxy}/rest/v1/items`, { method: "OPTIONS", headers });
    assert.equal(status, 200);
  });
});

test("a post-function is refused by name, and after `sluice migrate` only the service that has it answers 503", async (context) => {
  const lua = [
    "      - name: post-function",
    "        config:",
    "          access:",
    '            - kong.service.request.clear_header("X-Internal")',
  ];
  const next = "\n  - name: closed\n";
  writeFileSync(join(folder.path, "lua.yml"), platform().replace(next, `\n${lua.join("\n")}${next}`));
  const parsed = await run("config", "parse", "lua.yml");
  assert.equal(parsed.code, 1);
  assert.match(
    parsed.output,
    /plugin 'post-function' not enabled: Sluice does not run Lua; write the function as a plugin/,
  );
  const migrated = await run("migrate", "lua.yml", "--write", "sluice.yml", "--format", "file");
  assert.equal(migrated.code, 3);
  const proxy = await startNode(context, "sluice.yml");
  for (const row of rows) {
    const closed = row.path.startsWith("/admin/v1/") && row.headers !== undefined;
    await context.test(`${row.what} is answered ${closed ? 503 : (row.status ?? 200)}`, () =>
      check(proxy, closed ? { ...row, status: 503 } : row),
    );
  }
});
