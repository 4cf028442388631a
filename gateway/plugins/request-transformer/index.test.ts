import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type FakeExchange,
  type FakeExchangeOptions,
  fakeContext,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { requestTransformer } from "./index.ts";

const instance = (config: object) =>
  requestTransformer.phases(withConfigDefaults("request-transformer", config), fakeContext());

async function send(
  config: object,
  options: FakeExchangeOptions = {},
  before: (exchange: FakeExchange) => void = () => {},
) {
  const exchange = fakeExchange(options);
  before(exchange);
  const answer = await instance(config).access?.(exchange);
  return { exchange, answer };
}

type Lists = Readonly<Record<string, string | readonly string[]>>;

/** A config that gives each of these actions its entries for `list`. */
const on = (list: "headers" | "querystring" | "body", actions: Lists) =>
  Object.fromEntries(Object.entries(actions).map(([action, entries]) => [action, { [list]: [entries].flat() }]));

type Variant<Given, Expected> = readonly [what: string, actions: Lists, given: Given, expected: Expected];

const headerCases: readonly Variant<Lists, Readonly<Record<string, readonly string[]>>>[] = [
  [
    "removes a header in any letter case",
    { remove: "X-To-Remove" },
    { "x-to-remove": "1", "x-b": "2" },
    { "x-to-remove": [], "x-b": ["2"] },
  ],
  ["never removes Host", { remove: "host" }, { host: "a.test" }, { host: ["a.test"] }],
  ["renames a header", { rename: "x-old:x-new" }, { "x-old": "1" }, { "x-old": [], "x-new": ["1"] }],
  [
    "overwrites the header with the new name",
    { rename: "x-old:X-New" },
    { "x-old": "1", "x-new": "2" },
    { "x-old": [], "x-new": ["1"] },
  ],
  [
    "keeps the header with the new name if there is nothing to rename",
    { rename: "x-old:x-new" },
    { "x-new": "2" },
    { "x-new": ["2"] },
  ],
  [
    "keeps a header that is renamed to its own name",
    { rename: ["x-a:x-a", "x-b:X-B"] },
    { "x-a": "1", "x-b": "2" },
    { "x-a": ["1"], "x-b": ["2"] },
  ],
  ["renames all values of a header", { rename: "x-old:x-new" }, { "x-old": ["1", "2"] }, { "x-new": ["1", "2"] }],
  [
    "replaces a header that exists",
    { replace: ["x-a:new", "x-none:new"] },
    { "x-a": "old" },
    { "x-a": ["new"], "x-none": [] },
  ],
  ["replaces Host", { replace: "host:b.test" }, {}, { host: ["b.test"] }],
  ["does not add Host", { add: "host:b.test" }, { host: "a.test" }, { host: ["a.test"] }],
  [
    "adds headers that do not exist, with colons in values",
    { add: ["h1:v1", "h2:value:2"] },
    { h1: "v3" },
    { h1: ["v3"], h2: ["value:2"] },
  ],
  ["appends values", { append: ["h1:v1", "h1:#v2", "h2:v1"] }, { h1: "v0" }, { h1: ["v0", "v1", "#v2"], h2: ["v1"] }],
  ["appends to an added header", { add: "x-a:1", append: ["X-A:2", "x-a:3"] }, {}, { "x-a": ["1", "2", "3"] }],
  [
    "adds a header that it has removed",
    { remove: "Authorization", add: "Authorization:Basic test" },
    { authorization: "Basic x" },
    { authorization: ["Basic test"] },
  ],
  ["ignores an entry without a value", { add: "x-a:", replace: "x-b:" }, { "x-b": "1" }, { "x-a": [], "x-b": ["1"] }],
  [
    "does not change headers that delimit messages",
    { remove: "Content-Length", add: "Transfer-Encoding:chunked", rename: "x-a:connection" },
    { "content-length": "3", "x-a": "1" },
    { "content-length": ["3"], "transfer-encoding": [], connection: [], "x-a": ["1"] },
  ],
  [
    "renders templates with the headers before any change",
    { remove: "x-a", add: ["x-b:$(headers['x-a'])", "x-c:$(headers.X_A)"] },
    { "x-a": "old" },
    { "x-a": [], "x-b": ["old"], "x-c": ["old"] },
  ],
  ["sends an empty header for nil", { add: "x-b:$(headers.none)" }, {}, { "x-b": [""] }],
  ["joins repeated headers in templates", { add: "x-b:$(headers['x-a'])" }, { "x-a": ["1", "2"] }, { "x-b": ["1, 2"] }],
  [
    "evaluates conditions",
    { replace: 'x-a:$(headers["x-a"] == \'1\' and "Bearer " .. headers.apikey or headers["x-a"])' },
    { "x-a": "1", apikey: "k" },
    { "x-a": ["Bearer k"] },
  ],
];

const queryCases: readonly Variant<string, string>[] = [
  ["removes parameters", { remove: "q1" }, "?q1=a&q2=b&q1", "?q2=b"],
  ["removes the only parameter", { remove: "q1" }, "?q1=a", ""],
  ["renames a parameter", { rename: "old:new" }, "?old=1&b=%2f", "?new=1&b=%2f"],
  ["overwrites the parameter with the new name", { rename: "old:new" }, "?new=0&old=1", "?new=1"],
  [
    "keeps the parameter with the new name if there is nothing to rename",
    { rename: "none:exist" },
    "?exist=true",
    "?exist=true",
  ],
  ["replaces a parameter that exists", { replace: ["q1:v", "q2:v"] }, "?q1=a&q1=b&c", "?q1=v&c"],
  ["adds parameters that do not exist", { add: ["q1:v1", "p1:anything:1"] }, "?q1", "?q1&p1=anything%3A1"],
  ["appends values", { append: ["q1:v1", "q1:v2", "q2:v1"] }, "?q1=v0", "?q1=v0&q1=v1&q1=v2&q2=v1"],
  ["encodes names and values", { add: "a[b]:$(headers.x) é&" }, "", "?a%5Bb%5D=1%202%20%C3%A9%26"],
  ["decodes names", { remove: "a b" }, "?a+b=1&a%20b=2&%zz=3", "?%zz=3"],
  ["leaves the bytes of other parameters unchanged", { add: "z:1" }, "?expected=$&+,/:;?@", "?expected=$&+,/:;?@&z=1"],
  [
    "renders captures of the path, with a default",
    { add: ["a:$(uri_captures.user)", "b:$(uri_captures.none or 'default')"] },
    "",
    "?a=J%C3%B6&b=default",
  ],
  [
    "renders templates with the query before any change",
    { remove: "a", add: "b:$(query_params.a)" },
    "?a=%C3%A9",
    "?b=%C3%A9",
  ],
  ["renders values that earlier plugins have set", { add: "a:$(shared.version)" }, "", "?a=1.2.3"],
];

const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "Application/JSON; charset=utf-8";
const MULTIPART = "multipart/form-data; boundary=B";
const part = (name: string, value: string) =>
  `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file =
  '--B\r\nContent-Disposition: form-data; name="f"; filename="f"\r\nContent-Type: text/plain\r\n\r\nfile\r\n';

const NESTED = "[".repeat(100_000) + "]".repeat(100_000);

type BodyCase = readonly [what: string, type: string, actions: Lists, body: string, expected: string | null];
const bodyCases: readonly BodyCase[] = [
  [
    "a form",
    FORM,
    { remove: "a", rename: "b:c", replace: "d:new", add: ["e:1", "d:no"], append: "d:2" },
    "a=1&b=%62&d=old",
    "c=b&d=new&e=1&d=2",
  ],
  [
    "an empty form",
    FORM,
    { remove: "a", add: "p1:v1", append: ["p1:v2", "p2:value:1"] },
    "",
    "p1=v1&p1=v2&p2=value%3A1",
  ],
  ["a form with none of the configured members", FORM, { remove: "a", rename: "b:c", replace: "d:1" }, "x=%78", null],
  [
    "a JSON object",
    JSON_TYPE,
    { remove: "a", rename: "b:c", replace: "d:new", add: ["e:1", "d:no"], append: ["d:2", "l:3", "n:4"] },
    '{"a":1,"b":{"x":[]},"d":"old","l":[1],"n":5}',
    '{"d":["new","2"],"l":[1,"3"],"n":["4"],"c":{"x":[]},"e":"1"}',
  ],
  ["an empty JSON body", JSON_TYPE, { remove: "a", add: "body:somecontent" }, "", '{"body":"somecontent"}'],
  [
    "JSON with numbers, whose digits are kept",
    JSON_TYPE,
    { add: "a:1" },
    '{"n":12345678901234567890,"m":1.0}',
    '{"n":12345678901234567890,"m":1.0,"a":"1"}',
  ],
  ["JSON with an empty list", JSON_TYPE, { add: "a:1" }, '{"emptyarray":[]}', '{"emptyarray":[],"a":"1"}'],
  [
    "JSON in which false counts as an absent member, and null as a present one",
    JSON_TYPE,
    { add: ["a:1", "b:1"] },
    '{"a":false,"b":null}',
    '{"a":"1","b":null}',
  ],
  [
    "JSON with a member called __proto__",
    JSON_TYPE,
    { rename: "a:__proto__" },
    '{"a":{"x":1}}',
    '{"__proto__":{"x":1}}',
  ],
  [
    "JSON with a list of lists, and an empty list",
    JSON_TYPE,
    { append: ["a:1", "b:1"] },
    '{"a":[[] ],"b":[ ]}',
    '{"a":[[],"1"],"b":["1"]}',
  ],
  ["JSON that is nested deeply", JSON_TYPE, { remove: "b" }, `{"b":1,"a":${NESTED}}`, `{"a":${NESTED}}`],
  ["JSON with UTF-8", JSON_TYPE, { rename: "é:ü", append: "ß:ö" }, '{"é":"€","ß":"1"}', '{"ß":["1","ö"],"ü":"€"}'],
  ["malformed JSON", JSON_TYPE, { add: "a:1" }, "malformed json body", null],
  ["a JSON list", JSON_TYPE, { add: "a:1" }, "[1]", null],
  ["a JSON object without the configured member", JSON_TYPE, { remove: "a" }, '{ "b": 1 }', null],
  [
    "a multipart form",
    MULTIPART,
    { remove: "a", rename: "b:c", replace: "d:new", add: ["e:1", "d:no"], append: "d:2" },
    `${part("a", "1") + part("b", "2") + file + part("d", "old")}--B--\r\n`,
    `${file + part("c", "2") + part("d", "new") + part("e", "1")}--B--\r\n`,
  ],
  ["an empty multipart form", MULTIPART, { add: "p1:v1" }, "", `${part("p1", "v1")}--B--\r\n`],
  ["a multipart form without its closing delimiter", MULTIPART, { add: "p1:v1" }, part("a", "1"), null],
  ["a multipart form without a boundary", "multipart/form-data", { add: "p1:v1" }, part("a", "1"), null],
  ["another content type", "text/plain", { add: "p1:v1" }, "a=1", null],
];

describe("request-transformer", () => {
  for (const [what, actions, given, expected] of headerCases) {
    it(`on headers: ${what}`, async () => {
      const { exchange, answer } = await send(on("headers", actions), { headers: given });
      assert.equal(answer, undefined);
      const names = Object.keys(expected) as Lowercase<string>[];
      assert.deepEqual(Object.fromEntries(names.map((name) => [name, exchange.upstreamHeaderValues(name)])), expected);
    });
  }

  for (const [what, actions, query, expected] of queryCases) {
    it(`on the query: ${what}`, async () => {
      const options = { query, headers: { x: "1 2" }, pathCaptures: { user: "Jö" } };
      const { exchange, answer } = await send(on("querystring", actions), options, ({ shared }) => {
        shared.set("version", "1.2.3");
      });
      assert.equal(answer, undefined);
      assert.equal(exchange.upstreamQuery, expected);
    });
  }

  for (const [what, type, actions, body, expected] of bodyCases) {
    it(`${expected === null ? "does not change" : "changes"} a body: ${what}`, async () => {
      const { exchange, answer } = await send(on("body", actions), { body, headers: { "content-type": type } });
      assert.equal(answer, undefined);
      assert.equal(exchange.replacedBody?.toString() ?? null, expected);
    });
  }

  it("chooses the type of the body by the changed headers", async () => {
    const config = {
      http_method: "POST",
      add: { headers: ["Content-Type:application/json"], body: ["body:$(headers.x)"] },
    };
    const { exchange } = await send(config, { headers: { x: "\xc3\xa9" } });
    assert.deepEqual([exchange.upstreamMethod, exchange.replacedBody?.toString()], ["POST", '{"body":"é"}']);
  });

  it("does not change an encoded body", async () => {
    const headers = { "content-type": JSON_TYPE, "content-encoding": "gzip" };
    const { exchange } = await send({ add: { body: ["a:1"] } }, { body: "{}", headers });
    assert.equal(exchange.replacedBody, null);
  });

  for (const [what, type, body, status] of [
    ["longer than 1 MiB", JSON_TYPE, `"${"x".repeat(1024 * 1024)}"`, 413],
    ["with more than 10,000 form members", FORM, "a&".repeat(10_001), 413],
    ["with more than 10,000 parts", MULTIPART, `${part("a", "1").repeat(10_002)}--B--\r\n`, 413],
    [
      "with a part that has two names",
      MULTIPART,
      `--B\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\n1\r\n--B--\r\n`,
      400,
    ],
  ] as const) {
    it(`refuses a body ${what}`, async () => {
      const { answer } = await send({ remove: { body: ["b"] } }, { body, headers: { "content-type": type } });
      assert.equal(answer?.status, status);
    });
  }

  it("refuses a value that would add parts to a multipart form", async () => {
    const query = "?a=1%0d%0a--B%0d%0aContent-Disposition:form-data%3bname=b%0d%0a%0d%0a2";
    const options = { query, body: "--B--\r\n", headers: { "content-type": MULTIPART } };
    const { answer } = await send({ add: { body: ["a:$(query_params.a)"] } }, options);
    assert.equal(answer?.status, 400);
  });

  for (const method of ["GET", "HEAD", "TRACE"]) {
    it(`adds a form to the query if the method becomes ${method}`, async () => {
      const options = {
        method: "POST",
        query: "?hello=world&name=a",
        body: "name=marco&x=%26",
        headers: { "content-type": FORM },
      };
      const { exchange } = await send({ http_method: method, remove: { querystring: ["hello"] } }, options);
      assert.deepEqual([exchange.upstreamMethod, exchange.upstreamQuery], [method, "?name=a&name=marco&x=%26"]);
    });
  }

  it("encodes a form that is added to the query", async () => {
    const options = { body: "a=1 HTTP/1.1\r\nX: y#é&b", headers: { "content-type": FORM } };
    const { exchange } = await send({ http_method: "GET" }, options);
    assert.equal(exchange.upstreamQuery, "?a=1%20HTTP%2F1.1%0D%0AX%3A%20y%23%C3%A9&b");
  });

  it("changes only the method of a request without a form", async () => {
    const { exchange } = await send({ http_method: "POST" }, { query: "?hello=world" });
    assert.deepEqual(
      [exchange.upstreamMethod, exchange.upstreamQuery, exchange.upstreamPath],
      ["POST", "?hello=world", null],
    );
  });

  for (const [uri, captures, expected] of [
    ["/fixed", {}, "/fixed"],
    ["/b/$(uri_captures.b)/a/$(uri_captures.a)", { a: "foo", b: "bär" }, "/b/bär/a/foo"],
    ["/a/$(uri_captures.a)", { a: "x?y#z%zz%20" }, "/a/x%3Fy%23z%25zz%20"],
    ["/a$(uri_captures.none)", {}, "/a"],
  ] as const) {
    it(`replaces the path by ${uri} with the captures ${JSON.stringify(captures)}`, async () => {
      const { exchange, answer } = await send({ replace: { uri } }, { pathCaptures: captures });
      assert.deepEqual([answer, exchange.upstreamPath], [undefined, expected]);
    });
  }

  for (const a of ["..", "../b", "..%2fb", "%2e%2e/b", "x/..;y/z", "..\\b"]) {
    it(`answers 400 if a value would add the dot segment ${a} to the path`, async () => {
      const { exchange, answer } = await send({ replace: { uri: "/a/$(uri_captures.a)" } }, { pathCaptures: { a } });
      assert.deepEqual([answer?.status, exchange.upstreamPath], [400, null]);
    });
  }

  it("answers 500 if the path does not start with /", async () => {
    const { answer } = await send({ replace: { uri: "$(headers.none)/x$(headers.none)" } });
    assert.equal(answer, undefined);
    const { answer: failed } = await send({ replace: { uri: "$(headers.none)x" } });
    assert.deepEqual([failed?.status, failed?.message], [500, "An unexpected error occurred"]);
  });

  for (const config of [
    { add: { headers: ["x-a:$('a' .. headers.none)"] } },
    { add: { querystring: ["a:$(headers.none:lower())"] } },
    { add: { body: ["a:$(headers.none .. 'a')"] } },
    { replace: { uri: "/$(true .. 'a')" } },
  ]) {
    it(`answers 500 and changes no header when a template fails: ${JSON.stringify(config)}`, async () => {
      const headers = { "content-type": JSON_TYPE };
      const { exchange, answer } = await send({ ...config, remove: { headers: ["x-b"] } }, { headers });
      assert.deepEqual([answer?.status, answer?.message], [500, "An unexpected error occurred"]);
      assert.match(answer?.reason ?? "", /^request-transformer: a template failed: `/);
      assert.deepEqual(exchange.upstreamHeaders.all(), {});
    });
  }

  const supabase =
    "$((headers.authorization ~= nil and headers.authorization:sub(1, 10) ~= 'Bearer sb_') and headers.authorization or " +
    "(headers.apikey == 'sb_publishable' and 'Bearer anon') or headers.apikey)";
  for (const [given, expected] of [
    [{ authorization: "Bearer user", apikey: "sb_publishable" }, "Bearer user"],
    [{ authorization: "Bearer sb_publishable", apikey: "sb_publishable" }, "Bearer anon"],
    [{ apikey: "legacy" }, "legacy"],
  ] as const) {
    it(`sets Authorization as in Supabase's configuration for ${JSON.stringify(given)}`, async () => {
      const config = {
        add: { headers: [`Authorization: ${supabase}`] },
        replace: { headers: [`Authorization: ${supabase}`] },
      };
      const { exchange } = await send(config, { headers: given });
      assert.deepEqual(exchange.upstreamHeaderValues("authorization"), [expected]);
    });
  }
});
