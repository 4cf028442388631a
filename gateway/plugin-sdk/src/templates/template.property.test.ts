/**
 * Any expression, printed with the fewest parentheses, has the same result as a direct interpretation of its syntax
 * tree.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TemplateError, type TemplateScope, type TemplateValue } from "./expression.ts";
import { parseTemplate } from "./template.ts";

type Binary = "or" | "and" | "==" | "~=" | "..";
type Tree =
  | { readonly kind: "constant"; readonly value: TemplateValue }
  | { readonly kind: "header"; readonly name: string }
  | { readonly kind: "not"; readonly operand: Tree }
  | { readonly kind: "binary"; readonly operator: Binary; readonly left: Tree; readonly right: Tree }
  | { readonly kind: "method"; readonly object: Tree; readonly first: number; readonly last: number };

/** The precedence of the operators (Lua 5.1 reference manual, section 2.5.6). */
const levels: Readonly<Record<Binary, number>> = { or: 1, and: 2, "==": 3, "~=": 3, "..": 4 };
const NOT = 5;
const METHOD = 6;

const levelOf = (tree: Tree): number => {
  if (tree.kind === "binary") return levels[tree.operator];
  if (tree.kind === "not") return NOT;
  return tree.kind === "constant" ? METHOD - 0.5 : METHOD;
};

function printed(tree: Tree, level: number): string {
  const text = bare(tree);
  return levelOf(tree) < level ? `(${text})` : text;
}

function bare(tree: Tree): string {
  switch (tree.kind) {
    case "constant":
      return tree.value === undefined ? "nil" : typeof tree.value === "string" ? `'${tree.value}'` : `${tree.value}`;
    case "header":
      return `headers["${tree.name}"]`;
    case "not":
      return `not ${printed(tree.operand, NOT)}`;
    case "method":
      return `${printed(tree.object, METHOD)}:sub(${tree.first}, ${tree.last})`;
    case "binary": {
      const level = levels[tree.operator];
      const right = tree.operator === "..";
      const [before, after] = [
        printed(tree.left, right ? level + 0.1 : level),
        printed(tree.right, right ? level : level + 0.1),
      ];
      return `${before} ${tree.operator} ${after}`;
    }
  }
}

const FAILED = Symbol("failed");
const holds = (value: TemplateValue) => value !== undefined && value !== false;

function interpreted(tree: Tree, scope: TemplateScope): TemplateValue | typeof FAILED {
  if (tree.kind === "constant") return tree.value;
  if (tree.kind === "header") return scope("headers", tree.name);
  if (tree.kind === "not") {
    const value = interpreted(tree.operand, scope);
    return value === FAILED ? FAILED : !holds(value);
  }
  if (tree.kind === "method") {
    const value = interpreted(tree.object, scope);
    if (typeof value !== "string") return FAILED;
    const { length } = value;
    return [...value]
      .filter((_, index) => within(index + 1, tree.first, length) && within(-(index + 1), -tree.last, -length))
      .join("");
  }
  const left = interpreted(tree.left, scope);
  if (left === FAILED) return FAILED;
  if (tree.operator === "or" && holds(left)) return left;
  if (tree.operator === "and" && !holds(left)) return left;
  const right = interpreted(tree.right, scope);
  if (right === FAILED || tree.operator === "or" || tree.operator === "and") return right;
  if (tree.operator === "==") return left === right;
  if (tree.operator === "~=") return left !== right;
  return typeof left === "string" && typeof right === "string" ? left + right : FAILED;
}

/** Whether a position is at or after a bound. A bound whose sign differs from the length's counts from the end. */
function within(position: number, bound: number, length: number): boolean {
  const fromStart = length >= 0 ? bound >= 0 : bound <= 0;
  return position >= (fromStart ? bound : length >= 0 ? length + bound + 1 : length + bound - 1);
}

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.record({
      kind: fc.constant("constant" as const),
      value: fc.constantFrom<TemplateValue>(undefined, true, false, "", "a", "b", "ab", "$(x)", ")"),
    }),
    fc.record({ kind: fc.constant("header" as const), name: fc.constantFrom("a", "b", "x-y", "none") }),
    fc.record({ kind: fc.constant("not" as const), operand: tie("tree") }),
    fc.record({
      kind: fc.constant("binary" as const),
      operator: fc.constantFrom<Binary>("or", "and", "==", "~=", ".."),
      left: tie("tree"),
      right: tie("tree"),
    }),
    fc.record({
      kind: fc.constant("method" as const),
      object: tie("tree"),
      first: fc.integer({ min: -4, max: 4 }),
      last: fc.integer({ min: -4, max: 4 }),
    }),
  ),
}));

const headers: Readonly<Record<string, string>> = { a: "a", b: "", "x-y": "abc" };
const scope: TemplateScope = (_table, name) => headers[name];

test("an expression of a template has Lua's precedence, truthiness and failures", () => {
  fc.assert(
    fc.property(tree, (expression) => {
      const source = `<$(${bare(expression)})>`;
      const { value, violations } = parseTemplate(source);
      assert.ok(value, `${source}: ${violations?.[0]?.message}`);
      const expected = interpreted(expression, scope);
      if (expected === FAILED) assert.throws(() => value.render(scope), TemplateError, source);
      else
        assert.equal(value.render(scope), `<${expected === undefined || expected === false ? "" : expected}>`, source);
    }),
    { numRuns: 3000 },
  );
});

test("any text is either parsed or refused with violations, and parsing never throws", () => {
  const part = fc.constantFrom(
    "$(",
    ")",
    "(",
    "headers",
    ".",
    "x",
    "[",
    "]",
    "'",
    '"',
    "\\",
    ":sub(",
    "1",
    ",",
    "-",
    " or ",
    " not ",
    "==",
    "..",
    "nil",
    "é",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 24 }), (parts) => {
      const { value, violations } = parseTemplate(parts.join(""));
      assert.ok((value === undefined) !== (violations === undefined));
    }),
    { numRuns: 3000 },
  );
});
