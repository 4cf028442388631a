/** The file source with texts that are long enough to be read in a separate process. */
import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { changeBetween, loadText, readSettings, type Snapshot } from "@sluice/model";
import { pino } from "pino";
import { sendRequest } from "../../../../test/conformance/engine/client.ts";
import { temporaryFolder, waitFor } from "../../../../tools/process/index.ts";
import { startGateway } from "../../node/start-gateway.ts";
import { gatewaySettings } from "../../settings/commands/gateway.ts";
import { createIntake } from "../intake.ts";
import type { SourceLog } from "../source.ts";
import { createFileSource } from "./file-source.ts";

const silent = pino({ level: "silent" });
const head = '_format_version: "3.0"\n';
/** Makes any text a long one. */
const LONG = `# ${"long ".repeat(4000)}\n`;

/** A source of one file, and its last delivery. */
function openFile(context: TestContext, { keep = false, log = silent as SourceLog } = {}) {
  const folder = temporaryFolder("file-source");
  const file = join(folder.path, "sluice.yaml");
  const source = createFileSource({ file, log, interval: 20, keepContent: keep });
  let served: Snapshot | undefined;
  const intake = createIntake({
    node: "n",
    version: "0",
    serve(snapshot) {
      served = snapshot;
    },
  });
  context.after(async () => {
    await source.stop();
    folder.remove();
  });
  return {
    source,
    intake,
    served: () => served,
    /** Writes the file atomically: no reader sees half of the text. */
    write(text: string) {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    },
  };
}

const up = "services:\n- name: up\n  url: http://up.test\n";
const routes = "  routes:\n  - {name: a, paths: [/a]}\n  - {name: b, paths: [/b]}\n";
const consumers = "consumers:\n- username: bob\n  keyauth_credentials: [{key: bobs-key}]\n";
const endpoints = (address: string) =>
  `_sluice: {endpoints: {4a2a7ab2-41a7-5b5e-9be2-4a2e7f0f2ac5: [{address: ${address}, port: 80}]}}\n`;
const core = "services:\n- id: 4a2a7ab2-41a7-5b5e-9be2-4a2e7f0f2ac5\n  name: core\n  host: core.test\n";

/** Texts in sequence, each replacing the previous one. */
const texts: readonly (readonly [what: string, text: string])[] = [
  ["a first long text", LONG + head + up + routes],
  ["one more entity, and an entity of another kind", LONG + head + consumers + up + routes],
  ["a changed member", LONG + head + consumers + up.replace("up.test", "other.test") + routes],
  ["removed entities", LONG + head + up],
  ["a short text", head + up + routes],
  ["a long text after a short text", LONG + head + consumers + core],
  ["added endpoints", LONG + head + consumers + core + endpoints("10.0.0.1")],
  ["changed endpoints", LONG + head + consumers + core + endpoints("10.0.0.2")],
  ["removed endpoints", LONG + head + consumers + core],
  ["nothing", LONG + head],
];

for (const [what, before, line] of [
  ["a short", "", 2],
  ["a long", LONG, 3],
] as const) {
  test(`members without effect in ${what} text are logged with their lines and columns`, async (context) => {
    const logged: string[] = [];
    const log: SourceLog = { info() {}, error() {}, warn: (_facts, message) => void logged.push(message) };
    const { source, intake, served, write } = openFile(context, { log });
    write(`${before}${head}${up}partials: []\n${up.replace("up.test", "last.test")}`);
    await source.start(intake);
    assert.deepEqual(
      [...(served()?.services.values() ?? [])].map(({ host }) => host),
      ["last.test"],
    );
    const places = [
      `partials: ignored: Sluice has no 'partials' yet, and none are given`,
      `services: duplicate key: this value replaces the one at ${line}:1, which is ignored`,
    ].map((text, index) => `sluice.yaml:${line + 3 + index}:1: ${text}`);
    assert.deepEqual(
      logged.map((message) => message.replaceAll(/\/\S+\//g, "")),
      [`the file has warnings:\n${places.join("\n")}`],
    );
  });
}

test("each of several consecutive texts gives the same configuration as on its own, whether the reader process reads it or not", async (context) => {
  const { source, intake, served, write } = openFile(context, { keep: true });
  for (const [what, text] of texts) {
    write(text);
    if (text === texts[0]?.[1]) await source.start(intake);
    const alone = loadText(text).value;
    assert.ok(alone, what);
    await waitFor(() => source.content()?.text === text, { what });
    assert.equal(intake.state().hash, alone.snapshot.hash, what);
    const { document, origins, data, snapshot } = source.content()?.loaded() ?? {};
    assert.equal(snapshot, served());
    assert.deepEqual([document, origins, data], [alone.document, alone.origins, alone.data], what);
    assert.deepEqual(changeBetween(alone.snapshot, snapshot ?? alone.snapshot), { put: {}, remove: {} }, what);
  }
});

test("a long text in the file replaces a delivery that was not saved to the file", async (context) => {
  const { source, intake, served, write } = openFile(context);
  write(LONG + head + up + routes);
  await source.start(intake);
  const delivered = loadText(head + consumers).value;
  assert.ok(delivered);
  await source.exclusively(() => source.deliver("not the file's", delivered.snapshot, { saved: false }));
  assert.equal(served()?.services.size, 0);
  write(LONG + head + up);
  await waitFor(() => served()?.services.size === 1, { what: "the file to be served" });
  assert.equal(intake.state().hash, loadText(head + up).value?.snapshot.hash);
});

test("unchanged entities are the same objects after a long text was read again", async (context) => {
  const { source, intake, served, write } = openFile(context);
  write(LONG + head + up + routes);
  await source.start(intake);
  const [service] = [...(served()?.services.values() ?? [])];
  write(LONG + head + up + routes.replace("/b", "/other"));
  await waitFor(() => [...(served()?.routes.values() ?? [])].some(({ paths }) => paths?.[0] === "/other"), {
    what: "the route to change",
  });
  assert.equal(served()?.services.get(service?.id ?? ""), service);
});

test("a long text with an error is refused with the error's position, and the served configuration stays active", async (context) => {
  const { source, intake, served, write } = openFile(context);
  write(LONG + head + up);
  await source.start(intake);
  const before = served();
  write(`${LONG}${head}${up}  retries: -1\n`);
  await waitFor(() => source.failure() !== null, { what: "the error to be reported" });
  assert.match(source.failure() ?? "", /sluice\.yaml:6:3/);
  assert.equal(served(), before);
});

test("a source that stops while a long text is read ends the reader process", async (context) => {
  const { source, intake, served, write } = openFile(context);
  write(manyRoutes(1500));
  const started = source.start(intake);
  const ended = assert.rejects(started, /the process that reads the file has ended/);
  await waitFor(() => process.getActiveResourcesInfo().includes("ProcessWrap"), {
    what: "the reader process to start",
  });
  await source.stop();
  await ended;
  assert.equal(served(), undefined);
});

/** A text with this number of routes and one more; in YAML, because that is the slowest format. */
const manyRoutes = (count: number, last = "/last"): string =>
  `${head}services:\n- name: up\n  host: 127.0.0.1\n  port: 1\n  routes:\n${Array.from(
    { length: count },
    (_, at) => `  - name: r${at}\n    hosts: [h${at}.test]\n    paths: [/p${at}]\n`,
  ).join("")}  - name: last\n    paths: [${last}]\n`;

test("a node answers requests while a large file is read again", async (context) => {
  const folder = temporaryFolder("file-source");
  const file = join(folder.path, "sluice.yaml");
  writeFileSync(file, manyRoutes(1500));
  const read = readSettings(gatewaySettings, {
    SLUICE_SOURCE: "file",
    SLUICE_FILE: file,
    SLUICE_PROXY_LISTEN: "127.0.0.1:0",
    SLUICE_STATUS_LISTEN: "127.0.0.1:0",
    SLUICE_DRAIN_TIMEOUT: "10ms",
  });
  assert.ok(read.value, JSON.stringify(read.violations));
  const node = await startGateway({ settings: read.value, log: silent });
  context.after(async () => {
    await node.close();
    folder.remove();
  });
  const status = async (path: string) => (await sendRequest(node.proxy.port, { path })).status;
  assert.notEqual(await status("/last"), 404);
  assert.equal(await status("/moved"), 404);
  writeFileSync(file, manyRoutes(1500, "/moved"));
  const from = performance.now();
  let longest = 0;
  for (let answered = 404; answered === 404; ) {
    const asked = performance.now();
    answered = await status("/moved");
    longest = Math.max(longest, performance.now() - asked);
  }
  const took = performance.now() - from;
  assert.ok(longest * 3 < took, `a request waited for ${longest} ms of the ${took} ms that the file took`);
});
