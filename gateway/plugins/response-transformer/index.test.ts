import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeExchangeOptions, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { responseTransformer } from "./index.ts";

const instance = (config: object) =>
  responseTransformer.phases(withConfigDefaults("response-transformer", config), fakeContext());

type Lists = Readonly<Record<string, string | readonly string[]>>;

/** A config that gives each of these actions its entries for `list`. */
const on = (list: "headers" | "json", actions: Lists) =>
  Object.fromEntries(Object.entries(actions).map(([action, entries]) => [action, { [list]: [entries].flat() }]));

type HeaderCase = readonly [
  what: string,
  actions: Lists,
  given: Readonly<Record<string, string>>,
  expected: Readonly<Record<string, string>>,
];

const headerCases: readonly HeaderCase[] = [
  ["removes headers in any letter case", { remove: ["H1", "h2"] }, { h1: "1", h2: "2", h3: "3" }, { h3: "3" }],
  ["renames a header that exists", { rename: ["h1:h2", "h3:h4"] }, { h1: "v1" }, { h2: "v1" }],
  ["overwrites the header with the new name", { rename: "h1:h2" }, { h1: "v1", h2: "v2" }, { h2: "v1" }],
  ["keeps a header that is renamed to its own name", { rename: "h1:H1" }, { h1: "v1" }, { h1: "v1" }],
  ["replaces a header that exists", { replace: ["h1:v1", "h2:value:2"] }, { h2: "v" }, { h2: "value:2" }],
  ["adds a header that does not exist", { add: ["h1:v1", "h2:value:2"] }, { h1: "v" }, { h1: "v", h2: "value:2" }],
  ["appends values", { append: ["h1:v2", "h2:v1"] }, { h1: "v1" }, { h1: "v1, v2", h2: "v1" }],
  ["appends to a header that it has added", { add: "h1:v1", append: "h1:v2" }, {}, { h1: "v1, v2" }],
  [
    "changes headers in the order of the actions",
    { remove: "h1", replace: "h2:v3", add: "h3:v3", append: "h3:v4" },
    { h1: "v1", h2: "v2" },
    { h2: "v3", h3: "v3, v4" },
  ],
  [
    "adds only headers that did not exist before any change, and replaces only headers that did",
    { remove: "h1", rename: "h2:h3", add: "h1:v", replace: "h3:v" },
    { h1: "1", h2: "2" },
    { h3: "2" },
  ],
  ["ignores an entry without a value", { add: "h1:", replace: "h2:", append: "h3:" }, { h2: "2" }, { h2: "2" }],
  ["trims values", { add: "h1: v1 " }, {}, { h1: "v1" }],
  [
    "does not change headers that delimit messages",
    { remove: "Content-Length", add: "Transfer-Encoding:chunked", rename: "h1:connection" },
    { "content-length": "3", h1: "1" },
    { "content-length": "3", h1: "1" },
  ],
];

const TYPED = ["string", "string", "string", "number", "boolean", "boolean"];
const NEW = ["p1:v1", "p3:value:3", 'p4:"v1"', "p5:-1", "p6:false", "p7:true"];

type BodyCase = readonly [what: string, config: object, body: string, expected: string];

const bodyCases: readonly BodyCase[] = [
  [
    "adds typed members",
    { add: { json: NEW, json_types: TYPED } },
    '{"p2":false}',
    '{"p2":false,"p1":"v1","p3":"value:3","p4":"\\"v1\\"","p5":-1,"p6":false,"p7":true}',
  ],
  [
    "adds only members that do not exist or are false",
    on("json", { add: ["a:1", "b:1", "c:1"] }),
    '{"a":0,"b":false,"c":null}',
    '{"a":0,"b":"1","c":null}',
  ],
  [
    "appends typed values",
    { append: { json: ["a:x", "b:-1", "c:true", "d:y"], json_types: ["string", "number", "boolean"] } },
    '{"a":"v","b":[1,[]],"c":5}',
    '{"a":["v","x"],"b":[1,[],-1],"c":[true],"d":["y"]}',
  ],
  ["appends to an empty list", on("json", { append: "a:1" }), '{"a":[ ]}', '{"a":["1"]}'],
  ["does not append to an object", on("json", { append: "a:1" }), '{"a": {} }', '{"a": {} }'],
  ["removes members", on("json", { remove: ["p1", "p2"] }), '{"p1" : "v1", "p2" : "v1"}', "{}"],
  [
    "renames members of any type",
    on("json", { rename: ["a:k", "b:l", "c:m"] }),
    '{"a":false,"b":[]}',
    '{"k":false,"l":[]}',
  ],
  [
    "replaces members that exist and are not false",
    { replace: { json: ["a:v", "b:-1.5", "c:true", "d:x"], json_types: ["string", "number", "boolean"] } },
    '{"a":1,"b":null,"c":false}',
    '{"a":"v","b":-1.5,"c":false}',
  ],
  [
    "changes members in the order of the actions",
    on("json", { remove: "p1", rename: "p4:p2", replace: "p2:v2", add: "p3:v1", append: "p3:v2" }),
    '{"p1":"v1","p4":"v1","a":[]}',
    '{"a":[],"p2":"v2","p3":["v1","v2"]}',
  ],
  [
    "skips a value of the type number that is not a number",
    { add: { json: ["a:x", "b:0x10"], json_types: ["number", "number"] } },
    "{}",
    '{"b":16}',
  ],
  ["adds the text null for an entry without a value", on("json", { add: "a:" }), "{}", '{"a":"null"}'],
  [
    "keeps the digits of numbers",
    on("json", { add: "a:1" }),
    '{"n":12345678901234567890}',
    '{"n":12345678901234567890,"a":"1"}',
  ],
  ["understands UTF-8", on("json", { rename: "é:ü", append: "ß:ö" }), '{"é":"€","ß":"1"}', '{"ß":["1","ö"],"ü":"€"}'],
  ["renames a member to __proto__", on("json", { rename: "a:__proto__" }), '{"a":{"x":1}}', '{"__proto__":{"x":1}}'],
  ["leaves malformed JSON unchanged", on("json", { add: "a:1" }), "not a json value", "not a json value"],
  ["leaves a list unchanged", on("json", { add: "a:1" }), "[1]", "[1]"],
  [
    "does not change the bytes of an object that lacks the configured member",
    on("json", { remove: "a" }),
    '{ "b": 1 }',
    '{ "b": 1 }',
  ],
];

const filterFor = (responseHeaders: FakeExchangeOptions["responseHeaders"]) =>
  instance(on("json", { add: "a:1" })).responseBody?.(fakeExchange({ responseHeaders })) ?? null;

describe("response-transformer", () => {
  for (const [what, actions, given, expected] of headerCases) {
    it(`on headers: ${what}`, () => {
      const exchange = fakeExchange({ responseHeaders: given });
      instance(on("headers", actions)).responseHeaders?.(exchange);
      assert.deepEqual(exchange.responseHeaders.all(), expected);
    });
  }

  it("renames all values of a header", () => {
    const exchange = fakeExchange();
    exchange.responseHeaders.append("h1", "v1");
    exchange.responseHeaders.append("h1", "v2");
    instance(on("headers", { rename: "h1:h2" })).responseHeaders?.(exchange);
    assert.deepEqual([exchange.responseHeaderValues("h1"), exchange.responseHeaderValues("h2")], [[], ["v1", "v2"]]);
  });

  for (const [what, config, body, expected] of bodyCases) {
    it(`on JSON: ${what}`, () => {
      const exchange = fakeExchange({ responseHeaders: { "content-type": "application/json" } });
      const filter = instance(config).responseBody?.(exchange);
      assert.ok(filter && "whole" in filter);
      assert.equal(filter.whole(Buffer.from(body)).toString(), expected);
    });
  }

  for (const [type, isJson] of [
    ["application/json", true],
    ["Application/JSON; charset=utf-8", true],
    ["application/problem+json; charset=utf-8", true],
    ["application/x-www-form-urlencoded, application/json", true],
    ["application/x-www-form-urlencoded", false],
    ["application/jsonp", false],
    ["text/json", false],
  ] as const) {
    it(`${isJson ? "buffers" : "does not buffer"} a body of the type ${type}`, () => {
      assert.equal(filterFor({ "content-type": type }) !== null, isJson);
    });
  }

  it("does not buffer a body without a type, or with a content coding other than identity", () => {
    assert.equal(filterFor({}), null);
    assert.equal(filterFor({ "content-type": "application/json", "content-encoding": "gzip" }), null);
    assert.notEqual(filterFor({ "content-type": "application/json", "content-encoding": "identity" }), null);
  });

  it("has no phase for bodies if only headers change", () => {
    assert.equal(instance(on("headers", { add: "a:1" })).responseBody, undefined);
  });

  it("has Kong's defaults", () => {
    const none = { json: [], headers: [] };
    const values = { ...none, json_types: [] };
    const defaults = { remove: none, rename: none, replace: values, add: values, append: values };
    assert.deepEqual(withConfigDefaults("response-transformer", {}), defaults);
  });

  for (const [config, violation] of [
    [on("headers", { rename: "x-a" }), "rename.headers.0: invalid value: x-a"],
    [on("headers", { rename: "x-requ,est-id:b" }), "rename.headers.0: 'x-requ,est-id' is not a valid header"],
    [on("headers", { rename: "a:b c" }), "rename.headers.0: 'b c' is not a valid header"],
    [on("headers", { add: "just_a_key" }), "add.headers.0: invalid value: just_a_key"],
    [on("headers", { replace: "just_a_key" }), "replace.headers.0: invalid value: just_a_key"],
    [on("headers", { append: ["a:b", "just_a_key"] }), "append.headers.1: invalid value: just_a_key"],
    [on("headers", { add: "a b:c" }), "add.headers.0: 'a b' is not a valid header"],
    [on("json", { add: "just_a_key" }), "add.json.0: invalid value: just_a_key"],
    [on("json", { rename: ":a" }), "rename.json.0: invalid value: :a"],
    [{ add: { json_types: ["object"] } }, "add.json_types.0: expected one of: boolean, number, string"],
    [{ remove: { body: [] } }, "remove.body: unknown field"],
  ] as const) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("response-transformer", config), [violation]);
    });
  }
});
