import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { buildSchema, type FragmentDefinitionNode, Kind, parse } from "graphql";
import {
  costMeasure,
  depthMeasure,
  measureOperation,
  nestsDeeper,
  type OperationMeasure,
  rootFields,
  UNPAGED,
} from "./measures.ts";

const schema = buildSchema(
  "type Query { a: A, name: String, many(first: Int): [A!]!, few: [A] } type A { a: A, name: String, few: [A] }",
);

function of(source: string, how: OperationMeasure): number {
  const document = parse(source);
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const [operation] = document.definitions;
  assert.ok(operation?.kind === Kind.OPERATION_DEFINITION);
  return measureOperation({ selections: operation.selectionSet, typeName: "Query" }, how, { schema, fragments });
}

const nested = (levels: number): string => `${"{a".repeat(levels - 1)}{name}${"}".repeat(levels - 1)}`;
const doubling = (count: number): string =>
  [
    ...Array.from({ length: count }, (_, n) => `fragment F${n} on A { ...F${n + 1} ...F${n + 1} }`),
    `fragment F${count} on A { name }`,
  ].join(" ");

describe("the depth", () => {
  const cases = [
    ["{ name }", 1],
    ["{ a { name } }", 2],
    [nested(8), 8],
    ["{ a { ... { a { ... on A { name } } } } }", 3],
    ["{ a { ...F } } fragment F on A { a { name } }", 3],
    ["{ a { ...F ...F } } fragment F on A { ...G ...G } fragment G on A { a { name } }", 3],
    ["{ a { __typename } }", 1],
    ["{ __schema { types { fields { type { name } } } } }", 0],
    ["{ nothing { like { this } } }", 3],
    [`{ a { ...F0 } } ${doubling(60)}`, 2],
    ["{ a { ...F } } fragment F on A { a { ...F } }", 2],
  ] as const;
  for (const [source, levels] of cases) {
    const shown = source.length > 90 ? `${source.slice(0, 90)}...` : source;
    it(`of ${shown} is ${levels}`, () => assert.equal(of(source, depthMeasure), levels));
  }
});

describe("the number of root fields", () => {
  const cases = [
    ["{ name a { name } }", 2],
    ["{ x: name y: name }", 2],
    ["{ ...F ...F } fragment F on Query { name a { a { name } } }", 4],
    ["{ ... { name } ... on Query { name } }", 2],
  ] as const;
  for (const [source, count] of cases)
    it(`of ${source} is ${count}`, () => assert.equal(of(source, rootFields), count));
});

describe("the cost", () => {
  const page = 100;
  const cases = [
    ["{ name }", {}, 1],
    ["{ a { name } }", {}, 2],
    ["{ few { name } }", {}, UNPAGED * 2],
    ["{ many { name } }", {}, page * 2],
    ["{ many(first: 3) { name } }", {}, 6],
    ["{ many(first: 3) { few { name } } }", {}, 3 * (1 + UNPAGED * 2)],
    ["{ many(first: 1000000) { name } }", {}, page * 2],
    ["{ many(first: -1) { name } }", {}, page * 2],
    ["query($n: Int) { many(first: $n) { name } }", { n: 4 }, 8],
    ["query($n: Int) { many(first: $n) { name } }", {}, page * 2],
    ["query($n: Int) { many(first: $n) { name } }", { n: "4" }, page * 2],
    ["query($n: Int) { many(first: $n) { name } }", { n: Number.NaN }, page * 2],
    ["{ x: many(first: 1) { name } y: many(first: 1) { name } }", {}, 4],
    ["{ many(first: 2) { ...F } } fragment F on A { a { name } }", {}, 6],
    ["{ __schema { types { name } } }", {}, 0],
    ["{ unknown { name } }", {}, 2],
  ] as const;
  for (const [source, variables, total] of cases) {
    it(`of ${source} with the variables ${inspect(variables)} is ${total}`, () => {
      assert.equal(of(source, costMeasure({ page, variables })), total);
    });
  }

  it("of fragments that double repeatedly is computed quickly, and exceeds every limit", () => {
    assert.ok(of(`{ a { ...F0 } } ${doubling(400)}`, costMeasure({ page, variables: {} })) > 1e100);
  });
});

describe("variables", () => {
  const nest = (levels: number): unknown => (levels === 0 ? 1 : { a: [nest(levels - 1)] });
  const cases = [
    [{}, 1, false],
    [{ a: 1 }, 1, false],
    [{ a: [] }, 1, true],
    [nest(4), 8, false],
    [nest(5), 8, true],
  ] as const;
  for (const [value, limit, deeper] of cases) {
    it(`${JSON.stringify(value)} ${deeper ? "nest" : "do not nest"} deeper than the limit of ${limit}`, () => {
      assert.equal(nestsDeeper(value, limit), deeper);
    });
  }
});
