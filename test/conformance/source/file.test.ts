import assert from "node:assert/strict";
import { appendFileSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Snapshot } from "@sluice/model";
import { pino } from "pino";
import { createFileSource } from "../../../gateway/src/sources/file/file-source.ts";
import { createIntake } from "../../../gateway/src/sources/intake.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { documentWithRoutes, sourceSuite } from "./suite.ts";

const silent = pino({ level: "silent" });

sourceSuite({
  name: "file",
  async create() {
    const folder = temporaryFolder("source");
    const file = join(folder.path, "sluice.json");
    const write = (text: string) => {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    };
    write(JSON.stringify(documentWithRoutes(["first"])));
    const source = createFileSource({ file, log: silent, interval: 20 });
    let lastFailure: string | null = null;
    return {
      source,
      async offer(names, { broken = false } = {}) {
        write(JSON.stringify(documentWithRoutes(names, broken)));
        if (!broken) return;
        await waitFor(() => source.failure() !== lastFailure, { what: "the error to be reported" });
        lastFailure = source.failure();
      },
      end: async () => folder.remove(),
    };
  },
});

/** Starts a file source on this text, changes the file, and returns the source's failure. */
async function troubleAfter(first: string, then: (file: string) => void): Promise<string> {
  const folder = temporaryFolder("source");
  const file = join(folder.path, "sluice.yaml");
  writeFileSync(file, first);
  const source = createFileSource({ file, log: silent, interval: 20 });
  const intake = createIntake({ node: "n", version: "0", serve: () => {} });
  try {
    await source.start(intake);
    const { hash } = intake.state();
    then(file);
    await waitFor(() => source.failure() !== null, { what: "the error to be reported" });
    assert.equal(intake.state().hash, hash, "the previous configuration is still served");
    return source.failure()?.replaceAll(`${folder.path}/`, "") ?? "";
  } finally {
    await source.stop();
    folder.remove();
  }
}

const good = `_format_version: "3.0"\nservices:\n- name: a\n  url: http://up.test\n`;

const faults: [string, (file: string) => void, RegExp][] = [
  [
    "a wrong value with its file, line and column",
    (file) => writeFileSync(file, `${good}  retries: many\n`),
    /^sluice\.yaml:5:3: services\[0\]\.retries: expected an integer$/,
  ],
  [
    "broken YAML in the middle with its file, line and column",
    (file) => writeFileSync(file, `${good}- name: [b\n- name: c\n`),
    /^sluice\.yaml:[56]:\d+: /,
  ],
  ["a missing file", (file) => renameSync(file, `${file}.away`), /^sluice\.yaml: ENOENT/],
];
for (const [what, change, expected] of faults)
  test(`the file source reports ${what}`, async () => assert.match(await troubleAfter(good, change), expected));

test("the file source does not serve a file that is still being written, even if its content is a valid document", async () => {
  const folder = temporaryFolder("source");
  const file = join(folder.path, "sluice.yaml");
  writeFileSync(file, good);
  const source = createFileSource({ file, log: silent, interval: 5 });
  const served: number[] = [];
  const serve = ({ services }: Snapshot) => void served.push(services.size);
  try {
    await source.start(createIntake({ node: "n", version: "0", serve }));
    const lines = Array.from({ length: 40 }, (_, at) => `- name: s${at}\n  url: http://up.test\n`);
    writeFileSync(file, '_format_version: "3.0"\nservices:\n');
    for (const line of lines) {
      appendFileSync(file, line);
      await setTimeout(2);
    }
    await waitFor(() => served.at(-1) === lines.length, { what: "the whole file" });
    assert.deepEqual(served, [1, lines.length]);
  } finally {
    await source.stop();
    folder.remove();
  }
});

const route = "  routes:\n  - {name: a, paths: [/a]}\n";
const keyAuth = "plugins:\n- name: key-auth\n";

/** Starts a source on a file with key-auth. Returns the file, the log, and the plugins of each served document. */
async function protectedFile(
  context: TestContext,
  options: { readonly unprotectWait: number; readonly text?: string },
) {
  const folder = temporaryFolder("source");
  const file = join(folder.path, "sluice.yaml");
  writeFileSync(file, options.text ?? good + route + keyAuth);
  const lines: string[] = [];
  const tell = (_details: object, message: string) => void lines.push(message);
  const log = { info: tell, warn: tell, error: tell };
  const source = createFileSource({ file, log, interval: 20, unprotectWait: options.unprotectWait });
  const served: (readonly string[])[] = [];
  context.after(async () => {
    await source.stop();
    folder.remove();
  });
  const serve = ({ plugins }: Snapshot) => void served.push([...plugins.values()].map(({ name }) => name));
  await source.start(createIntake({ node: "n", version: "0", serve }));
  return { file, lines, served };
}
const LONG_WAIT = 60_000;

const inPlace = (file: string, text: string) => writeFileSync(file, text);
const movedAway = (file: string, text: string) => {
  renameSync(file, `${file}~`);
  writeFileSync(file, text);
};

for (const [what, first, rest, begin = inPlace] of [
  ["rewritten in two parts, with the plugin last", good + route, `${keyAuth}- name: cors\n`],
  ["moved away and rewritten in two parts", good + route, `${keyAuth}- name: cors\n`, movedAway],
  ["truncated and continued", good + route + keyAuth.slice(0, 9), `${keyAuth.slice(9)}- name: cors\n`],
  [
    "rewritten, and longer than before while the plugin is still missing",
    `# ${"x".repeat(500)}\n${good}${route}`,
    `${keyAuth}- name: cors\n`,
  ],
  [
    "rewritten, and so long that the reader process reads it",
    `# ${"x".repeat(20_000)}\n${good}${route}`,
    `${keyAuth}- name: cors\n`,
  ],
] as const)
  test(`the file source serves no route without its key-auth while the file is ${what}`, async (context) => {
    const { file, lines, served } = await protectedFile(context, { unprotectWait: LONG_WAIT });
    begin(file, first);
    const isSeen = () =>
      lines.some((line) => /waits .*key-auth of route a/.test(line) || /the file is invalid/.test(line));
    await waitFor(isSeen, { what: "the first part to be read" });
    appendFileSync(file, rest);
    await waitFor(() => served.at(-1)?.includes("cors") === true, { what: "the whole file" });
    assert.deepEqual(served, [["key-auth"], served.at(-1)]);
    assert.ok(served.at(-1)?.includes("key-auth"));
  });

test("after a file is emptied, its last valid content is still served", async (context) => {
  const { file, lines, served } = await protectedFile(context, { unprotectWait: LONG_WAIT });
  writeFileSync(file, "");
  await waitFor(() => lines.some((line) => line.includes("the file is invalid")), {
    what: "the empty file to be read",
  });
  assert.deepEqual(served, [["key-auth"]]);
});

test("a plugin that is removed by writing the file in place is dropped only after a wait, which is logged once", async (context) => {
  const { file, lines, served } = await protectedFile(context, { unprotectWait: 400 });
  const began = performance.now();
  writeFileSync(file, good + route);
  await waitFor(() => served.length > 1, { what: "the change" });
  assert.deepEqual(served, [["key-auth"], []]);
  assert.ok(performance.now() - began >= 400);
  assert.match(
    lines.join("\n"),
    /the change waits until the file has been unchanged for 0\.4 s: .* key-auth of route a/,
  );
  assert.equal(lines.filter((line) => line.includes("waits")).length, 1);
});

for (const [what, change] of [
  [
    "that replaces the file",
    (file: string) => {
      writeFileSync(`${file}.new`, good + route);
      // The file looks as if it had been written some time before the move.
      utimesSync(`${file}.new`, 1, 1);
      renameSync(`${file}.new`, file);
    },
  ],
  ["that removes the routes together with their plugin", (file: string) => writeFileSync(file, good)],
  [
    "that does not affect the protection",
    (file: string) => writeFileSync(file, `${good}${route}${keyAuth}- name: cors\n`),
  ],
] as const)
  test(`a change ${what} is served without a wait`, async (context) => {
    const { file, lines, served } = await protectedFile(context, { unprotectWait: LONG_WAIT });
    change(file);
    await waitFor(() => served.length > 1, { what: "the change" });
    assert.deepEqual(
      lines.filter((line) => line.includes("waits")),
      [],
    );
  });

test("the file source continues after an internal error rejects a valid document", async () => {
  const folder = temporaryFolder("source");
  const file = join(folder.path, "sluice.yaml");
  writeFileSync(file, good);
  const source = createFileSource({ file, log: silent, interval: 10 });
  const intake = createIntake({
    node: "n",
    version: "0",
    serve({ services }) {
      if (services.size === 2) assert.fail("a bug");
    },
  });
  try {
    await source.start(intake);
    writeFileSync(file, `${good}- name: b\n  url: http://up.test\n`);
    await waitFor(() => source.failure()?.includes("a bug") === true, { what: "the error to be reported" });
    writeFileSync(file, good.replace("name: a", "name: c"));
    await waitFor(() => source.failure() === null, { what: "the next text" });
  } finally {
    await source.stop();
    folder.remove();
  }
});

test("a file source with an invalid file at the start reports every error and does not start", async () => {
  const folder = temporaryFolder("source");
  const file = join(folder.path, "sluice.yaml");
  writeFileSync(file, `_format_version: "3.0"\nservices:\n- name: a\n  port: x\n`);
  const lines: string[] = [];
  const tell = (_details: object, message: string) => void lines.push(message);
  const source = createFileSource({ file, log: { info: tell, warn: tell, error: tell } });
  const intake = createIntake({ node: "n", version: "0", serve: () => {} });
  await assert.rejects(source.start(intake), (error: Error) => {
    assert.match(
      error.message,
      /^the declarative file is invalid, .*: nothing is served, and clients cannot connect, /,
    );
    assert.match(error.message, /sluice\.yaml:3:\d+: services\[0\]\.host: required field missing/);
    assert.match(error.message, /sluice\.yaml:4:3: services\[0\]\.port: expected an integer/);
    return true;
  });
  // A log line would say that the last valid document is kept. There is no such document, so nothing is logged.
  assert.deepEqual(lines, []);
  folder.remove();
});
