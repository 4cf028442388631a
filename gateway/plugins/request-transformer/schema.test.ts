import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";

describe("the config of request-transformer", () => {
  it("has Kong's defaults", () => {
    const none = { body: [], headers: [], querystring: [] };
    const replace = { ...none, uri: null };
    assert.deepEqual(withConfigDefaults("request-transformer", {}), {
      http_method: null,
      remove: none,
      rename: none,
      replace,
      add: none,
      append: none,
    });
  });

  for (const [config, path, message] of [
    [{ http_method: "HELLO!" }, "http_method", /^invalid value: HELLO!$/],
    [{ http_method: "get" }, "http_method", /^invalid value: get$/],
    [{ http_method: "CONNECT" }, "http_method", /^invalid value: CONNECT$/],
    [{ add: { querystring: ["a:1", "uri_param2:"] } }, "add.querystring.1", /^key 'uri_param2' has no value$/],
    [{ rename: { body: ["a"] } }, "rename.body.0", /^key 'a' has no value$/],
    [{ replace: { body: [":a"] } }, "replace.body.0", /^key '' has no value$/],
    [{ remove: { headers: ["a b"] } }, "remove.headers.0", /^'a b' is not a valid header$/],
    [{ rename: { headers: ["a:b c"] } }, "rename.headers.0", /^'b c' is not a valid header$/],
    [{ rename: { headers: ["a"] } }, "rename.headers.0", /^invalid value: a$/],
    [{ add: { headers: ["a"] } }, "add.headers.0", /^invalid value: a$/],
    [{ add: { headers: ["a b:c"] } }, "add.headers.0", /^'a b' is not a valid header$/],
    [
      { add: { headers: ["a:$(foo())"] } },
      "add.headers.0",
      /^value '\$\(foo\(\)\)' is not in supported format, error: unsupported template: `foo`/,
    ],
    [{ append: { querystring: ["a:$(uri_captures user2)"] } }, "append.querystring.0", /is not in supported format/],
    [{ replace: { uri: "/$(" } }, "replace.uri", /is not in supported format/],
    [{ allow: { body: [] } }, "allow", /unknown field/],
  ] as const) {
    it(`must not be ${JSON.stringify(config)}`, () => {
      const [violation = "", ...others] = configViolations("request-transformer", config);
      assert.deepEqual(others, []);
      assert.ok(violation.startsWith(`${path}: `), violation);
      assert.match(violation.slice(path.length + 2), message);
    });
  }
});
