/** Resource files that another program is still writing. */
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor } from "../../../../../tools/process/index.ts";
import type { Kind, ResourceClient } from "../../resource.ts";
import { createDirectoryClient } from "../client.ts";
import { writeAtomically } from "./atomic.ts";
import { SETTLE_MILLISECONDS } from "./file-settling.ts";

interface Bench {
  readonly directory: string;
  readonly client: ResourceClient;
  /** Messages of the log. */
  readonly log: readonly string[];
  write(path: string, text: string): void;
  another(): ResourceClient;
}

async function bench(run: (bench: Bench) => Promise<void>, unprotectWait?: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-patience-"));
  const lines: string[] = [];
  const tell = (_: object, message: string) => void lines.push(message);
  const log = { info: tell, warn: tell, error: tell };
  const clients: ResourceClient[] = [];
  const another = () => {
    const client = createDirectoryClient({ directory, log, ...(unprotectWait !== undefined && { unprotectWait }) });
    clients.push(client);
    return client;
  };
  const write = (path: string, text: string) => writeFileSync(join(directory, path), text);
  try {
    await run({ directory, client: another(), log: lines, write, another });
  } finally {
    for (const client of clients) await client.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

const service = (name: string): string =>
  `apiVersion: sluice.dev/v1alpha1\nkind: Service\nmetadata:\n  name: ${name}\nspec:\n  url: http://${name}.example\n`;
const ref = (name: string, kind: Kind = "Service") => ({ kind, namespace: "default", name });
const names = async (client: ResourceClient) =>
  (await client.list("Service")).map(({ metadata }) => metadata.name).join(",");

/** Names of the Services that a watch has delivered. */
async function following(client: ResourceClient): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  let isReported = false;
  client.watch(
    "Service",
    {
      replaced(resources) {
        for (const { metadata } of resources) held.add(metadata.name);
        isReported = true;
      },
      changed: ({ metadata }) => void held.add(metadata.name),
      removed: ({ metadata }) => void held.delete(metadata.name),
    },
    { signal: new AbortController().signal },
  );
  await waitFor(() => isReported, { what: "the first list" });
  return held;
}

test("a file that is empty while it is rewritten keeps its resources; a file that stays empty does not", () =>
  bench(async ({ client, write, log }) => {
    write("web.yaml", service("web"));
    assert.equal(await names(client), "web");
    write("web.yaml", "");
    assert.equal(await names(client), "web");
    write("web.yaml", service("shop"));
    await waitFor(async () => (await names(client)) === "shop", { what: "the new content" });
    write("web.yaml", "");
    await waitFor(async () => (await names(client)) === "", { what: "the emptied file to take effect" });
    assert.match(
      log.join("\n"),
      /web\.yaml waits until the file has been unchanged for 0\.4 s: .* all of its resources/,
    );
  }, 400));

const guard = (spec: string) =>
  `apiVersion: sluice.dev/v1alpha1\nkind: Plugin\nmetadata:\n  name: guard\nspec:\n${spec}`;
const keyAuth = guard("  plugin: key-auth\n  targetRefs:\n    - kind: Service\n      name: web\n");
const both = `${service("web")}---\n${keyAuth}`;
const LONG_WAIT = 60_000;

/** Contents written to the file of a key-auth plugin, and whether the log reports a wait. */
const edits: readonly (readonly [what: string, text: string, waits: boolean])[] = [
  ["an empty text", "", true],
  ["the beginning of the file, without the plugin", service("web"), true],
  ["the beginning of the file, with a part of the plugin", both.slice(0, both.indexOf("  targetRefs")), true],
  ["another name for the plugin", both.replace("key-auth", "key-"), true],
  ["enabled: false", `${both}  enabled: false\n`, true],
  [
    "another target",
    both
      .replace("name: web\n", "name: shop\n")
      .replace("kind: Service\n      name: web", "kind: Service\n      name: shop"),
    true,
  ],
  ["another config", `${both}  config: {key_names: [k]}\n`, false],
  ["one more resource", `${both}---\n${service("shop")}`, false],
];
for (const [what, text, waits] of edits)
  test(`${what}, written to a file with a key-auth plugin, ${waits ? "does not take effect at once, but a file renamed into its place does" : "takes effect once the file has settled"}`, () =>
    bench(async ({ client, write, log, directory }) => {
      write("web.yaml", both);
      await following(client);
      const before = await client.get(ref("guard", "Plugin"));
      assert.ok(before);
      write("web.yaml", text);
      const isChanged = async () =>
        (await client.get(ref("guard", "Plugin")))?.metadata.resourceVersion !== before.metadata.resourceVersion;
      const isLogged = () => log.some((line) => line.includes("web.yaml waits"));
      if (!waits) {
        await waitFor(async () => (await isChanged()) || (await names(client)) === "shop,web", {
          what: "the change to take effect",
        });
        return assert.ok(!isLogged());
      }
      await waitFor(isLogged, { what: "the wait to be logged" });
      assert.equal(await isChanged(), false);
      // The same content takes effect at once if a rename puts it in place. An empty text is never accepted at once, so
      // another Service is used instead.
      writeFileSync(join(directory, "web.yaml.new"), text === "" ? service("other") : text);
      // The timestamps look as if the file had been written some time before the move.
      utimesSync(join(directory, "web.yaml.new"), 1, 1);
      renameSync(join(directory, "web.yaml.new"), join(directory, "web.yaml"));
      await waitFor(isChanged, { what: "the replaced file to take effect" });
    }, LONG_WAIT));

test("when a file with a key-auth plugin is moved away and rewritten without the plugin, the new file does not take effect at once", () =>
  bench(async ({ client, write, log, directory }) => {
    write("web.yaml", both);
    await following(client);
    assert.ok(await client.get(ref("guard", "Plugin")));
    renameSync(join(directory, "web.yaml"), join(directory, "web.yaml~"));
    write("web.yaml", service("web"));
    await waitFor(() => log.some((line) => line.includes("web.yaml waits")), { what: "the wait to be logged" });
    assert.ok(await client.get(ref("guard", "Plugin")));
  }, LONG_WAIT));

const route = (name: string, paths: string) =>
  `---\napiVersion: sluice.dev/v1alpha1\nkind: Route\nmetadata:\n  name: ${name}\nspec:\n  serviceRef: {name: web}\n  paths:\n${paths}`;
const all = route("all", "    - /\n");
const routes = `${service("web")}${all}${route("admin", "    - /admin\n    - /secret\n")}`;

/**
 * Contents written to a file with Routes that a Plugin in another file may protect, and whether the log reports a wait.
 */
const routeEdits: readonly (readonly [what: string, text: string, waits: boolean])[] = [
  ["the beginning of the file, without the last Route", service("web") + all, true],
  ["the beginning of the file, without the last path of a Route", routes.replace("    - /secret\n", ""), true],
  ["the beginning of the file, with a part of the last path of a Route", routes.replace("/secret", "/sec"), true],
  ["another path", routes.replace("/secret", "/hidden"), false],
  ["one more path", `${routes}    - /more\n`, false],
];
for (const [what, text, waits] of routeEdits)
  test(`${what}, written to a file with Routes, ${waits ? "does not take effect at once" : "takes effect once the file has settled"}`, () =>
    bench(async ({ client, write, log }) => {
      write("web.yaml", routes);
      await following(client);
      const shown = async () => JSON.stringify((await client.list("Route")).map(({ spec }) => spec));
      const before = await shown();
      write("web.yaml", text);
      const isLogged = () => log.some((line) => line.includes("web.yaml waits"));
      await waitFor(async () => isLogged() || (await shown()) !== before, {
        what: "the change to take effect, or the wait to be logged",
      });
      assert.equal(isLogged(), waits);
      assert.equal((await shown()) === before, waits);
    }, LONG_WAIT));

test("a change by Sluice itself takes effect at once, even if it removes protection", () =>
  bench(async ({ client, another, write }) => {
    write("web.yaml", both);
    await following(client);
    assert.ok(await client.get(ref("guard", "Plugin")));
    assert.equal(await another().remove(ref("guard", "Plugin")), true);
    assert.equal(await client.get(ref("guard", "Plugin")), null);
  }, LONG_WAIT));

/**
 * Writes files, with a new number in each attempt, until an attempt takes less than half of `SETTLE_MILLISECONDS`: in a
 * slower attempt, a file might settle before the last write.
 *
 * @param writes Resolves to a function that waits until the files have been read.
 * @returns The number of the last attempt.
 */
async function writeTogether(writes: (number: number) => Promise<() => Promise<unknown>>): Promise<number> {
  for (let number = 0; number < 20; number++) {
    const began = performance.now();
    const isRead = await writes(number);
    const isFast = performance.now() - began < SETTLE_MILLISECONDS / 2;
    await isRead();
    if (isFast) return number;
  }
  return assert.fail(`no attempt wrote its files within ${SETTLE_MILLISECONDS / 2} ms`);
}

test("a new file that is written in parts is not read before it has settled", () =>
  bench(async ({ client, write, directory }) => {
    write("old.yaml", service("old"));
    const held = await following(client);
    let isWhole = false;
    await writeTogether(async (number) => {
      write(`web-${number}.yaml`, service(`web-${number}`));
      await client.list("Service");
      appendFileSync(join(directory, `web-${number}.yaml`), `---\n${service(`shop-${number}`)}`);
      return async () => {
        await waitFor(() => held.has(`web-${number}`), { what: "the file to be read" });
        isWhole = held.has(`shop-${number}`);
      };
    });
    assert.ok(isWhole);
  }));

test("a file that Sluice writes takes effect while another program still writes another file, and a file written in steps is reported once", () =>
  bench(async ({ client, write, directory }) => {
    const isLogged: string[] = [];
    write("old.yaml", service("old"));
    await client.list("Service");
    client.watch(
      "Service",
      {
        replaced: () => void isLogged.push("all"),
        changed: ({ metadata }) => void isLogged.push(metadata.name),
        removed() {},
      },
      { signal: new AbortController().signal },
    );
    await waitFor(() => isLogged.length > 0, { what: "the first list" });
    const number = await writeTogether(async (number) => {
      const theirs = service(`theirs-${number}`);
      isLogged.length = 0;
      write(`theirs-${number}.yaml`, "");
      for (const text of [theirs.slice(0, 20), theirs.slice(20)]) {
        appendFileSync(join(directory, `theirs-${number}.yaml`), text);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await writeAtomically(join(directory, `ours-${number}.yaml`), service(`ours-${number}`));
      const both = [`theirs-${number}`, `ours-${number}`];
      return () => waitFor(() => both.every((name) => isLogged.includes(name)), { what: "both files to be read" });
    });
    assert.deepEqual(isLogged, [`ours-${number}`, `theirs-${number}`]);
  }));
