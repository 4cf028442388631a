/** The web console in a real Chromium, over `sluice start` with a file: a rig for the suites of the console. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { buildConsole } from "../../tools/build/console.ts";
import { builtProgram } from "../../tools/build/programs.ts";
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { freePort, startProcess, temporaryFolder } from "../../tools/process/index.ts";
import { launchBrowser } from "../../tools/programs/browser.ts";

export const CONSOLE_TOKEN = "token-of-the-console-suite";

export const KEY_OF_ANN = "key-of-ann-which-is-secret";

/** A declarative file whose entities the pages show. */
export const shopDocument = {
  services: [
    {
      name: "shop",
      url: "http://127.0.0.1:9/v1",
      tags: ["team-a"],
      routes: [
        { name: "shop", hosts: ["shop.example"], paths: ["/shop"], methods: ["GET"] },
        { name: "first", paths: ["/first"], regex_priority: 7 },
      ],
      plugins: [
        { name: "key-auth" },
        { name: "rate-limiting", config: { hour: 100, redis: { password: "redis-secret" } } },
      ],
    },
    { name: "stock", host: "stock.example", routes: [{ name: "stock", paths: ["/stock"] }] },
  ],
  upstreams: [{ name: "stock.example", targets: [{ target: "127.0.0.1:9", weight: 10 }] }],
  consumers: [{ username: "ann", keyauth_credentials: [{ key: KEY_OF_ANN, tags: ["2026"] }] }],
  plugins: [{ name: "prometheus", config: { status_code_metrics: true, latency_metrics: true } }],
};

interface OpenOptions {
  /** The address of a page, such as `#/explain`. */
  readonly at?: string;
  /** Null: the page is not signed in. Default: the right token. */
  readonly token?: string | null;
  readonly colorScheme?: "light" | "dark";
  readonly width?: number;
  /** Default: the admin listener. */
  readonly base?: string;
}

export interface ConsoleRig {
  readonly admin: string;
  /** URL of the proxy. */
  readonly proxy: string;
  readonly browser: Browser;
  /** The path of the declarative file. */
  readonly file: string;
  /** Opens the console in a new tab: the console keeps its state in the tab. Equal options share a browser context. */
  open(options?: OpenOptions): Promise<Page>;
  /** Sends a request to the admin API with the token. */
  ask(method: string, path: string, json?: unknown): Promise<unknown>;
  /** Violations of the content security policy, errors of scripts, and requests to other hosts, of all pages so far. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

/** @param options.plugin Files of a plugin, by path. `sluice start` gets their folder as SLUICE_PLUGINS. */
export async function startConsole(
  document: object,
  { env = {}, plugin }: { env?: Readonly<Record<string, string>>; plugin?: Readonly<Record<string, string>> } = {},
): Promise<ConsoleRig> {
  buildConsole();
  const folder = temporaryFolder("console");
  const file = join(folder.path, "sluice.json");
  writeFileSync(file, JSON.stringify({ _format_version: "3.0", ...document }));
  for (const [path, text] of Object.entries(plugin ?? {})) {
    mkdirSync(join(folder.path, "plugin", path, ".."), { recursive: true });
    writeFileSync(join(folder.path, "plugin", path), text);
  }
  const [adminPort, proxy, status] = [await freePort(), await freePort(), await freePort()];
  const [started, browser] = await Promise.all([
    startProcess(await builtProgram("gateway"), ["start"], {
      name: "sluice start",
      ready: /sluice is up/,
      cwd: folder.path,
      env: {
        SLUICE_STORE: "file",
        SLUICE_FILE: file,
        SLUICE_FILE_WRITABLE: "true",
        SLUICE_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
        SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
        SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
        SLUICE_ADMIN_TOKEN: CONSOLE_TOKEN,
        SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
        ...(plugin && { SLUICE_PLUGINS: "./plugin" }),
        ...env,
      },
    }),
    launchBrowser(),
  ]);
  const admin = `http://127.0.0.1:${adminPort}`;
  const complaints: string[] = [];
  /** By options. A new context would load and compile the scripts of the console again. */
  const contexts = new Map<string, Promise<BrowserContext>>();
  async function newContext({ token, colorScheme, width }: Required<Omit<OpenOptions, "at" | "base">>) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } });
    context.setDefaultTimeout(10_000);
    if (token !== null)
      await context.addInitScript(`sessionStorage.setItem("sluice-console-token", ${JSON.stringify(token)})`);
    return context;
  }
  return {
    admin,
    proxy: `http://127.0.0.1:${proxy}`,
    browser,
    file,
    complaints,
    async open({ at = "#/", token = CONSOLE_TOKEN, colorScheme = "light", width = 1280, base = admin } = {}) {
      const key = JSON.stringify([token, colorScheme, width]);
      const context = contexts.get(key) ?? newContext({ token, colorScheme, width });
      contexts.set(key, context);
      const page = await (await context).newPage();
      // Violations of the policy and failed requests are console errors. A refused request is part of some tests.
      page.on("console", (message) => {
        if (message.type() === "error" && !/status of (4\d\d|501)/.test(message.text()))
          complaints.push(message.text());
      });
      page.on("pageerror", (error) => void complaints.push(error.message));
      page.on("request", (sent) => {
        if (new URL(sent.url()).origin !== new URL(base).origin) complaints.push(`request to ${sent.url()}`);
        if (sent.url().includes(CONSOLE_TOKEN)) complaints.push(`token in ${sent.url()}`);
      });
      await page.goto(`${base}/console/${at}`);
      return page;
    },
    async ask(method, path, json) {
      const response = await fetch(`${admin}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${CONSOLE_TOKEN}`,
          ...(json !== undefined && { "content-type": "application/json" }),
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      assert.ok(response.ok, `${method} ${path}: ${response.status}`);
      const text = await response.text();
      return text === "" ? undefined : JSON.parse(text);
    },
    async close() {
      await browser.close();
      await started.stop();
      folder.remove();
    },
  };
}

const axe = readFileSync(join(repositoryRoot, "node_modules/axe-core/axe.min.js"), "utf8");

/** The violations of axe-core's rules on the page, one line each. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate<
    readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
  >(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => ({ html })) })))",
  );
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Waits for the heading of a page. */
export const headingOf = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole("heading", { level: 1, name }).waitFor();
