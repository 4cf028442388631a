import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sendRaw } from "../../../test/conformance/engine/client.ts";
import { type FakeExchangeOptions, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { startProxyWith } from "../../../test/plugins/proxy.ts";
import { requestValidator } from "./index.ts";

/** "accepted", or the status and the message of the refusal. */
async function answer(config: object, request: FakeExchangeOptions = {}): Promise<string> {
  const phases = requestValidator.phases(withConfigDefaults("request-validator", config), fakeContext());
  const refusal = await phases.access?.(fakeExchange({ method: "POST", ...request }));
  return refusal === undefined ? "accepted" : `${refusal.status} ${refusal.json?.message}`;
}

const json = { "content-type": "application/json" };
const BODY = "400 request body doesn't conform to schema";
const PARAMETER = "400 request param doesn't conform to schema";
const TYPE = "400 specified Content-Type is not allowed";

const draft4 = { version: "draft4", body_schema: '{"properties":{"name":{"type":"string"}},"required":["name"]}' };
const kong = { body_schema: '[{"name":{"type":"string","required":true}},{"age":{"type":"integer"}}]' };

describe("request-validator and bodies", () => {
  for (const [what, config, body, expected] of [
    ["a body that conforms to a JSON Schema", draft4, '{"name":"a"}', "accepted"],
    ["a body that does not conform to a JSON Schema", draft4, '{"name":1}', BODY],
    ["a body that is not JSON", draft4, "name=a", BODY],
    ["a body that is not UTF-8", draft4, Buffer.from('{"name":"\xff"}', "latin1"), BODY],
    [
      "a body that repeats a name, because parsers differ in which member they use",
      draft4,
      '{"name":1,"name":"a"}',
      BODY,
    ],
    ["a body whose inner object repeats an escaped name", draft4, '{"name":"a","b":[{"c":1,"\\u0063":2}]}', BODY],
    ["a body with colons in strings", draft4, '{"name":"a:\\":","b":[{"name":":"},{"name":":"}]}', "accepted"],
    ["a request without a body", draft4, "", BODY],
    ["a body above 1 MiB", draft4, " ".repeat(1024 * 1024 + 1), "413 Payload too large"],
    ["a body that conforms to a schema of Kong", kong, '{"name":"a","age":null}', "accepted"],
    ["a body without a required field", kong, "{}", BODY],
    ["a body with an empty string, as in Kong", kong, '{"name":""}', BODY],
    ["a body with an unknown field", kong, '{"name":"a","x":1}', BODY],
    ["a body that is a list", kong, "[]", BODY],
  ] as const) {
    it(`${expected === "accepted" ? "accepts" : `answers '${expected}' to`} ${what}`, async () => {
      assert.equal(await answer(config, { headers: json, body }), expected);
    });
  }

  it("describes the first error if verbose_response is true", async () => {
    const config = { ...draft4, verbose_response: true };
    assert.equal(
      await answer(config, { headers: json, body: '{"name":1}' }),
      '400 /name: Instance type "number" is invalid. Expected "string".',
    );
  });

  const field = (definition: object) => ({ body_schema: JSON.stringify([{ f: definition }]) });
  for (const [definition, valid, invalid] of [
    [{ type: "integer", between: [1, 10] }, 10, 11],
    [{ type: "integer", timestamp: true }, 1, 0],
    [{ type: "string", len_min: 0, len_max: 1 }, "", "ab"],
    [{ type: "array", len_eq: 1, elements: { type: "integer" } }, [1], [1, 2]],
    [{ type: "array", elements: { type: "integer" } }, [], ["a"]],
    [{ type: "set", elements: { type: "integer" } }, [1, 2], [1, 1]],
    [{ type: "map", keys: { type: "string" }, values: { type: "boolean" } }, { a: true }, { a: 1 }],
    [{ type: "record", fields: [{ a: { type: "string", required: true } }] }, { a: "b" }, {}],
    [{ type: "string", one_of: ["a", "b"] }, null, "c"],
    [{ type: "string", starts_with: "a.b" }, "a.bc", "aXbc"],
    [{ type: "string", uuid: true }, "cbb297c0-14a9-46bc-ad91-1d0ef9b42df9", "x"],
    [{ type: "string", format: "date-time" }, "2009-07-20T08:30:37.012Z", "2009-07-20"],
  ] as const) {
    it(`with version kong, tests a field with the attributes ${JSON.stringify(definition)}`, async () => {
      const send = (f: unknown) => answer(field(definition), { headers: json, body: JSON.stringify({ f }) });
      assert.deepEqual([await send(valid), await send(invalid)], ["accepted", BODY]);
    });
  }
});

describe("request-validator and content types", () => {
  const body = '{"name":"a"}';
  for (const [allowed, sent, expected, validates = true] of [
    [["application/json"], "application/json", "accepted"],
    [["application/json"], "Application/JSON", "accepted"],
    [["application/json"], "application/json; charset=utf-8", TYPE],
    [["application/json; charset=UTF-8"], "application/json;CHARSET=utf-8", "accepted"],
    [["application/json; charset=UTF-8"], "application/json", TYPE],
    [["application/json"], "application/json; charset=utf-8", "accepted", false],
    [["application/json"], "text/plain", TYPE],
    [["application/json"], "json", TYPE],
    [["application/json"], "", TYPE],
  ] as const) {
    it(`has the result '${expected}' for the Content-Type '${sent}' if '${allowed}' is allowed${validates ? "" : " with any parameter"}`, async () => {
      const config = { ...draft4, allowed_content_types: allowed, content_type_parameter_validation: validates };
      assert.equal(await answer(config, { headers: { "content-type": sent }, body }), expected);
    });
  }

  it("refuses several Content-Type headers, because the upstream may use a different one than the plugin", async (test) => {
    const config = { ...draft4, allowed_content_types: ["text/plain", "application/json"] };
    const { url } = await startProxyWith(test, { name: "request-validator", config });
    const statusFor = async (types: readonly string[]) => {
      const lines = ["Host: localhost", ...types.map((type) => `Content-Type: ${type}`), "Content-Length: 2"];
      const text = `POST / HTTP/1.1\r\n${lines.join("\r\n")}\r\nConnection: close\r\n\r\n{}`;
      return (await sendRaw(test, Number(new URL(url).port), text)).slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
    };
    assert.deepEqual(
      [await statusFor(["text/plain", "application/json"]), await statusFor(["text/plain"])],
      ["400", "200"],
    );
  });

  it("treats a body without Content-Type as JSON", async () => {
    assert.deepEqual([await answer(draft4, { body }), await answer(draft4, { body: "{}" })], ["accepted", BODY]);
  });

  it("does not validate bodies of other allowed types", async () => {
    const config = { ...draft4, allowed_content_types: ["text/plain"] };
    assert.equal(await answer(config, { headers: { "content-type": "text/plain" }, body: "a" }), "accepted");
  });

  it("ignores Content-Type if the config has no body_schema", async () => {
    const config = { parameter_schema: [{ in: "query", name: "a", required: false }] };
    assert.equal(await answer(config, { headers: { "content-type": "text/plain" } }), "accepted");
  });
});

describe("request-validator and parameters", () => {
  type Place = readonly [where: "query" | "header" | "path", style: string, explode: boolean];
  const numbers = { type: "array", items: { type: "integer" }, minItems: 2 };
  const color = { type: "object", properties: { R: { type: "integer" } }, required: ["R"] };

  const cases: readonly (readonly [Place, schema: object, valid: string, invalid: string])[] = [
    [["query", "form", true], { type: "integer" }, "?p=1", "?p=a"],
    [["query", "form", true], { type: "boolean" }, "?p=true", "?p=1"],
    [["query", "form", true], { type: "string", minLength: 2 }, "?p=12", "?p=%31"],
    [["query", "form", true], { type: "string" }, "?p=a", "?p=a&p=b"],
    [["query", "form", true], { type: ["null", "integer"] }, "?p=", "?p=a"],
    [["query", "form", true], numbers, "?p=1&p=2", "?p=1"],
    [["query", "form", false], numbers, "?p=1,2", "?p=1,a"],
    [["query", "spaceDelimited", false], numbers, "?p=1%202", "?p=1,2"],
    [["query", "pipeDelimited", false], numbers, "?p=1|2", "?p=1,2"],
    [["query", "form", true], color, "?R=1&x=y", "?R=a"],
    [["query", "form", false], color, "?p=R,1", "?p=G,1"],
    [["query", "deepObject", true], color, "?p[R]=1", "?p[R]=a"],
    [["query", "deepObject", true], color, "?p[R]=1&p[G]=1", "?p[R]=a&p[R]=1"],
    [["query", "form", true], color, "?R=1&G=1", "?R=a&R=1"],
    [["query", "form", false], color, "?p=R,1,G,1", "?p=R,a,R,1"],
    [["header", "simple", true], color, "R=1,G=1", "R=a,R=1"],
    [["header", "simple", false], numbers, "1, 2", "1"],
    [["header", "simple", false], color, "R,1", "R,a"],
    [["header", "simple", true], color, "R=1,G=2", "R=a"],
    [["path", "simple", false], { type: "number" }, "1e2", "x"],
    [["path", "simple", false], { type: "string", pattern: "^a/b$" }, "a%2Fb", "ab"],
    [["path", "label", false], numbers, ".1,2", "1,2"],
    [["path", "label", true], numbers, ".1.2", ".1"],
    [["path", "matrix", false], { type: "integer" }, ";p=1", ";q=1"],
    [["path", "matrix", true], numbers, ";p=1;p=2", ";p=1"],
  ];

  const requestWith = (where: string, value: string): FakeExchangeOptions =>
    where === "query"
      ? { query: value }
      : where === "header"
        ? { headers: { p: value } }
        : { pathCaptures: { p: value } };

  for (const [[where, style, explode], schema, valid, invalid] of cases) {
    it(`accepts '${valid}' and refuses '${invalid}' in ${where} (${style}, explode ${explode}) for ${JSON.stringify(schema)}`, async () => {
      const parameter = { in: where, name: "p", required: true, style, explode, schema: JSON.stringify(schema) };
      const config = { version: "draft202012", parameter_schema: [parameter] };
      const answers = [
        await answer(config, requestWith(where, valid)),
        await answer(config, requestWith(where, invalid)),
      ];
      assert.deepEqual(answers, ["accepted", PARAMETER]);
    });
  }

  for (const where of ["query", "header", "path"] as const) {
    it(`refuses a request without a required parameter in ${where}`, async () => {
      const config = (required: boolean) => ({ parameter_schema: [{ in: where, name: "p", required }] });
      assert.deepEqual(
        [
          await answer(config(true)),
          await answer(config(false)),
          await answer(config(true), requestWith(where, "?p=1")),
        ],
        [PARAMETER, "accepted", "accepted"],
      );
    });
  }

  it("names the parameter in the response if verbose_response is true", async () => {
    const schema = '{"$ref":"#/definitions/small","definitions":{"small":{"type":"integer","maximum":10}}}';
    const config = {
      verbose_response: true,
      parameter_schema: [
        { in: "path", name: "delay", required: true, style: "simple", explode: false, schema },
        { in: "header", name: "X-Key", required: true },
      ],
    };
    assert.equal(
      await answer(config, { pathCaptures: { delay: "11" } }),
      "400 path 'delay' validation failed, [error] 11 is greater than 10.",
    );
    assert.equal(
      await answer(config, { pathCaptures: { delay: "9" } }),
      "400 header 'X-Key' validation failed, [error] required parameter value not found",
    );
  });

  it("refuses a query with more than 1000 parameters", async () => {
    const config = { parameter_schema: [{ in: "query", name: "p", required: false }] };
    assert.equal(await answer(config, { query: `?${"a=1&".repeat(1000)}` }), PARAMETER);
  });
});

describe("the config of request-validator", () => {
  const parameter = (members: object) => ({
    parameter_schema: [{ in: "query", name: "p", required: true, ...members }],
  });
  for (const [config, expected] of [
    [{}, "at least one of these fields must be non-empty: 'config.body_schema', 'config.parameter_schema'"],
    [{ body_schema: "{" }, "body_schema: is not JSON: "],
    [{ version: "draft4", body_schema: '{"type":"text"}' }, "body_schema: is not a valid JSON Schema: /type must be"],
    [{ body_schema: "{}" }, "body_schema: is not a valid schema: the schema must be a list of fields"],
    [{ body_schema: '[{"a":{"type":"string","match":"%d"}}]' }, "/0/a/match is a Lua pattern, which is not supported"],
    [{ body_schema: '[{"a":{"type":"array"}}]' }, "/0/a/elements is missing"],
    [{ body_schema: '[{"a":{"type":"text"}}]' }, "/0/a/type must be one of: string"],
    [{ body_schema: '[{"a":{"type":"string","eq":"b"}}]' }, "/0/a/eq is not supported"],
    [{ body_schema: '[{"a":{"type":"integer","between":"b"}}]' }, "minimum must be a number"],
    [{ ...draft4, version: "draft3" }, "version: expected one of: kong, draft4, draft7, draft201909, draft202012"],
    [{ ...draft4, allowed_content_types: ["json"] }, "allowed_content_types.0: must be a media type"],
    [parameter({ style: "form" }), "all or none of these fields must be set: 'style', 'explode', 'schema'"],
    [parameter({ style: "simple", explode: true, schema: "{}" }), "style: expected one of: form, spaceDelimited"],
    [parameter({ style: "form", explode: true, schema: "{}" }), "schema: must have a type"],
  ] as const) {
    it(`is refused: ${JSON.stringify(config)}`, () => {
      const violations = configViolations("request-validator", config).join("\n");
      assert.ok(violations.includes(expected), violations);
    });
  }
});
