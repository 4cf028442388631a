import assert from "node:assert/strict";
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { checkEntity } from "@sluice/model";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { createFileSource } from "../../sources/file/file-source.ts";
import { createIntake } from "../../sources/intake.ts";
import { MAX_REVISION_BYTES } from "../revisions/revisions.ts";
import type { Store, Write } from "../store.ts";
import { createFileStore } from "./index.ts";
import { createRevisionLog, FILE_AUTHOR } from "./revision-log.ts";

const head = '_format_version: "3.0"\n';
const warnings: string[] = [];
const log = { info() {}, warn: (_facts: object, message: string) => void warnings.push(message), error() {} };

const service = (name: string, port = 80): Write => {
  const { value: entity } = checkEntity("services", { name, host: "h", port });
  return { op: "create", collection: "services", entity: entity ?? assert.fail() };
};

function folderOf(context: TestContext): { readonly folder: string; readonly file: string; readonly kept: string } {
  const { path: folder, remove } = temporaryFolder("file-revisions");
  context.after(remove);
  const file = join(folder, "sluice.yml");
  writeFileSync(file, head);
  return { folder, file, kept: join(folder, ".sluice.yml.revisions") };
}

async function open(file: string, { writable = true, number = 100 } = {}) {
  const source = createFileSource({ file, log, keepContent: true, interval: 60_000 });
  const limits = { number, age: 60_000 };
  const store = createFileStore({ file, source, writable, programmed: async () => null, limits, log });
  await source.start(createIntake({ node: "n", version: "0", serve() {} }));
  /** Saves the file as an editor does, and resolves once the source has read it. */
  async function edit(text: string): Promise<void> {
    writeFileSync(file, text);
    await source.reread?.();
  }
  return { store, edit, stop: () => source.stop() };
}

const listed = async ({ revisions }: Store) => (await revisions?.list({ size: 1000 }))?.revisions ?? assert.fail();
const authors = async (store: Store) => (await listed(store)).map(({ author }) => author);

test("an edit of the file is a revision with the author 'file', which has the entities before and after the edit", async (context) => {
  const { file } = folderOf(context);
  const { store, edit, stop } = await open(file);
  context.after(stop);
  await edit(
    `${head}services:\n- name: a\n  host: one\nconsumers:\n- username: u\n  keyauth_credentials:\n  - key: k1\n`,
  );
  await store.write([service("b")], { author: "ann" });
  const text = readFileSync(file, "utf8");
  await edit(text.replace("host: one", "host: two").replace("k1", "k2"));
  await edit(`# a comment\n${readFileSync(file, "utf8")}`);
  assert.deepEqual(await authors(store), [FILE_AUTHOR, "ann", FILE_AUTHOR, FILE_AUTHOR]);
  const [newest] = await listed(store);
  const { changes } = (await store.revisions?.changes({ after: (newest?.number ?? 0) - 1, to: 99 })) ?? {};
  assert.partialDeepStrictEqual(
    changes?.filter(({ collection }) => collection === "services"),
    [{ before: { name: "a", host: "one", port: 80 }, after: { name: "a", host: "two", port: 80 } }],
  );
  assert.deepEqual(
    changes
      ?.filter(({ collection }) => collection === "keyauth_credentials")
      .map(({ before, after }) => Reflect.get(before ?? after ?? {}, "key"))
      .sort(),
    ["k1", "k2"],
  );
});

test("a revision of a large file, which the reader process reads, has only the entities that an edit changed", async (context) => {
  const { file } = folderOf(context);
  const services = Array.from({ length: 600 }, (_, index) => `- name: s-${index}\n  host: one.example\n`).join("");
  writeFileSync(file, `${head}services:\n${services}`);
  const { store, edit, stop } = await open(file);
  context.after(stop);
  for (const host of ["two", "three"]) {
    await edit(readFileSync(file, "utf8").replace(/name: s-7\n {2}host: \w+/, `name: s-7\n  host: ${host}`));
    const [newest] = await listed(store);
    const { number = 0 } = newest ?? {};
    const { changes } = (await store.revisions?.changes({ after: number - 1, to: number })) ?? {};
    assert.deepEqual(
      changes?.map(({ after }) => [Reflect.get(after ?? {}, "name"), Reflect.get(after ?? {}, "host")]),
      [["s-7", `${host}.example`]],
    );
  }
});

test("revisions survive a restart in a file that only its owner may read", async (context) => {
  const { file, kept } = folderOf(context);
  const first = await open(file);
  await first.store.write([service("a")], { author: "ann" });
  await first.store.write([service("b")], { author: "bob" });
  const before = await listed(first.store);
  await first.stop();
  assert.equal(statSync(kept).mode & 0o777, 0o600);
  const second = await open(file);
  context.after(second.stop);
  assert.deepEqual(await listed(second.store), before);
  const { changes } = (await second.store.revisions?.changes({ after: 0, to: 2 })) ?? {};
  assert.deepEqual(
    changes?.map(({ after }) => Reflect.get(after ?? {}, "name")),
    ["a", "b"],
  );
});

test("an edit that no process saw is a revision whose changes are not kept", async (context) => {
  const { file } = folderOf(context);
  const first = await open(file);
  await first.store.write([service("a")], { author: "ann" });
  await first.stop();
  writeFileSync(file, `${head}services:\n- name: b\n  host: c\n`);
  const second = await open(file);
  context.after(second.stop);
  const [newest] = await listed(second.store);
  assert.deepEqual([newest?.author, newest?.counts], [FILE_AUTHOR, null]);
  const { missing } = (await second.store.revisions?.changes({ after: 1, to: 2 })) ?? {};
  assert.match(missing ?? "", /^the changes of revision 2 \(file\) are not kept/);
});

test("after a damaged line, only later revisions are kept, and a warning is logged", async (context) => {
  const { file, kept } = folderOf(context);
  const first = await open(file);
  await first.store.write([service("a")], { author: "ann" });
  await first.stop();
  appendFileSync(kept, '{"number":');
  warnings.length = 0;
  const second = await open(file);
  context.after(second.stop);
  assert.deepEqual(await authors(second.store), [FILE_AUTHOR]);
  assert.deepEqual(warnings, ["some or all saved revisions cannot be read, and are deleted"]);
  await second.store.write([service("b")], { author: "bob" });
  assert.equal(readFileSync(kept, "utf8").trim().split("\n").length, 2);
});

test("a file that may not be written has revisions in memory, and nothing beside it", async (context) => {
  const { file, folder } = folderOf(context);
  const { store, edit, stop } = await open(file, { writable: false });
  context.after(stop);
  await edit(`${head}services:\n- name: a\n  host: b\n`);
  assert.deepEqual(await authors(store), [FILE_AUTHOR, FILE_AUTHOR]);
  assert.deepEqual(readdirSync(folder), ["sluice.yml"]);
});

test("the number of revisions and the length of their file are bounded", async (context) => {
  const { file, kept } = folderOf(context);
  const { store, stop } = await open(file, { number: 3 });
  context.after(stop);
  for (let index = 0; index < 120; index++)
    await store.write([service(`s-${index}`)], { author: `author ${index % 2}` });
  assert.deepEqual(
    (await listed(store)).map(({ number }) => number),
    [120, 119, 118],
  );
  assert.ok(readFileSync(kept, "utf8").split("\n").length < 110);
});

test("the changes of a revision with too many bytes, and a revision beyond the age, are not kept", async (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const limits = { number: 100, age: 50 };
  const revisions = createRevisionLog({ path: null, limits, log });
  await revisions.start("hash");
  const change = { collection: "services", id: "x".repeat(MAX_REVISION_BYTES), before: null, after: null } as const;
  await revisions.record({ author: "ann", changes: [change], hash: "next" });
  const { revisions: both } = await revisions.list({ size: 9 });
  assert.deepEqual(
    both.map(({ author, counts }) => [author, counts?.created]),
    [
      ["ann", undefined],
      [FILE_AUTHOR, 0],
    ],
  );
  context.mock.timers.tick(limits.age + 1);
  assert.equal((await revisions.list({ size: 9 })).revisions.length, 1);
});
