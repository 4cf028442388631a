import assert from "node:assert/strict";
import { test } from "node:test";
import { readYaml } from "../parse/yaml.ts";
import { layoutOf, layoutText } from "./layout.ts";
import { flattenText, renderItem } from "./render-item.ts";

const head = '_format_version: "3.0"\n';

const wholes: readonly [string, string, readonly (readonly string[])[]][] = [
  [
    "unindented lists",
    `${head}services:\n- name: a\n- name: b\nroutes:\n- name: r\n`,
    [["- name: a\n", "- name: b\n"], ["- name: r\n"]],
  ],
  [
    "comments above an item belong to that item, and comments with deeper indentation to the previous item",
    `# top\n${head}services: # mine\n  # of a\n  - name: a # here\n    # in a\n\n  # of b\n  -\n    name: b\n# of routes\nroutes:\n- name: r\n# end\n`,
    [["  # of a\n|  - name: a # here\n    # in a\n", "\n  # of b\n|  -\n    name: b\n"], ["- name: r\n"]],
  ],
  ["empty lists", `${head}services: []\nroutes:\nplugins: ~\nconsumers: [ ] # none\n`, [[], [], [], []]],
  [
    "Windows line endings, a document end marker, and no final line break",
    `${head}services:\r\n- name: a\r\n  host: b\r\n...`,
    [["- name: a\r\n  host: b\r\n"]],
  ],
  [
    "a multi-line string that looks like an item",
    `---\n${head}services:\n  - name: |\n      x\n      - name: no\n      # no\n  - name: b`,
    [["  - name: |\n      x\n      - name: no\n      # no\n", "  - name: b\n"]],
  ],
  [
    "the last of two lists with one name",
    `${head}services:\n- name: a\nroutes:\n- name: r\nservices:\n- name: b\n`,
    [["- name: r\n"], ["- name: b\n"]],
  ],
  [
    "members that are not lists of entities, between the lists",
    `${head}services:\n- name: a\n_comment: x\nroutes:\n- {name: r}\n_ignore: []\n`,
    [["- name: a\n"], ["- {name: r}\n"]],
  ],
];

for (const [what, text, items] of wholes) {
  test(`layoutOf divides a file into its items: ${what}`, () => {
    const layout = layoutOf(text);
    assert.ok(layout);
    const pieces = layout.lists.map((list) =>
      list.items.map(({ lead, body }) => (lead === "" ? body : `${lead}|${body}`)),
    );
    assert.deepEqual(pieces, items);
    assert.deepEqual(readYaml(layoutText(layout)).value?.data ?? "fault", withoutEmpty(text));
  });
}

/** The data with null for empty lists, because the empty values themselves may be removed. */
const withoutEmpty = (text: string) => {
  const data = readYaml(text).value?.data as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      name !== "_ignore" && JSON.stringify(value) === "[]" ? null : value,
    ]),
  );
};

test("layoutOf and layoutText change no byte of a file that has no empty lists and ends in a line break", () => {
  for (const [, text] of wholes.filter(([, text]) => !/\[ ?\]|~/.test(text) && text.endsWith("\n"))) {
    const layout = layoutOf(text);
    assert.equal(layout && layoutText(layout), text);
  }
});

const odd: readonly [string, string][] = [
  ["a list in flow style", `${head}services: [{name: a}] # c\n`],
  ["a document in flow style", '{_format_version: "3.0", services: [{name: a}]}'],
  [
    "aliases",
    `${head}_comment: &x hi\nservices:\n- &a\n  name: a # c\n  tags: [x]\n- {<<: *a, name: b}\nroutes:\n- name: *x\n`,
  ],
  ["an indented top level", `  _format_version: "3.0"\n  services:\n  - name: a\n`],
];

for (const [what, text] of odd) {
  test(`flattenText rewrites a file that cannot be divided: ${what}`, () => {
    assert.equal(layoutOf(text), null);
    const { data } = readYaml(text).value ?? {};
    const flat = flattenText(text, data);
    assert.deepEqual(readYaml(flat).value?.data, data);
    assert.ok(layoutOf(flat));
    assert.equal(/# c/.test(flat), /# c/.test(text));
  });
}

const edits: readonly [string, string, object, string][] = [
  [
    "a changed value",
    "  - name: a # x\n    port: 1 # y\n    # z\n",
    { name: "a", port: 2 },
    "  - name: a # x\n    port: 2 # y\n    # z\n",
  ],
  [
    "a new member",
    "- name: 'a'\n  paths: [/a]\n",
    { name: "a", paths: ["/a"], tags: ["yes"] },
    "- name: 'a'\n  paths: [/a]\n  tags:\n    - \"yes\"\n",
  ],
  [
    "unindented lists",
    "- name: a\n  paths:\n  - /a\n",
    { name: "a", paths: ["/a", "/b"] },
    "- name: a\n  paths:\n  - /a\n  - /b\n",
  ],
  [
    "lists below the first name",
    "- paths:\n    - /a\n  port: 1\n",
    { paths: ["/a"], port: 2 },
    "- paths:\n    - /a\n  port: 2\n",
  ],
  [
    "lists at the column of the first name",
    "  - paths:\n    - /a\n    port: 1\n",
    { paths: ["/a"], port: 2 },
    "  - paths:\n    - /a\n    port: 2\n",
  ],
  [
    "indented lists deep in an item",
    "  - name: a\n    routes:\n      - name: b\n        paths:\n          - /a\n",
    { name: "c", routes: [{ name: "b", paths: ["/a"] }] },
    "  - name: c\n    routes:\n      - name: b\n        paths:\n          - /a\n",
  ],
  ["a removed member", "- name: a\n  port: 1\n  host: b\n", { name: "a", host: "b" }, "- name: a\n  host: b\n"],
  [
    "a multi-line string",
    "  - name: |\n      x\n      y\n    port: 1\n",
    { name: "x\ny\n", port: 2 },
    "  - name: |\n      x\n      y\n    port: 2\n",
  ],
];

for (const [what, before, data, after] of edits) {
  test(`renderItem edits an item: ${what}`, () => {
    assert.equal(renderItem(data, { before, indent: before.indexOf("-") }), after);
  });
}

test("renderItem renders an item that is new or cannot be edited, on request with Windows line endings", () => {
  assert.equal(renderItem({ name: "on", tags: ["a"] }, { indent: 2 }), '  - name: "on"\n    tags:\n      - a\n');
  assert.equal(renderItem({ name: "a" }, { indent: 0, before: "- name: x\n- name: y\n" }), "- name: a\n");
  assert.equal(renderItem({ name: "a" }, { indent: 0, crlf: true }), "- name: a\r\n");
});
