/** Reading only the edited items of a large file gives the same result as reading the whole text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { collections, hashTreeOf, loadText } from "@sluice/model";
import fc from "fast-check";
import { randomCases } from "../../../../tools/stages/random-cases.ts";
import { findEdit } from "./find-edit.ts";
import { readFileEdit, readFileText } from "./read-file.ts";
import { applyFileEdit, type ServedText } from "./served-text.ts";

const head = '_format_version: "3.0"\n';

function servedOf(text: string): ServedText | null {
  const { value } = readFileText({ text, file: "f", before: null, withData: false });
  const snapshot = loadText(text).value?.snapshot;
  return value?.isDivided && snapshot ? { text, snapshot } : null;
}

/** The node's text after an edit; null: the whole text must be read. */
async function afterEdit(served: ServedText, text: string): Promise<ServedText | null> {
  const edit = findEdit(served.text, text);
  if (edit === null) return null;
  // A structured clone, as if the result came from another process.
  return applyFileEdit(served, { text, ...edit }, async (request) => structuredClone(readFileEdit(request)));
}

function assertSame(edited: ServedText, text: string): void {
  const expected = servedOf(text);
  assert.ok(expected, "an edit of an invalid text was accepted");
  assert.equal(edited.snapshot.hash, expected.snapshot.hash);
  for (const name of collections) {
    assert.deepEqual(
      new Map<string, unknown>(edited.snapshot[name]),
      new Map<string, unknown>(expected.snapshot[name]),
    );
  }
  assert.deepEqual(hashTreeOf(edited.snapshot), hashTreeOf(expected.snapshot));
}

const X = "11111111-1111-4111-8111-111111111111";
const services =
  "services:\n- name: a\n  url: http://a.test\n  routes:\n  - name: a1\n    paths: [/a1]\n- name: b\n  url: http://b.test\n";
const plugin = "plugins:\n- name: cors\n  service: b\n";
const routes = "routes:\n- name: flat\n  service: a\n  paths: [/flat]\n";
const before = head + services + routes + plugin;

const edits: readonly (readonly [what: string, text: string, readByItself: boolean])[] = [
  ["a changed route of a service", before.replace("/a1", "/moved"), true],
  ["an added route", before.replace("- name: b\n", "  - name: a2\n    paths: [/a2]\n- name: b\n"), true],
  ["a removed route", before.replace("  routes:\n  - name: a1\n    paths: [/a1]\n", ""), true],
  ["a changed route that refers to another item", before.replace("/flat]", "/flat, /more]"), true],
  ["a plugin that moves to another service", before.replace("service: b", "service: a"), true],
  [
    "a route that is added before another item",
    head + services + routes.replace("routes:\n", `routes:\n- name: new\n  paths: [/n]\n`) + plugin,
    true,
  ],
  ["an added comment", before.replace("- name: b\n", "- name: b # b\n"), true],
  ["a route that loses its service", before.replace("- name: flat\n  service: a\n", "- name: flat\n"), true],
  ["a new name of a service to which items refer", before.replace("- name: b\n", "- name: c\n"), false],
  [
    "a service that keeps its name and gets a different id",
    before.replace("- name: b\n", `- name: b\n  id: ${X}\n`),
    false,
  ],
  ["a service that takes the name of another service", before.replace("- name: b\n", "- name: a\n"), false],
  [
    "a reference to a missing entity",
    before.replace("service: a\n  paths: [/flat]", "service: z\n  paths: [/flat]"),
    false,
  ],
  ["an invalid value", before.replace("/a1", "a1"), false],
  ["a changed head of the file", before.replace(head, `${head}_transform: false\n`), false],
  ["a second plugin with the same name for the same service", `${before}- name: cors\n  service: b\n`, false],
];

const anchored = `${head}services:\n- &limited\n  name: a\n  host: h.test\n  plugins: [{name: rate-limiting, config: {minute: 5}}]\n- <<: *limited\n  name: b\n`;
const endpointsOf = (id: string) =>
  `${head}_sluice:\n  endpoints:\n    ${X}: []\nservices:\n- {name: a, host: h.test, id: ${id}}\n- {name: b, host: h.test}\n`;

/** Texts in which unedited lines depend on an edited item. */
const referredTo: readonly (readonly [what: string, before: string, text: string])[] = [
  ["a changed item with an anchor", anchored, anchored.replace("minute: 5", "minute: 500")],
  [
    "an added item that defines the anchor of another item again",
    anchored,
    anchored.replace("- <<", "- &limited {name: c, host: c.test}\n- <<"),
  ],
  ["a removed item with an anchor", anchored.replace("- <<", "- &limited {name: c, host: c.test}\n- <<"), anchored],
  ["a removed service with endpoints", endpointsOf(X), endpointsOf(X.replaceAll("1", "2"))],
];
for (const [what, text, after] of referredTo) {
  test(`after an edit, the whole text is read: ${what}`, async () => {
    const served = servedOf(text);
    assert.ok(served);
    assert.equal(await afterEdit(served, after), null);
  });
}

for (const [what, text, readByItself] of edits) {
  test(`after an edit, ${readByItself ? "only the edited items are read" : "the whole text is read"}: ${what}`, async () => {
    const served = servedOf(before);
    assert.ok(served);
    const edited = await afterEdit(served, text);
    assert.equal(edited !== null, readByItself);
    if (edited) assertSame(edited, text);
  });
}

test("an edit keeps the objects of unchanged entities, even of those inside the edited item", async () => {
  const served = servedOf(before);
  assert.ok(served);
  const edited = await afterEdit(served, before.replace("http://a.test", "http://other.test"));
  const named = ({ snapshot }: ServedText) => snapshot.routes.values().find(({ name }) => name === "a1");
  assert.ok(edited && named(served));
  assert.equal(named(edited), named(served));
});

const name = fc.constantFrom("a", "b", "c", "d");
const routeItem = fc
  .record({ name: fc.constantFrom("r", "s", "t"), path: name })
  .map((one) => `name: ${one.name}, paths: [/${one.path}]`);
const serviceItem = fc
  .record({ name, id: fc.constantFrom("", `, id: ${X}`), routes: fc.array(routeItem, { maxLength: 2 }) })
  .map(
    (one) => `- {name: ${one.name}, host: h.test${one.id}, routes: [${one.routes.map((r) => `{${r}}`).join(", ")}]}\n`,
  );
const flatRoute = fc
  .record({ route: routeItem, service: name })
  .map((one) => `- {${one.route}, service: ${one.service}}\n`);
const consumer = name.map((one) => `- {username: ${one}, keyauth_credentials: [{key: key-${one}}]}\n`);
const pluginItem = fc
  .record({ of: fc.constantFrom("service", "consumer"), name })
  .map((one) => `- {name: rate-limiting, ${one.of}: ${one.name}, config: {minute: 5}}\n`);

const text = fc
  .record({
    services: fc.uniqueArray(serviceItem, { maxLength: 4 }),
    routes: fc.uniqueArray(flatRoute, { maxLength: 3 }),
    consumers: fc.uniqueArray(consumer, { maxLength: 3 }),
    plugins: fc.uniqueArray(pluginItem, { maxLength: 3 }),
  })
  .map(
    (lists) =>
      head +
      Object.entries(lists)
        .map(([list, items]) => `${list}:\n${items.join("")}`)
        .join(""),
  );

test("applying consecutive edits gives the same result as reading each whole text, or requires that the whole text is read", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 2, maxLength: 6 }), async (texts) => {
      let served: ServedText | null = null;
      for (const one of texts) {
        const edited: ServedText | null = served && (await afterEdit(served, one));
        if (edited) assertSame(edited, one);
        served = edited ?? servedOf(one) ?? served;
      }
    }),
    { numRuns: randomCases(40) },
  );
});
