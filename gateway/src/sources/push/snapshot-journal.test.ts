import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  applyChange,
  changeBetween,
  emptySnapshot,
  type PushChange,
  type PushDocument,
  type Snapshot,
  snapshotToDocument,
} from "@sluice/model";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { createSnapshotJournal } from "./snapshot-journal.ts";

const folder = temporaryFolder("keep");
after(() => folder.remove());
const quiet = { info() {}, warn() {}, error() {} };

const snapshotOf = (...names: string[]): Snapshot => {
  const services = names.map((name) => ({ name, host: "up.test" }));
  const applied = applyChange(emptySnapshot, { put: { services }, remove: {} });
  assert.ok(applied.value);
  return applied.value;
};
const whole = (revision: number, snapshot: Snapshot): PushDocument => ({
  term: 3,
  revision,
  document: snapshotToDocument(snapshot),
});
const step = (revision: number, from: Snapshot, to: Snapshot): PushChange => ({
  term: 3,
  revision,
  base: from.hash,
  change: changeBetween(from, to),
});
const [one, two, three] = [snapshotOf("a"), snapshotOf("a", "b"), snapshotOf("a", "b", "c")];

let files = 0;
const fresh = () => join(folder.path, `document-${++files}`);

/** Term, revision and hash of the document that a new process restores from the file; null: it restores none. */
async function kept(file: string): Promise<readonly unknown[] | null> {
  const found = await createSnapshotJournal({ file, log: quiet }).read();
  return found && [found.place.term, found.place.revision, found.snapshot.hash];
}

async function keepThree(file: string): Promise<void> {
  const keep = createSnapshotJournal({ file, log: quiet });
  keep.append(whole(1, one), one);
  await keep.close();
  keep.append(step(2, one, two), two);
  keep.append(step(3, two, three), three);
  await keep.close();
}

test("a restored push has the plugin that answers 503 in place of a plugin that the node does not know", async () => {
  const file = fresh();
  const plugins = [{ name: "oauth2", config: { a: 1 } }];
  const take = applyChange(one, { put: { plugins }, remove: {} }, { closePlugins: true });
  assert.ok(take.value);
  const keep = createSnapshotJournal({ file, log: quiet });
  keep.append(whole(1, one), one);
  await keep.close();
  keep.append({ term: 3, revision: 2, base: one.hash, change: { put: { plugins }, remove: {} } }, take.value);
  await keep.close();
  assert.deepEqual(await kept(file), [3, 2, take.value.hash]);
});

test("a document and the changes after it are restored, and only the owner of the file may read it", async () => {
  const file = fresh();
  assert.equal(await kept(file), null);
  await keepThree(file);
  assert.equal(readFileSync(file, "utf8").split("\n").length, 4, "one document and two changes");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(await kept(file), [3, 3, three.hash]);
});

const damages: readonly [what: string, damage: (file: string) => void, found: readonly unknown[] | null][] = [
  ["an incomplete last change", (file) => truncateSync(file, statSync(file).size - 5), [3, 2, two.hash]],
  ["a last change without a line break", (file) => truncateSync(file, statSync(file).size - 1), [3, 2, two.hash]],
  ["garbage at its end", (file) => appendFileSync(file, "garbage\n"), [3, 3, three.hash]],
  [
    "a last change that is based on another document",
    (file) => appendFileSync(file, '{"base":"x","change":{}}\n'),
    [3, 3, three.hash],
  ],
  ["an incomplete document", (file) => truncateSync(file, 50), null],
  ["no content", (file) => truncateSync(file, 0), null],
  ["an invalid document", (file) => writeFileSync(file, '{"revision":1,"document":{"routes":7}}\n'), null],
];
for (const [what, damage, found] of damages)
  test(`from a file with ${what}, ${found ? "the pushes before the damage are" : "nothing is"} restored`, async () => {
    const file = fresh();
    await keepThree(file);
    damage(file);
    assert.deepEqual(await kept(file), found);
  });

test("the first change after a start is saved as a whole document, whatever the file contains", async () => {
  const file = fresh();
  await keepThree(file);
  truncateSync(file, statSync(file).size - 5);
  const keep = createSnapshotJournal({ file, log: quiet });
  keep.append(step(4, two, three), three);
  await keep.close();
  assert.deepEqual(await kept(file), [3, 4, three.hash]);
});

test("many changes do not make the file longer than a few documents, and no temporary file remains", async () => {
  const file = fresh();
  const keep = createSnapshotJournal({ file, log: quiet });
  const [small, long] = [snapshotOf("a"), snapshotOf("a", ...Array.from({ length: 1000 }, (_, i) => `service-${i}`))];
  keep.append(whole(1, small), small);
  for (let turn = 1; turn <= 10; turn++) {
    const [from, to] = turn % 2 ? [small, long] : [long, small];
    keep.append(step(turn + 1, from, to), to);
    await keep.close();
  }
  assert.ok(statSync(file).size < 1_500_000, `${statSync(file).size} bytes`);
  assert.deepEqual(await kept(file), [3, 11, small.hash]);
  const name = file.slice(folder.path.length + 1);
  assert.deepEqual(
    readdirSync(folder.path).filter((other) => other.startsWith(name)),
    [name],
  );
});

test("of several failed writes, only the first is reported, and the whole document is saved when writing succeeds again", async () => {
  const errors: string[] = [];
  const place = join(folder.path, "away");
  const file = join(place, "document");
  const keep = createSnapshotJournal({
    file,
    log: { ...quiet, error: (_details, message) => void errors.push(message) },
  });
  keep.append(whole(1, one), one);
  await keep.close();
  keep.append(step(2, one, two), two);
  await keep.close();
  assert.deepEqual(errors, ["cannot save the document"]);
  mkdirSync(place);
  keep.append(step(3, two, three), three);
  await keep.close();
  assert.deepEqual(await kept(file), [3, 3, three.hash]);
});
