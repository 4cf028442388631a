import assert from "node:assert/strict";
import { test } from "node:test";
import { definePluginFacts, type PluginFacts, record } from "@sluice/plugin-sdk";
import { registerPlugins } from "../plugins/index.ts";
import { checkConfig } from "./index.ts";

/** What `check` of a package in JavaScript may return although its type forbids it. */
const returned: readonly (readonly [what: string, value: unknown])[] = [
  ["a text", "no"],
  ["a promise", Promise.resolve([])],
  ["a violation without a path", [{ message: "no" }]],
  ["a violation whose path is a text", [{ path: "word", message: "no" }]],
  ["a violation without a message", [{ path: ["word"] }]],
  ["a violation that is null", [null]],
];

for (const [at, [what, value]] of returned.entries())
  test(`a config is invalid, and the process continues, if the plugin's check returns ${what}`, () => {
    const facts: PluginFacts = definePluginFacts({
      name: `checked-${at}`,
      version: "1.0.0",
      priority: 1,
      protects: true,
      schema: record({}, { description: "Nothing." }),
      check: () => value as never,
    });
    registerPlugins([facts]);
    const message =
      "the plugin's check failed: TypeError: it must return a list of violations, such as " +
      '[{ path: ["word"], message: "must not be empty" }]';
    assert.deepEqual(checkConfig(facts.name, {}), { violations: [{ path: ["@entity"], message }] });
  });

test("a plugin's check may be a generator, or return nothing", () => {
  const violation = { path: ["word"], message: "must not be empty" };
  const checks: readonly (readonly [check: () => unknown, found: readonly object[]])[] = [
    [() => [violation].values(), [violation]],
    [() => new Set(), []],
    [() => undefined, []],
  ];
  for (const [at, [check, found]] of checks.entries()) {
    const name = `generates-${at}`;
    const schema = record({}, { description: "Nothing." });
    registerPlugins([
      definePluginFacts({ name, version: "1.0.0", priority: 1, protects: true, schema, check: check as never }),
    ]);
    const { violations = [] } = checkConfig(name, {});
    assert.deepEqual(violations, found);
  }
});
