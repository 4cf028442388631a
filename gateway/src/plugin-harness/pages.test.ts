/** Runs the plugins from documentation pages in the real proxy. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { importPlugins } from "@sluice/model";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { startTestGateway, type TestGatewayOptions } from "./index.ts";

interface PageOptions extends Pick<TestGatewayOptions, "upstream" | "consumers"> {
  /** The index, among the page's blocks of TypeScript, of the block that becomes `index.ts`. Default: 0. */
  readonly block?: number;
  /** The index of the block that becomes `schema.ts`. Default: no such file is written. */
  readonly schema?: number;
}

/** A gateway with the plugin that a page shows in its blocks of TypeScript. */
async function startFromPage(page: string, { block = 0, schema, ...options }: PageOptions = {}) {
  const blocks = [...readFileSync(join(repositoryRoot, page), "utf8").matchAll(/```ts\n([\s\S]*?)```/g)];
  const folder = temporaryFolder("page");
  after(folder.remove);
  const file = join(folder.path, "index.ts");
  writeFileSync(join(folder.path, "package.json"), '{"type":"module"}');
  writeFileSync(file, blocks[block]?.[1] ?? "");
  if (schema !== undefined) writeFileSync(join(folder.path, "schema.ts"), blocks[schema]?.[1] ?? "");
  const [plugin = assert.fail()] = await importPlugins([pathToFileURL(file).href]);
  return startTestGateway({ plugin, ...options });
}

/** The request's headers as the test upstream received them. */
async function sentHeaders(response: Response): Promise<Readonly<Record<string, string>>> {
  return ((await response.json()) as { readonly headers: Readonly<Record<string, string>> }).headers;
}

test("the first example on the page about middleware redirects without a session, and edits headers", async () => {
  await using gateway = await startFromPage("docs/how-to/write-middleware.md");
  const refused = await gateway.fetch("/", { redirect: "manual" });
  assert.deepEqual([refused.status, refused.headers.get("location")], [302, "/login"]);
  const response = await gateway.fetch("/", { headers: { cookie: "session=1" } });
  const headers = await sentHeaders(response);
  assert.deepEqual([headers["x-session"], response.headers.get("cache-control")], ["yes", "private"]);
});

test("the second example on the page about middleware changes JSON bodies and no others", async () => {
  const encodings: unknown[] = [];
  await using gateway = await startFromPage("docs/how-to/write-middleware.md", {
    block: 1,
    upstream({ url, headers }, response) {
      encodings.push(headers["accept-encoding"]);
      response.setHeader("content-type", url === "/json" ? "application/json" : "text/plain");
      response.writeHead(203).end('{"internal":1,"n":2}');
    },
  });
  for (const [path, expected] of [
    ["/json", '{"n":2}'],
    ["/text", '{"internal":1,"n":2}'],
  ] as const) {
    const response = await gateway.fetch(path);
    assert.deepEqual([response.status, await response.text()], [203, expected]);
  }
  assert.deepEqual(encodings, [undefined, undefined]);
});

test("the plugin on the page about Lua functions does what the pre-function on that page does", async () => {
  await using gateway = await startFromPage("docs/how-to/replace-lua-functions.md");
  assert.equal(await (await gateway.fetch("/ping")).text(), "pong");
  const rows: readonly (readonly [sent: Record<string, string>, authorization?: string, apikey?: string])[] = [
    [{ apikey: "k" }, "Bearer k"],
    [{ apikey: "k", authorization: "Basic x" }, "Basic x", "k"],
    [{}],
  ];
  for (const [sent, ...expected] of rows) {
    const { authorization, apikey } = await sentHeaders(await gateway.fetch("/", { headers: sent }));
    assert.deepEqual([authorization, apikey], [expected[0], expected[1]]);
  }
});

test("the plugin on the page about authentication accepts only tokens of consumers that are not paused, as the page says", async () => {
  await using gateway = await startFromPage("docs/how-to/write-an-authentication-plugin.md", {
    schema: 0,
    block: 1,
    consumers: [
      { username: "acme", credentials: [{ key: "acme-token-of-16-characters", config: { plan: "gold" } }] },
      { username: "zenith", credentials: [{ key: "zenith-token-of-16-characters", config: { paused: true } }] },
    ],
  });
  const rows: readonly (readonly [token: string | null, status: number, upstream?: object])[] = [
    [null, 401],
    ["acme-token", 401],
    ["zenith-token-of-16-characters", 403],
    [
      "acme-token-of-16-characters",
      200,
      { "x-consumer-username": "acme", "x-plan": "gold", "x-partner-token": undefined },
    ],
  ];
  for (const [token, status, upstream] of rows) {
    const response = await gateway.fetch("/", { headers: token === null ? {} : { "x-partner-token": token } });
    assert.equal(response.status, status, String(token));
    if (upstream === undefined) continue;
    const headers = await sentHeaders(response);
    for (const [name, value] of Object.entries(upstream)) assert.equal(headers[name], value, name);
  }
});
