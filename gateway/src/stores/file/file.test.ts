import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Collection, checkEntity, collections, type Entity, loadText, type Snapshot } from "@sluice/model";
import fc from "fast-check";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { randomCases } from "../../../../tools/stages/random-cases.ts";
import { createFileSource } from "../../sources/file/file-source.ts";
import { createIntake } from "../../sources/intake.ts";
import { readAll } from "../read-all.ts";
import { type Store, StoreUnavailable, type Write } from "../store.ts";
import { createFileStore } from "./index.ts";
import { buildFileTree } from "./tree.ts";

const log = { info() {}, warn() {}, error() {} };

interface Opened {
  readonly file: string;
  readonly store: Store;
  readonly text: () => string;
  /** The snapshot that the node serves. */
  readonly snapshot: () => Snapshot | undefined;
}

async function open(
  context: Pick<TestContext, "after">,
  text: string,
  { writable = true, name = "sluice.yml" } = {},
): Promise<Opened> {
  const folder = temporaryFolder("file");
  const file = join(folder.path, name);
  writeFileSync(file, text);
  const source = createFileSource({ file, log, keepContent: true, interval: 60_000 });
  let served: Snapshot | undefined;
  const serve = (snapshot: Snapshot) => {
    served = snapshot;
  };
  await source.start(createIntake({ node: "n", version: "0", serve }));
  context.after(async () => {
    await source.stop();
    folder.remove();
  });
  const store = createFileStore({ file, source, writable, programmed: async () => null, log });
  return { file, store, text: () => readFileSync(file, "utf8"), snapshot: () => served };
}

const head = '_format_version: "3.0"\n';
const entity = (collection: Collection, raw: object): Entity => {
  const { value, violations } = checkEntity(collection, raw);
  if (!value) throw new Error(JSON.stringify(violations));
  return value;
};

async function change(store: Store, collection: Collection, name: string, members: object): Promise<void> {
  const found = await store.find(collection, { member: collection === "consumers" ? "username" : "name", value: name });
  const after = { ...found, ...members } as Entity;
  assert.equal((await store.write([{ op: "replace", collection, entity: after }])).fault, undefined);
}

const edits: readonly [string, string, (store: Store) => Promise<unknown>, string][] = [
  [
    "one value, and keeps all comments, order and spelling",
    `# mine\n${head}services: # all\n  # first\n  - url: http://up/x # where\n    name: a\n\n  # second\n  - name: b\n    url: 'http://up/b'\n# end\n`,
    (store) => change(store, "services", "b", { retries: 1 }),
    `# mine\n${head}services: # all\n  # first\n  - url: http://up/x # where\n    name: a\n\n  # second\n  - name: b\n    url: 'http://up/b'\n    retries: 1\n# end\n`,
  ],
  [
    "a url into the members host, port and path if one of its parts changes",
    `${head}services:\n- name: a\n  url: http://up/x\n`,
    (store) => change(store, "services", "a", { port: 81 }),
    `${head}services:\n- name: a\n  host: up\n  port: 81\n  path: /x\n`,
  ],
  [
    "the last of two lists with equal names, and drops the first of two equal keys in the item that it writes",
    `${head}services: # old\n- {name: a, host: old}\nservices:\n- name: a\n  host: old\n  host: up\n- name: b\n  host: x\n  host: y\n`,
    (store) => change(store, "services", "a", { retries: 1 }),
    `${head}services: # old\n- {name: a, host: old}\nservices:\n- name: a\n  host: up\n  retries: 1\n- name: b\n  host: x\n  host: y\n`,
  ],
  [
    "a file in flow style to block style, and drops all but the last of equal keys",
    `{_format_version: "3.0", services: [{name: z, host: z}], services: [{name: a, host: old, host: up}]}\n`,
    (store) => change(store, "services", "a", { retries: 1 }),
    `${head}services:\n  - name: a\n    host: up\n    retries: 1\n`,
  ],
  [
    "no other item when an item is added at the end",
    `${head}services:\n- {name: a, host: up}`,
    (store) =>
      store.write([{ op: "create", collection: "services", entity: entity("services", { name: "b", host: "c" }) }]),
    `${head}services:\n- {name: a, host: up}\n- name: b\n  host: c\n`,
  ],
  [
    "names that refer to a renamed entity, and keeps the entity's id",
    `${head}services:\n- {name: a, host: up}\nroutes:\n- name: r\n  paths: [/]\n  service: a # this\nplugins:\n- name: cors\n  service: {name: a}\n`,
    (store) => change(store, "services", "a", { name: "z" }),
    `${head}services:\n- {name: z, host: up, id: 8d5ff0ab-36fc-5dbe-94c9-2e5ca2ac8d1f}\nroutes:\n- name: r\n  paths: [/]\n  service: z # this\nplugins:\n- name: cors\n  service: z\n`,
  ],
  [
    "an item, to insert a nested list with a new entity",
    `${head}consumers:\n  - username: bob\n`,
    async (store) => {
      const bob = await store.find("consumers", { member: "username", value: "bob" });
      const key = entity("keyauth_credentials", { key: "k", consumer: { id: bob?.id } });
      return store.write([{ op: "create", collection: "keyauth_credentials", entity: key }]);
    },
    `${head}consumers:\n  - username: bob\n    keyauth_credentials:\n      - key: k\n`,
  ],
  [
    "a list to an empty list, and drops the comment of its last item",
    `${head}services:\n# of a\n- name: a\n  host: up\n# of nobody\n`,
    (store) => store.write([{ op: "remove", collection: "services", by: { member: "name", value: "a" } }]),
    `${head}services:\n# of nobody\n`,
  ],
];

for (const [what, before, run, after] of edits) {
  test(`a write changes ${what}`, async (context) => {
    const { store, text } = await open(context, before);
    await run(store);
    const withoutIds = (words: string) => words.replaceAll(/id: [\da-f-]{36}/g, "id: ID");
    assert.equal(withoutIds(text()), withoutIds(after));
  });
}

test("a write to a JSON file keeps it in JSON with the same indentation", async (context) => {
  const data = { _format_version: "3.0", _comment: "mine", services: [{ name: "a", url: "http://up" }] };
  const { store, text } = await open(context, `${JSON.stringify(data, null, 4)}\n`, { name: "sluice.json" });
  await change(store, "services", "a", { retries: 1 });
  const after = { ...data, services: [{ name: "a", url: "http://up", retries: 1 }] };
  assert.equal(text(), `${JSON.stringify(after, null, 4)}\n`);
});

test("a read-only file is not written, but a write to it can be planned", async (context) => {
  const { store, text } = await open(context, head, { writable: false });
  const write: Write = { op: "create", collection: "services", entity: entity("services", { name: "a", host: "b" }) };
  assert.deepEqual(await store.write([write]), { fault: { kind: "read-only" }, index: 0 });
  assert.equal((await store.write([write], { plan: true })).effects?.length, 1);
  assert.equal(text(), head);
});

test("a write to a file that is invalid is refused with the position of the file's error", async (context) => {
  const { store, file } = await open(context, head);
  writeFileSync(file, `${head}services: [\n`);
  const write: Write = { op: "create", collection: "services", entity: entity("services", { name: "a", host: "b" }) };
  await assert.rejects(store.write([write]), (error: Error) => {
    assert.ok(error instanceof StoreUnavailable);
    assert.match(error.message, /sluice\.yml:2:11: /);
    return true;
  });
});

test("a write keeps changes that another writer has saved in the meantime", async (context) => {
  const { store, file, text } = await open(context, head);
  writeFileSync(file, `${head}# theirs\nservices:\n- {name: theirs, host: up}\n`);
  const mine: Write = { op: "create", collection: "services", entity: entity("services", { name: "a", host: "b" }) };
  assert.equal((await store.write([mine])).fault, undefined);
  assert.equal(text(), `${head}# theirs\nservices:\n- {name: theirs, host: up}\n- name: a\n  host: b\n`);
});

for (const [what, text, reason] of [
  ["a file of an older format, which has a different syntax", '_format_version: "2.1"\n', /format 2\.1/],
  [
    "decK's own file, whose tags and defaults would be written out",
    `${head}_info: {select_tags: [a]}\n`,
    /has the member _info, which is decK's own/,
  ],
  [
    "decK's own file, whose shared configs would be written out",
    `${head}_plugin_configs: {}\n`,
    /has the member _plugin_configs/,
  ],
] as const) {
  test(`a write is refused for ${what}`, async (context) => {
    const { store } = await open(context, text);
    const write: Write = { op: "create", collection: "services", entity: entity("services", { name: "a", host: "b" }) };
    await assert.rejects(store.write([write]), reason);
  });
}

test("concurrent writes create their entities, and the node serves all of them", async (context) => {
  const { store, snapshot } = await open(context, `${head}services:\n- {name: a, host: up}\n`);
  const [one, two] = ["one", "two"].map((name) => entity("services", { name, host: "b" }));
  const outcomes = await Promise.all(
    [one, two].map((made) => store.write([{ op: "create", collection: "services", entity: made as Entity }])),
  );
  assert.deepEqual(
    outcomes.map(({ fault }) => fault),
    [undefined, undefined],
  );
  assert.equal(snapshot()?.services.size, 3);
});

const starts = [
  head,
  '{"_format_version": "3.0"}',
  `# c\n${head}services:\n  # s\n  - name: a\n    url: http://up\n    routes:\n      - paths: [/a]\n        plugins:\n          - name: cors\n      - name: r1\n        paths: [/b]\nconsumers:\n- username: bob\n  keyauth_credentials: [{key: k}]\n  plugins: [{name: rate-limiting, config: {minute: 1}}]\nupstreams: []\n`,
  `${head}services:\n- &s {name: a, host: up}\n- <<: *s\n  name: b\nroutes:\n- {name: r1, paths: [/x], service: b}\n`,
];

const names = fc.constantFrom("a", "b", "c", "on", "8d5ff0ab-36fc-5dbe-94c9-2e5ca2ac8d1f", "# x: y");
const step = fc.record({
  collection: fc.constantFrom(...collections.filter((name) => name !== "certificates" && name !== "snis")),
  op: fc.constantFrom("create", "create", "replace", "remove"),
  name: fc.option(names),
  /** An index into the existing entities. */
  pick: fc.nat(5),
  parent: fc.nat(5),
  nest: fc.boolean(),
});
const NOW = Math.floor(Date.now() / 1000);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** The write of a step, which may be rejected; undefined when there is no entity to write or remove. */
async function writeOf(store: Store, { collection, op, name, pick, parent, nest }: Step): Promise<Write | undefined> {
  const all = (await readAll(store)) as Readonly<Record<string, readonly Entity[]>>;
  const refer = (to: string) => {
    const id = all[to]?.[parent % (all[to].length || 1)]?.id;
    return id === undefined ? null : { id };
  };
  const raw: Readonly<Record<string, object>> = {
    services: { name, host: "up", tags: nest ? ["t"] : null },
    routes: { name, paths: [`/${pick}`], service: nest ? refer("services") : null },
    upstreams: { name: name === null || /[^a-z]/.test(name) ? "up" : name, slots: 10 + pick },
    targets: { target: `h${pick}:1`, upstream: refer("upstreams") },
    consumers: { username: name ?? "c", custom_id: nest ? `c${pick}` : null },
    keyauth_credentials: { key: name ?? "k", consumer: refer("consumers"), ttl: nest ? 9999 : null },
    plugins: {
      name: "rate-limiting",
      instance_name: name === null || /[^a-z]/.test(name) ? null : name,
      config: { minute: 1 + pick, redis: { host: nest ? "r" : null } },
      route: nest ? refer("routes") : null,
      service: pick % 2 ? refer("services") : null,
      consumer: pick % 3 ? null : refer("consumers"),
    },
  };
  const old = all[collection]?.[pick % (all[collection].length || 1)];
  const { value } = checkEntity(
    collection,
    { ...raw[collection], ...(op === "replace" && { id: old?.id }) },
    { now: nest ? NOW : 0 },
  );
  if (op === "remove") return old && { op, collection, by: { id: old.id } };
  if (!value || (op === "replace" && !old)) return undefined;
  return { op: op === "replace" ? "replace" : "create", collection, entity: value };
}

test("after any writes, the file has the content that readers and nodes received", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...starts),
      fc.array(step, { minLength: 1, maxLength: 14 }),
      async (start, steps) => {
        const ends: (() => Promise<void>)[] = [];
        const { store, text, snapshot } = await open(
          { after: (end) => void ends.push(end as () => Promise<void>) },
          start,
        );
        try {
          for (const one of steps) {
            const write = await writeOf(store, one);
            if (write) await store.write([write]);
          }
          const { value, violations } = loadText(text());
          assert.ok(value, JSON.stringify(violations));
          const byId = (a: Entity, b: Entity) => (a.id < b.id ? -1 : 1);
          const nodes = [...buildFileTree(value).nodes.values()];
          for (const [collection, list] of Object.entries(await readAll(store))) {
            const listed = nodes.filter((node) => node.collection === collection).map((node) => node.entity);
            assert.deepEqual(listed.sort(byId), list);
          }
          assert.equal(value.snapshot.hash, snapshot()?.hash);
        } finally {
          for (const end of ends) await end();
        }
      },
    ),
    { numRuns: randomCases(25) },
  );
});
