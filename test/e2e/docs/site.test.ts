/** The documentation site, built and opened in a real Chromium that reaches no other server. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { startProcess } from "../../../tools/process/index.ts";
import { launchBrowser } from "../../../tools/programs/browser.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".txt": "text/plain; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

describe("the documentation site", () => {
  let browser: Browser;
  let site: string;
  const foreign = new Set<string>();
  const complaints: string[] = [];

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const file = join(repositoryRoot, "tools/docs/dist", pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    try {
      response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" });
      response.end(readFileSync(file));
    } catch {
      response.writeHead(404).end();
    }
  });

  before(async () => {
    // Dead links fail the build.
    const build = await startProcess("npm", ["run", "docs:build"], { name: "npm run docs:build", cwd: repositoryRoot });
    const { code } = await build.ended();
    assert.equal(code, 0, build.tail());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    site = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    server.close();
  });

  /** Opens a page, and refuses every request to another server. */
  async function open(path: string, colorScheme: "light" | "dark" = "light"): Promise<Page> {
    const page = await browser.newPage({ colorScheme });
    page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())));
    page.on("pageerror", (error) => void complaints.push(error.message));
    await page.route("**/*", (route) => {
      const { origin } = new URL(route.request().url());
      if (origin === site || origin === "null") return route.continue();
      foreign.add(origin);
      return route.abort();
    });
    await page.goto(`${site}${path}`);
    return page;
  }

  test("the navigation has the tutorials, and a link of a page leads to the page that it names", async () => {
    const page = await open("/docs/index.html");
    for (const group of ["Tutorials", "How-to guides", "Reference", "Explanation", "Decisions"])
      await page.locator(".VPSidebar h2").getByText(group, { exact: true }).waitFor();
    await page.locator("main").getByRole("link", { name: "Errors", exact: true }).click();
    await page.getByRole("heading", { name: "404 no Route matched with those values" }).waitFor();
    await page.close();
  });

  test("a link to a source file shows the file, and a link to a folder lists its files", async () => {
    const page = await open("/ARCHITECTURE.html");
    const source = page.locator('main a[href$="gateway/src/proxy/pipeline.ts.txt"]').first();
    const response = await page.request.get(`${site}${await source.getAttribute("href")}`);
    assert.equal(await response.text(), readFileSync(join(repositoryRoot, "gateway/src/proxy/pipeline.ts"), "utf8"));
    await page.goto(`${site}/source/crds/samples/index.html`);
    await page.getByRole("link", { name: "users.yaml" }).click();
    await page.getByText("kind: Route").waitFor();
    await page.close();
  });

  test("headings have the same anchors as on GitHub", async () => {
    const page = await open("/docs/explanation/consistency.html#what-is-guaranteed");
    await page.locator("h2#what-is-guaranteed").waitFor();
    await page.close();
  });

  for (const scheme of ["light", "dark"] as const) {
    test(`diagrams are drawn in the ${scheme} theme`, async () => {
      const page = await open("/docs/explanation/consistency.html", scheme);
      await page.locator(".mermaid-diagram svg").nth(1).waitFor();
      assert.equal(await page.locator("html.dark").count(), scheme === "dark" ? 1 : 0);
      assert.equal(await page.getByText("Syntax error").count(), 0);
      await page.close();
    });
  }

  test("the search finds a page by a word of its text", async () => {
    const page = await open("/index.html");
    await page.locator(".VPNavBarSearch button").first().click();
    await page.locator("#localsearch-input").fill("ring-balancer");
    await page.locator(".VPLocalSearchBox a.result").getByText("failure to get a peer").first().waitFor();
    await page.close();
  });

  test("no page reports an error or sends a request to another server", () => {
    assert.deepEqual([...foreign], []);
    assert.deepEqual(complaints, []);
  });
});
