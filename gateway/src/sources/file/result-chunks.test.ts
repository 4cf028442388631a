import assert from "node:assert/strict";
import { test } from "node:test";
import type { Checked, Route } from "@sluice/model";
import { type FileReading, readFileText } from "./read-file.ts";
import { ResultAssembler, splitResult } from "./result-chunks.ts";

const file = "sluice.yaml";
const head = '_format_version: "3.0"\n';
const routes = (count: number): string =>
  Array.from({ length: count }, (_, at) => `- name: r${at}\n  paths: [/p${at}]\n`).join("");

const texts: readonly (readonly [what: string, text: string])[] = [
  ["an empty document", head],
  ["a document with one entity", `${head}routes:\n${routes(1)}`],
  [
    "a document with more entities than fit into a message",
    `${head}consumers: [{username: bob}]\nroutes:\n${routes(450)}`,
  ],
  ["an invalid document", `${head}routes: [{name: [a]}]\n`],
];

const read = (text: string): Checked<FileReading> => readFileText({ text, file, before: null, withData: false });

for (const [what, text] of texts) {
  test(`the result of reading ${what} is the same after it was sent in parts`, () => {
    const parts = new ResultAssembler();
    // Twice: the second result must not contain parts of the first.
    for (let turn = 0; turn < 2; turn++) {
      const messages = [...splitResult(read(text))];
      const taken = messages.map((message) => parts.add(message));
      assert.ok(taken.slice(0, -1).every((before) => before === null));
      assert.deepEqual(withoutEmpty(taken.at(-1)), withoutEmpty(read(text)));
    }
  });
}

test("equal lists and equal references of several entities become one shared object", () => {
  const text = `${head}services: [{name: up, host: up.test}]\nroutes:\n${routes(3).replaceAll("  paths", "  service: {name: up}\n  paths")}`;
  const [first, ...others] = [...splitResult(read(text))].flatMap((message) =>
    "collection" in message && message.collection === "routes" ? (message.entities as readonly Route[]) : [],
  );
  assert.equal(others.length, 2);
  for (const other of others) {
    assert.equal(other.protocols, first?.protocols);
    assert.equal(other.service, first?.service);
    assert.notEqual(other.paths, first?.paths);
  }
});

/** The result without its empty collections, which are equivalent to absent ones. */
function withoutEmpty(checked: Checked<FileReading> | null | undefined): unknown {
  if (!checked || checked.violations) return checked;
  const put = Object.fromEntries(Object.entries(checked.value.put).filter(([, list]) => list.length > 0));
  return { ...checked.value, put };
}
