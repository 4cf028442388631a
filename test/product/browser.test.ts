/**
 * In a real Chromium, a page of another origin reads responses if the cors plugin allows the origin, and only then. The
 * suite of GraphiQL uses the same browser and product.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder, waitFor } from "../../tools/process/index.ts";
import { launchBrowser } from "../../tools/programs/browser.ts";
import { withUserDatabase } from "../../tools/programs/servers/embedded-database.ts";
import { startDirectoryProduct, usersIn } from "../../tools/start/directory-product.ts";
import { copySamples } from "../../tools/start/samples.ts";
import { getUrl } from "./client.ts";
import { freeAddresses } from "./free-addresses.ts";
import { graphiqlSuite } from "./graphiql.ts";
import { resourceObject, routeObject } from "./resources.ts";

const work = temporaryFolder("browser");
const chosen = await freeAddresses();
const folder = join(work.path, "resources");
copySamples({ samples: new URL("../../crds/samples", import.meta.url).pathname, folder, userApi: chosen.userApi });

const pages = createServer((_request, response) => {
  response.setHeader("content-type", "text/html");
  response.end("<title>another origin</title>");
});
await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
after(() => pages.close());
const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;

// The same user API behind a Service whose cors plugin allows only the page's origin, and behind a Service without
// this plugin.
const service = (name: string) => resourceObject("Service", name, { url: `http://${chosen.userApi}` });
const plugin = (name: string, target: string, config: object = {}) =>
  resourceObject("Plugin", `${target}-${name}`, {
    plugin: name,
    targetRefs: [{ kind: "Service", name: target }],
    config,
  });
const items = [
  service("chosen"),
  routeObject("chosen"),
  plugin("key-auth", "chosen"),
  plugin("cors", "chosen", { origins: [origin], credentials: true, exposed_headers: ["X-Sluice-Request-Id"] }),
  service("closed"),
  routeObject("closed"),
  plugin("key-auth", "closed"),
];
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "more.yaml"), items.map((item) => JSON.stringify(item)).join("\n---\n"));

await withUserDatabase(usersIn(work.path));
const product = await startDirectoryProduct({ chosen, work: work.path, folder });
after(() => product.stop());
const browser = await launchBrowser();
after(() => browser.close());
after(() => work.remove());

interface Seen {
  readonly status?: number;
  readonly body?: string;
  /** A response header that scripts can read only if it is exposed. */
  readonly id?: string | null;
  readonly error?: string;
}

/** Sends a request to the user API from a page of the other origin, as a script of the page would. */
async function askFromPage(path: string, { key = "demo-key", credentials = "omit" } = {}): Promise<Seen> {
  const page = await browser.newPage();
  try {
    await page.goto(origin);
    // The code is a string, because a function that runs in the page would need the types of the DOM.
    return await page.evaluate<Seen>(`
      fetch(${JSON.stringify(`http://${chosen.proxy}${path}/graphql`)}, {
        method: "POST",
        credentials: ${JSON.stringify(credentials)},
        headers: { apikey: ${JSON.stringify(key)}, "content-type": "application/json" },
        body: JSON.stringify({ query: "{ users { name } }" }),
      }).then(
        async (response) => ({
          status: response.status,
          body: await response.text(),
          id: response.headers.get("x-sluice-request-id"),
        }),
        (error) => ({ error: String(error) }),
      )`);
  } finally {
    await page.close();
  }
}

test("a page of any origin reads the response of the samples' route, after a preflight", async () => {
  const seen = await askFromPage("/users");
  assert.deepEqual(seen, { status: 200, body: '{"data":{"users":[]}}', id: null });
  const { body } = await getUrl(`http://${chosen.status}/metrics`);
  // key-auth would have answered the preflight with 401, so cors must have answered before key-auth ran.
  assert.doesNotMatch(String(body), /service="users".*code="401"/);
});

test("a page can also read an error response of the gateway", async () => {
  const seen = await askFromPage("/users", { key: "wrong-key" });
  assert.equal(seen.status, 401);
  assert.equal(JSON.parse(seen.body ?? "").message, "Unauthorized");
});

test("a page of the allowed origin may send credentials and reads the exposed header", async () => {
  const seen = await askFromPage("/chosen", { credentials: "include" });
  assert.deepEqual([seen.status, seen.error], [200, undefined]);
  assert.match(String(seen.id), /^[0-9a-f]{32}$/);
});

test("without the cors plugin, the browser does not let the page read the response to the same request", async () => {
  assert.deepEqual(await askFromPage("/closed"), { error: "TypeError: Failed to fetch" });
  const answer = await fetch(`http://${chosen.proxy}/closed/graphql?query={users{name}}`, {
    headers: { apikey: "demo-key" },
  });
  assert.deepEqual(await answer.json(), { data: { users: [] } });
});

test("when the allowed origins change, the browser refuses the response to a page that could read it before", async () => {
  const cors = plugin("cors", "users", { origins: ["http://elsewhere.example"] });
  writeFileSync(join(folder, "cors.yaml"), JSON.stringify(cors));
  await waitFor(async () => (await askFromPage("/users")).error !== undefined, { what: "the browser to refuse" });
});

// The tests above expect that there are no users.
graphiqlSuite(browser, chosen.userApi);
