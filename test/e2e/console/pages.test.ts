/** Every page of the web console: its content, axe's rules in both colour schemes, narrow and wide, and other settings. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { createDirectoryClient } from "@sluice/crds";
import type { Page } from "playwright-core";
import { builtProgram } from "../../../tools/build/programs.ts";
import { freePort, startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import {
  CONSOLE_TOKEN,
  headingOf,
  KEY_OF_ANN,
  shopDocument,
  startConsole,
  violationsOf,
} from "../../product/console-pages.ts";

const rig = await startConsole(shopDocument);
after(() => rig.close());
await rig.ask("POST", "/services", { name: "made", host: "made.example" });

/** Addresses with the heading of the page, and texts that it shows. */
const pages: readonly (readonly [at: string, title: string | RegExp, shows: readonly string[]])[] = [
  ["#/", "Overview", ["serving", "No problem is known."]],
  ["#/explain?url=http://shop.example/shop", "Explain a request", ["Method", "The gateway answers"]],
  ["#/entities/services", "Services", ["shop", "stock.example", "team-a"]],
  ["#/entities/routes?search=shop", "Routes", ["shop.example", "/shop"]],
  ["#/entities/consumers", "Consumers", ["ann"]],
  ["#/entities/plugins/new?name=rate-limiting", "New plugin", ["minute", "redis"]],
  ["#/entities/key-auths", "API keys", ["never", "2026", "ann"]],
  ["#/history", "History", ["file", "admin token"]],
  ["#/history/changes", "History", ["service made", "host"]],
  ["#/history/1", "revision 1", ["made.example"]],
  ["#/topology", "Topology", ["priority 7", "http://stock.example", "127.0.0.1:9"]],
  ["#/traffic", "Traffic", ["Requests", "Latency"]],
  ["#/nowhere", "Page not found", []],
];
/** The visible controls that Tab does not reach. Tab reaches one radio button of each group, so most are left out. */
async function controlsWithoutTab(page: Page): Promise<readonly string[]> {
  const count = await page.evaluate<number>(`
    globalThis.reached = new Set();
    document.addEventListener("focusin", ({ target }) => reached.add(target));
    globalThis.controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")].filter(
      (one) => one.checkVisibility() && !one.matches(":disabled, [type=radio]:not(:checked)"));
    controls.length`);
  assert.ok(count > 0);
  for (let pressed = 0; pressed < count + 10; pressed++) await page.keyboard.press("Tab");
  return page.evaluate("controls.filter((one) => one.isConnected && !reached.has(one)).map((one) => one.outerHTML)");
}

for (const [at, title, shows] of pages) {
  test(`the page ${at} shows the configuration; Tab reaches every control, and axe's rules find no violation`, async () => {
    const page = await rig.open({ at });
    await headingOf(page, title);
    for (const text of shows) await page.locator("main").getByText(text).filter({ visible: true }).first().waitFor();
    assert.deepEqual(await controlsWithoutTab(page), []);
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 800 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await violationsOf(page), [], `${colorScheme}, ${width} pixels`);
      }
      assert.ok((await page.evaluate<number>("document.documentElement.scrollWidth")) <= width, `${width} pixels`);
    }
    await page.close();
  });
}

test("traffic lists a refused request with its reason, and leads to the explanation", async () => {
  const refused = await fetch(`${rig.proxy}/first/x`);
  assert.equal(refused.status, 401);
  const page = await rig.open({ at: "#/traffic" });
  const row = page.getByRole("row").filter({ hasText: "/first/x" });
  await row.getByText("No API key found in request").waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await row.getByRole("link", { name: "Explain the request to /first/x" }).click();
  await headingOf(page, "Explain a request");
  await page.getByRole("button", { name: "Explain", exact: true }).click();
  await page.getByRole("heading", { name: "The gateway answers 401" }).waitFor();
  await page.close();
});

test("live requests appear while they are watched, and one of them is traced with the shown command and explained", async () => {
  const page = await rig.open({ at: "#/traffic" });
  const live = page.getByRole("region", { name: "Live requests", exact: true });
  await live.getByLabel("Status of the requests").selectOption("4");
  await live.getByLabel("Shortest duration in milliseconds").fill("soon");
  await live.getByRole("button", { name: "Start" }).press("Enter");
  await live.getByText(/min_latency/).waitFor();
  await live.getByRole("button", { name: "Stop" }).press("Enter");
  await live.getByLabel("Shortest duration in milliseconds").fill("");
  const watching = page.waitForResponse(/access-log\?status=4$/);
  await live.getByRole("button", { name: "Start" }).press("Enter");
  await watching;
  await fetch(`${rig.proxy}/first/live`, { headers: { apikey: KEY_OF_ANN } });
  await fetch(`${rig.proxy}/first/live?apikey=unknown`);
  const row = live.getByRole("row").filter({ hasText: "/first/live" });
  await row.getByText("key-auth").waitFor();
  assert.equal(await row.count(), 1, "502 is not among the statuses from 400 to 499");
  assert.ok(await row.getByRole("link", { name: "first", exact: true }).isVisible());
  assert.deepEqual(await violationsOf(page), []);
  await live.getByRole("button", { name: "Stop" }).press("Enter");
  await row.getByRole("button", { name: "Trace the request to /first/live" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: "Trace a request" });
  assert.equal(await dialog.getByLabel("URL").inputValue(), `${rig.proxy}/first/live`);
  await dialog.getByRole("button", { name: "Make a debug token" }).press("Enter");
  const command = await dialog.getByLabel("Command", { exact: true }).inputValue();
  const { stdout } = await promisify(execFile)("sh", ["-c", command]);
  await dialog.getByLabel("Output of the command").fill(stdout);
  await dialog.getByRole("row", { name: /plugin-key-auth answered/ }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.keyboard.press("Escape");
  await row.getByRole("link", { name: "Explain the request to /first/live" }).press("Enter");
  await headingOf(page, "Explain a request");
  assert.equal(await page.getByLabel("URL").inputValue(), `${rig.proxy}/first/live`);
  await page.close();
});

test("a CA certificate is known by its subject and its expiry", async () => {
  const notAfter = new Date(Date.now() + 90 * 86_400_000);
  const { certificate } = await makeAuthority("partners", { notAfter });
  await rig.ask("POST", "/ca_certificates", { cert: certificate });
  const title = new RegExp(`CN=partners, expires ${notAfter.toISOString().slice(0, 10)}`);
  const page = await rig.open({ at: "#/entities/ca_certificates" });
  await page.getByRole("link", { name: title }).click();
  await headingOf(page, title);
  await page.close();
});

test("the page of a resource without a valid entity has its text, its problem, and what to change", async (context) => {
  const folder = temporaryFolder("resources");
  context.after(folder.remove);
  const spec = "{plugin: rate-limiting, config: {minute: many, redis: {host: r, password: hidden-password}}}";
  const metadata = { name: "limit", namespace: "shop" };
  writeFileSync(
    join(folder.path, "limit.yaml"),
    `apiVersion: sluice.dev/v1alpha1\nkind: Plugin\nmetadata: ${JSON.stringify(metadata)}\nspec: ${spec}\n`,
  );
  const client = createDirectoryClient({ directory: folder.path, log: { info() {}, warn() {}, error() {} } });
  context.after(() => client.close());
  const condition = { reason: "Invalid", message: "spec.config.minute: expected an integer" };
  await client.setConditions({ ...metadata, kind: "Plugin" }, [{ type: "Accepted", status: "False", ...condition }], {
    manager: "operator",
  });
  const listen = `127.0.0.1:${await freePort()}`;
  const admin = await startProcess(await builtProgram("gateway"), ["admin"], {
    name: "sluice admin",
    ready: /admin is up/,
    env: {
      SLUICE_STORE: "directory",
      SLUICE_DIRECTORY: folder.path,
      SLUICE_ADMIN_LISTEN: listen,
      SLUICE_ADMIN_TOKEN: CONSOLE_TOKEN,
    },
  });
  context.after(() => admin.stop());
  // The overview would ask for the traffic, which this listener answers with 503, because it has no operator.
  const page = await rig.open({ base: `http://${listen}`, at: "#/resources/Plugin/shop/limit" });
  await headingOf(page, "Plugin shop/limit");
  await page.getByText("expected an integer").waitFor();
  await page.getByText(`Correct the resource, in ${join(folder.path, "limit.yaml")}:1:1.`).waitFor();
  const text = await page.getByRole("region", { name: "The text of Plugin shop/limit" }).innerText();
  assert.match(text, /"minute": "many"/);
  assert.doesNotMatch(text, /hidden-password/);
  assert.deepEqual(await violationsOf(page), []);
  await page.close();
});

test("the page does not poll for live requests while it is hidden", async () => {
  const page = await rig.open({ at: "#/traffic" });
  await page.getByRole("button", { name: "Start" }).click();
  const polled = () =>
    page.waitForResponse(/access-log/, { timeout: 2500 }).then(
      () => true,
      () => false,
    );
  assert.equal(await polled(), true);
  const setHidden = (hidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
      document.dispatchEvent(new Event("visibilitychange"))`,
    );
  await setHidden(true);
  await polled();
  assert.equal(await polled(), false);
  await setHidden(false);
  assert.equal(await polled(), true);
  await page.close();
});

test("the overview names the invalid line of the file until the line is corrected", async () => {
  const text = readFileSync(rig.file, "utf8");
  writeFileSync(rig.file, text.replace('"weight": 10', '"weight": "ten"').replace('"weight":10', '"weight":"ten"'));
  const page = await rig.open();
  const problem = page.getByRole("listitem").filter({ hasText: /sluice\.json:\d+:\d+ is not valid/ });
  await problem.getByText("expected an integer").waitFor();
  await problem.getByText("Correct this line").waitFor();
  assert.deepEqual(await violationsOf(page), []);
  writeFileSync(rig.file, text);
  await problem.waitFor({ state: "detached" });
  await page.close();
});

test("the overview names an unhealthy target and leads to its upstream, and the topology shows the target", async () => {
  const active = { unhealthy: { interval: 1, tcp_failures: 1 }, healthy: { interval: 1 }, type: "tcp" };
  await rig.ask("POST", "/upstreams", { name: "dead.example", healthchecks: { active } });
  await rig.ask("POST", "/upstreams/dead.example/targets", { target: "127.0.0.1:9" });
  await rig.ask("POST", "/services", { name: "dead", host: "dead.example" });
  const page = await rig.open();
  const problem = page.getByRole("listitem").filter({ hasText: "The target 127.0.0.1:9 of dead.example is unhealthy" });
  await waitFor(
    async () => {
      await page.reload();
      await headingOf(page, "Overview");
      return problem.waitFor({ timeout: 1000 }).then(
        () => true,
        () => false,
      );
    },
    { what: "the problem" },
  );
  assert.deepEqual(await violationsOf(page), []);
  await problem.getByRole("link", { name: "Open it" }).click();
  await headingOf(page, "upstream dead.example");
  await page.goto(`${rig.admin}/console/#/topology`);
  await page
    .getByRole("listitem", { name: /^dead,/ })
    .getByText("unhealthy, weight 100")
    .waitFor();
  await page.close();
  await rig.ask("DELETE", "/services/dead");
  await rig.ask("DELETE", "/upstreams/dead.example");
});

test("before an entity is deleted, the console shows what would be deleted with the entity", async () => {
  const page = await rig.open({ at: "#/entities/services" });
  await rig.ask("POST", "/services", { name: "gone", host: "gone.example" });
  await rig.ask("POST", "/services/gone/plugins", { name: "cors" });
  await page.reload();
  await page.getByRole("link", { name: "gone", exact: true }).click();
  await page.getByRole("button", { name: "Delete the service…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete gone?" });
  await dialog.getByText("plugin").first().waitFor();
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await headingOf(page, "Services");
  await page.getByText("stock.example").waitFor();
  assert.equal(await page.getByRole("link", { name: "gone", exact: true }).count(), 0);
  await page.close();
});

/** A server that passes the requests below a prefix on to the admin listener, without the prefix. */
async function startPrefixProxy(admin: string, prefix: string): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((incoming, outgoing) => {
    const { url = "", method, headers } = incoming;
    if (!url.startsWith(`${prefix}/`)) return void outgoing.writeHead(404).end();
    const passed = request(`${admin}${url.slice(prefix.length)}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

test("the console works below a path prefix of a proxy", async () => {
  const proxy = await startPrefixProxy(rig.admin, "/tools/sluice");
  const page = await rig.open({ base: proxy.url, at: "#/entities/services" });
  await page.getByRole("link", { name: "shop", exact: true }).click();
  await headingOf(page, "service shop");
  await page.close();
  proxy.close();
});

test("a read-only console shows everything and offers no change", async () => {
  const readOnly = await startConsole(
    { services: [{ name: "shop", url: "http://127.0.0.1:9" }] },
    { env: { SLUICE_CONSOLE: "read-only" } },
  );
  after(() => readOnly.close());
  const page = await readOnly.open({ at: "#/entities/services" });
  await page.getByRole("link", { name: "shop", exact: true }).click();
  await headingOf(page, "service shop");
  await page.getByText("The console is read-only").waitFor();
  assert.ok(await page.locator("#f-host").isDisabled());
  for (const name of [/^Plan/, /^Delete/]) assert.equal(await page.getByRole("button", { name }).count(), 0);
  assert.equal(await page.getByRole("link", { name: /^New/ }).count(), 0);
  await page.goto(`${readOnly.admin}/console/#/history/0`);
  await page.getByRole("link", { name: "Compare with the present state" }).waitFor();
  assert.equal(await page.getByRole("button", { name: /^Restore/ }).count(), 0);
  await page.close();
});

interface ScrollCost {
  /** Milliseconds of CPU that the page needs for a frame. */
  readonly cpu: number;
  /** Milliseconds of each animation frame of more than 50 ms, as the browser reports them. */
  readonly longFrames: readonly number[];
}

const SCROLLED_FRAMES = 100;

/** Scrolls the topology from its top. */
async function scrollCost(page: Page): Promise<ScrollCost> {
  const session = await page.context().newCDPSession(page);
  // CPU time, which other processes of the machine do not change.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const used = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
  };
  const before = await used();
  const longFrames = await page.evaluate<readonly number[]>(`new Promise((resolve) => {
    const area = document.querySelector(".topology");
    const found = [];
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) found.push(duration);
    });
    observer.observe({ type: "long-animation-frame" });
    area.scrollTo(0, 0);
    let left = ${SCROLLED_FRAMES};
    const step = () => {
      area.scrollBy(0, 400);
      left--;
      if (left > 0) requestAnimationFrame(step);
      // The browser reports a frame after it has ended.
      else requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
        for (const { duration } of observer.takeRecords()) found.push(duration);
        resolve(found);
      })));
    };
    requestAnimationFrame(step);
  })`);
  return { cpu: (((await used()) - before) * 1000) / SCROLLED_FRAMES, longFrames };
}

test("of 10,000 routes the topology draws only those in view, scrolls smoothly, and finds each one", async () => {
  const services = Array.from({ length: 1000 }, (_, service) => ({
    name: `service-${service}`,
    url: "http://127.0.0.1:9",
    routes: Array.from({ length: 10 }, (_, route) => ({
      name: `route-${service}-${route}`,
      paths: [`/${service}/${route}`],
    })),
  }));
  const large = await startConsole({ services });
  after(() => large.close());
  const page = await large.open({ at: "#/topology" });
  await page.getByText("1,000 services, 10,000 routes").waitFor();
  const drawn = () => page.locator(".group").count();
  assert.ok((await drawn()) < 30);
  await page.evaluate("document.querySelector('.topology').scrollTo(0, 168_012)");
  await page.getByText("service-500", { exact: true }).waitFor();
  assert.ok((await drawn()) < 30);
  // Other processes of the machine may delay frames, so the best of three runs counts, and some frames may be long.
  const costs = [await scrollCost(page), await scrollCost(page), await scrollCost(page)];
  const cpu = Math.min(...costs.map((cost) => cost.cpu));
  assert.ok(cpu < 16, `a frame needs ${cpu} ms of CPU, too much for 60 frames per second`);
  const long = Math.min(...costs.map(({ longFrames }) => longFrames.length));
  assert.ok(long < SCROLLED_FRAMES / 5, `${long} of ${SCROLLED_FRAMES} frames take more than 50 ms`);
  await page.getByRole("searchbox").fill("/999/7");
  await page.getByText("1 service, 1 route").waitFor();
  await page.getByRole("link", { name: "route-999-7" }).waitFor();
  await page.goto(`${large.admin}/console/#/entities/routes`);
  await page.getByText("10,000 routes").waitFor();
  assert.equal(await page.getByRole("row").count(), 101, "a page of the list has 100 rows");
  await page.close();
});

test("no page has broken the content security policy, or sent a request to another host", () => {
  assert.deepEqual(rig.complaints, []);
});
