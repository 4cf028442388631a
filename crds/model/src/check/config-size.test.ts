import assert from "node:assert/strict";
import { test } from "node:test";
import { configSizeMessage, MAX_CHARACTERS, MAX_VALUES } from "./config-size.ts";
import { checkConfig, checkEntity } from "./index.ts";

const many = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item);
const cases: readonly (readonly [what: string, value: unknown, excess: string | undefined])[] = [
  ["nothing", {}, undefined],
  ["the maximum number of values", { origins: many(MAX_VALUES - 1, "*") }, undefined],
  ["one value more than the maximum", { origins: many(MAX_VALUES, "*") }, "holds more than 1000 values"],
  ["too many values in nested lists", { a: { b: many(500, [1]) } }, "holds more than 1000 values"],
  ["very many nulls", many(100_000, null), "holds more than 1000 values"],
  ["the maximum amount of text", { a: "x".repeat(MAX_CHARACTERS - 1) }, undefined],
  ["more text than the maximum", { a: "x".repeat(MAX_CHARACTERS) }, "holds more than 65536 characters"],
  ["a long name", { ["x".repeat(MAX_CHARACTERS + 1)]: 1 }, "holds more than 65536 characters"],
];
for (const [what, value, excess] of cases)
  test(`a config that holds ${what} ${excess ? "is too large" : "is within the limits"}`, () => {
    assert.equal(configSizeMessage(value), excess);
  });

test("a plugin whose config is too large is refused with a single message about the size", () => {
  const violations = [{ path: ["config"], message: "holds more than 1000 values" }];
  const plugin = { name: "cors", config: { origins: many(5000, 7) } };
  assert.deepEqual(checkEntity("plugins", plugin).violations, violations);
  assert.deepEqual(checkConfig("cors", plugin.config).violations, [{ ...violations[0], path: [] }]);
});
