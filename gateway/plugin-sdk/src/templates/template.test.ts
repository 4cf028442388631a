import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TemplateError, type TemplateScope } from "./expression.ts";
import { MAX_TEMPLATE, parseTemplate } from "./template.ts";

const values: Readonly<Record<string, string | true>> = {
  "headers.authorization": "Bearer jwt",
  "headers.x-y": "dashed",
  "headers.empty": "",
  "query_params.a": "1",
  "query_params.flag": true,
  "uri_captures.user": "foo",
  "uri_captures.1": "first",
  "shared.version": "1.2.3",
};
const scope: TemplateScope = (table, name) => values[`${table}.${name}`];

const parsed = (source: string) => {
  const { value, violations } = parseTemplate(source);
  if (value === undefined) assert.fail(violations[0]?.message);
  return value;
};

const KEYS =
  "$((headers.authorization ~= nil and headers.authorization:sub(1, 10) ~= 'Bearer sb_') and headers.authorization or " +
  "(headers.apikey == 'sb_publishable' and 'Bearer anon') or (headers.apikey == 'sb_secret' and 'Bearer service') or " +
  "headers.apikey)";

describe("a template", () => {
  for (const [source, expected] of [
    ["plain", "plain"],
    ["value:2 #x $x (y) $", "value:2 #x $x (y) $"],
    ["é", "\xc3\xa9"],
    ["$(headers.Authorization)!", "Bearer jwt!"],
    ["$(headers['x-y'])$(headers[\"X-Y\"])", "dasheddashed"],
    ["a$(query_params.a)b$(uri_captures.user)c$(shared.version)", "a1bfooc1.2.3"],
    ["$(headers.absent)$(false)$(nil)", ""],
    ["$(query_params.flag)", "true"],
    ["$('$(headers.x)')", "$(headers.x)"],
    ["$(')')", ")"],
    [`$("a\\"\\065\\n")`, 'a"A\n'],
    ["$(uri_captures.none or 'default')", "default"],
    ["$(uri_captures[1])/$(uri_captures[01])/$(uri_captures[9] or 'none')", "first/first/none"],
    ["$(headers.empty or 'default')", ""],
    [`$(headers.apikey or "Bearer " .. headers["x-y"])`, "Bearer dashed"],
    ["$(nil == false)", ""],
    ["$(not nil == true)", "true"],
    ["$('a' .. 'b' == 'ab' and 'yes' or 'no')", "yes"],
    ["$('a' == 'a' ~= false)", "true"],
    ["$(true or false and nil)", "true"],
    ["$((true or false) and nil)", ""],
    ["$(headers.authorization:sub(1, 6))", "Bearer"],
    ["$(headers.authorization:sub(-3))", "jwt"],
    ["$(headers.authorization:sub(8, -2))", "jw"],
    ["$(headers.authorization:sub(0, 0))|", "|"],
    ["$(headers.authorization:sub(5, 2))|", "|"],
    ["$(headers.authorization:sub(-100, 100))", "Bearer jwt"],
    ["$(headers.authorization:lower():sub(1, 1))$(('bc'):upper())", "bBC"],
    [KEYS, "Bearer jwt"],
  ] as const) {
    it(`renders ${source} to ${JSON.stringify(expected)}`, () => {
      assert.equal(parsed(source).render(scope), expected);
    });
  }

  for (const [headers, expected] of [
    [{ authorization: "Bearer jwt", apikey: "sb_secret" }, "Bearer jwt"],
    [{ authorization: "Bearer sb_secret", apikey: "sb_secret" }, "Bearer service"],
    [{ apikey: "sb_publishable" }, "Bearer anon"],
    [{ apikey: "legacy" }, "legacy"],
    [{}, ""],
  ] as readonly (readonly [Readonly<Record<string, string>>, string])[]) {
    it(`computes the Authorization header from ${JSON.stringify(headers)} as Supabase's configuration does`, () => {
      assert.equal(
        parsed(KEYS).render((_table, name) => headers[name]),
        expected,
      );
    });
  }

  it("has a constant text only if it contains no expressions", () => {
    assert.deepEqual([parsed("a").constant, parsed("$('a')").constant], ["a", null]);
  });

  for (const [source, problem] of [
    ["$(headers)", "the expression is not complete|`\\)` is not understood here"],
    ["$(headers.a", "a `\\)` is missing"],
    ["$()", "`\\)` is not understood here"],
    ["$(10 * uri_captures.user)", "`\\*` is not understood"],
    ["$(headers.a == 10)", "`10` is not understood here"],
    ["$(headers[0])", "`0` is not understood here"],
    ["$(uri_captures[-1])", "`-` is not understood here"],
    ["$(uri_captures user2)", "`user2` is not understood here"],
    ["$(ERROR())", "`ERROR` is not understood"],
    ["$(type(headers.x) == 'table')", "`type` is not understood"],
    ["$(os.exit())", "`os` is not understood"],
    ["$(shared.written = true)", "`=` is not understood"],
    ["$(headers.a:gsub('a', 'b'))", "`a` is not understood here"],
    ["$(headers.a:rep(9))", "the method :rep with this number of arguments \\(1\\) is not understood"],
    ["$(headers.a:lower(1))", "the method :lower with this number of arguments \\(1\\)"],
    ["$(headers.a.b)", "`.` is not understood here"],
    ["$(headers.a[1])", "`\\[` is not understood here"],
    ["$(headers.a())", "`\\(` is not understood here"],
    ["$('a':lower())", "a string must be in parentheses"],
    ["$('a)", "a string is not closed"],
    ["$('\\x41')", "the escape \\\\x is not understood"],
    ["$('\\256')", "the escape \\\\256 is above 255"],
    ["$(headers.a -- comment)", "`-` is not understood here"],
    ["$(#headers.a)", "`#` is not understood"],
    ["$(headers.a < 'b')", "`<` is not understood"],
    ["$(or)", "`or` is not understood here"],
    ["$(...)", "`\\.` is not understood"],
    [`$(${"(".repeat(40)}nil${")".repeat(40)})`, "nested deeper than 32"],
  ] as const) {
    it(`is refused with a list of what it may contain: ${source}`, () => {
      const message = parseTemplate(source).violations?.[0]?.message ?? "";
      assert.match(message, new RegExp(problem));
      assert.match(message, /; expressions may contain headers\.x, query_params\.x/);
    });
  }

  it("is refused when it is too long", () => {
    assert.match(parseTemplate("a".repeat(MAX_TEMPLATE + 1)).violations?.[0]?.message ?? "", /longer than 4096/);
  });

  for (const source of ["$('a' .. headers.none)", "$(headers.none:lower())", "$(true .. 'a')", "$((nil):sub(1))"]) {
    it(`cannot be rendered if an expression would fail in Lua too: ${source}`, () => {
      assert.throws(() => parsed(source).render(scope), TemplateError);
    });
  }

  it("cannot be rendered if a concatenation or the result would be too long", () => {
    const long: TemplateScope = () => "x".repeat(60_000);
    assert.throws(() => parsed("$(headers.a .. headers.a)").render(long), TemplateError);
    assert.throws(() => parsed("$(headers.a)$(headers.a)").render(long), TemplateError);
  });
});
