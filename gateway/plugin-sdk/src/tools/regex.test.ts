import assert from "node:assert/strict";
import { test } from "node:test";
import { compileRegex, type Regex } from "./regex.ts";

function regex(source: string): Regex {
  const { value } = compileRegex(source);
  assert.ok(value, source);
  return value;
}

test("a pattern matches from the start and returns the length and the groups that took part", () => {
  const users = regex(String.raw`/users/(?<id>\d+)(?:/(?P<part>[a-z]+))?`);
  const { length, captures } = users.matchPrefix("/users/12/items/x") ?? assert.fail();
  assert.equal(length, "/users/12/items".length);
  assert.deepEqual({ ...captures }, { 0: "/users/12/items", 1: "12", 2: "items", id: "12", part: "items" });
  assert.deepEqual({ ...users.matchPrefix("/users/7")?.captures }, { 0: "/users/7", 1: "7", id: "7" });
  assert.deepEqual({ ...regex("/a").matchPrefix("/a")?.captures }, {});
  assert.equal(users.matchPrefix("/x/users/12"), undefined);
});

test("the object with the groups has no prototype, even if a group is called constructor", () => {
  const captures = regex("/(?<constructor>a)").matchPrefix("/a")?.captures;
  assert.equal(Object.getPrototypeOf(captures), null);
});

test("the length of a match is in UTF-16 code units", () => {
  assert.equal(regex("/😀é").matchPrefix("/😀é/x")?.length, "/😀é".length);
});

test("a match prefers the leftmost alternative, as in Perl", () => {
  assert.equal(regex("/a|/ab").matchPrefix("/ab")?.length, 2);
});

test("a pattern can be tested for a match anywhere and for a match of the whole text", () => {
  assert.equal(regex("b").test("abc"), true);
  assert.equal(regex("b").testWhole("abc"), false);
  assert.equal(regex("a.c").testWhole("abc"), true);
});

const refused = [
  "(a",
  "[a",
  "*a",
  "a++",
  "(?=x)",
  "(?!x)",
  "(?<=x)y",
  "(?<!x)y",
  "(a)\\1",
  "\\k<n>",
  "(?P=n)",
  "(?>a)",
  "(?|a|b)",
  "(?(1)a)",
  "(?R)",
  "(?#c)",
  "(?x)a",
  "\\K",
  "\\G",
  "\\Z",
  "\\R",
  "\\X",
  "\\h",
  "\\N",
  "\\e",
  "\\cA",
  "\\u00e9",
  "(?<n>a)(?<n>b)",
  "(?<n-x>a)",
  "a{1001}",
  "(x{1000}){1000}",
  "\\pL{1000}".repeat(12),
];

for (const source of refused) {
  test(`the pattern ${source.slice(0, 20)} is refused with a reason`, () => {
    const { violations } = compileRegex(source);
    assert.equal(violations?.length, 1);
    assert.match(violations[0]?.message ?? "", /^[a-z]/);
  });
}

test("matching takes time that is linear in the text where backtracking would not end", () => {
  const evil = regex("(?:/a+)+$");
  const started = performance.now();
  assert.equal(evil.test(`${"/aaaa".repeat(2000)}!`), false);
  assert.ok(performance.now() - started < 1000);
});
