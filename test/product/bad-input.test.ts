/** Bad input in a folder of resources: conditions or the terminal report each error, and valid resources work. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createDirectoryClient } from "@sluice/crds";
import { temporaryFolder, waitFor } from "../../tools/process/index.ts";
import { startDirectoryProduct } from "../../tools/start/directory-product.ts";
import { provesBadInput } from "./bad-input.ts";
import { getUrl, startNamedUpstream } from "./client.ts";
import { freeAddresses } from "./free-addresses.ts";
import { routeObject, serviceObject } from "./resources.ts";

const work = temporaryFolder("bad-input");
const folder = join(work.path, "resources");
mkdirSync(folder);
const upstream = await startNamedUpstream("echo");
after(() => upstream.close());

let files = 0;
/** Writes resources to one new YAML file, as JSON, which is valid YAML. */
async function put(...items: readonly object[]): Promise<void> {
  const text = items.map((item) => JSON.stringify(item, undefined, 2)).join("\n---\n");
  writeFileSync(join(folder, `${++files}.yaml`), text);
}
await put(serviceObject("echo", upstream.port), routeObject("echo"));

const chosen = await freeAddresses();
const shown: string[] = [];
const product = await startDirectoryProduct({
  chosen,
  work: work.path,
  folder,
  hasUserApi: false,
  show: (line) => shown.push(line),
});
after(() => product.stop());
const client = createDirectoryClient({ directory: folder, log: { info() {}, warn() {}, error() {} } });
after(() => client.close());
// Hooks run in this order. A process that starts at the end of a test may still open its log in the folder.
after(() => work.remove());
const conditions = async (kind: "Service" | "Route" | "Plugin" | "Consumer", name: string) =>
  (await client.get({ kind, namespace: "default", name }))?.status?.conditions ?? [];
const nodes = [`http://${chosen.proxy}`, `http://${chosen.proxy2}`] as const;
const statusOf = async (path: string) => (await getUrl(`${nodes[0]}${path}`)).status;
const isShown = (pattern: RegExp) =>
  waitFor(() => shown.some((line) => pattern.test(line)), { what: `a line on the terminal like ${pattern}` });

before(() => assert.deepEqual(shown, [], "a start without errors prints no warning and no error"));

provesBadInput({ nodes, put, conditions }, { refusedBySchema: false });

test("the terminal shows an error with the name of its resource", async () => {
  await isShown(/^operator: .*spec\.stripPaths: unknown field.*unknown-field/);
});

test("invalid YAML in the middle of a file is reported with its position, and the last valid content stays served", async () => {
  const file = join(folder, "many.yaml");
  const good = (name: string, path: string) =>
    `apiVersion: sluice.dev/v1alpha1\nkind: Route\nmetadata:\n  name: ${name}\nspec:\n  serviceRef:\n    name: echo\n  paths:\n    - ${path}\n`;
  writeFileSync(file, [good("one", "/one"), good("two", "/two"), good("three", "/three")].join("---\n"));
  await waitFor(async () => (await statusOf("/three")) === 200, { what: "the file to be served" });

  const whole = readFileSync(file, "utf8");
  writeFileSync(file, whole.replace("    - /two\n", '    - "/two\n').replace("- /one", "- /changed"));
  await isShown(/^operator: .*many\.yaml:\d+:\d+/);
  const line = shown.find((words) => words.includes("many.yaml")) ?? "";
  const at = Number(/many\.yaml:(\d+):/.exec(line)?.[1]);
  assert.ok(at >= 18, `line ${at} is before the fault in line 19: ${line}`);
  // All documents of the file keep their last valid version, and other files are still read.
  await put(routeObject("beside", { serviceRef: { name: "echo" } }));
  await waitFor(async () => (await statusOf("/beside")) === 200, { what: "another file to be served" });
  for (const path of ["/one", "/two", "/three", "/echo"]) assert.equal(await statusOf(path), 200, path);
  assert.equal(await statusOf("/changed"), 404);

  writeFileSync(file, whole.replace("- /one", "- /changed"));
  await waitFor(async () => (await statusOf("/changed")) === 200, { what: "the repaired file to be served" });
});

test("a route stays protected while the file of its key-auth is emptied, truncated or written in two parts", async () => {
  await put(routeObject("guarded", { serviceRef: { name: "echo" } }));
  const file = join(folder, "guard.yaml");
  const text =
    "apiVersion: sluice.dev/v1alpha1\nkind: Plugin\nmetadata:\n  name: guard\nspec:\n  plugin: key-auth\n" +
    "  targetRefs:\n    - kind: Route\n      name: guarded\n  config:\n    key_names: [apikey]\n";
  writeFileSync(file, text);
  await waitFor(async () => (await statusOf("/guarded")) === 401, { what: "the key-auth to be served" });
  const asked = new Set<number>();
  const ask = async () => void asked.add(await statusOf("/guarded"));
  for (let end = 0; end < text.length; end += 7) {
    writeFileSync(file, text.slice(0, end));
    const until = performance.now() + (end === 0 ? 700 : 30);
    while (performance.now() < until) await ask();
    writeFileSync(file, text);
  }
  assert.deepEqual([...asked], [401]);
  await isShown(/^operator: .*guard\.yaml waits until the file has been unchanged for 2 s/);
});

test("a resource of an unknown kind is reported with its position", async () => {
  await put({ apiVersion: "sluice.dev/v1alpha1", kind: "Rout", metadata: { name: "typo" } });
  await isShown(/^operator: .*\.yaml:1:1.*unknown kind Rout/);
});

test("while no node answers, Programmed names the nodes; Programmed becomes True when a node is back", async () => {
  await Promise.all([product.kill9("gateway-1"), product.kill9("gateway-2")]);
  await put(routeObject("waiting", { serviceRef: { name: "echo" } }));
  const programmed = async () => (await conditions("Route", "waiting")).find(({ type }) => type === "Programmed");
  const said = await waitFor(programmed, { what: "the condition Programmed to be written" });
  assert.deepEqual([said.status, said.reason], ["Unknown", "Pending"]);
  for (const node of [chosen.push, chosen.push2]) assert.ok(said.message.includes(node), said.message);

  await product.start("gateway-1");
  await waitFor(async () => (await programmed())?.status === "True", { what: "Programmed to be True" });
  assert.equal(await statusOf("/waiting"), 200);
  const { body } = await getUrl(`http://${chosen.operator}/status`);
  assert.deepEqual((body as { silent: string[] }).silent, [`http://${chosen.push2}`]);
  await product.start("gateway-2");
});
