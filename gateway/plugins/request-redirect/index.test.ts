import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeRequest, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { requestRedirect } from "./index.ts";

const answerTo = (config: object, request: FakeRequest) =>
  requestRedirect.phases(withConfigDefaults("request-redirect", config), fakeContext()).access?.(fakeExchange(request));

const request: FakeRequest = { headers: { host: "a.test:8000" }, path: "/old/x", query: "?q=1" };

describe("request-redirect", () => {
  for (const [config, expected, changes = {}] of [
    [{}, "http://a.test:8000/old/x?q=1"],
    [{ scheme: "https" }, "https://a.test/old/x?q=1"],
    [{ scheme: "https", port: 443 }, "https://a.test/old/x?q=1"],
    [{ scheme: "https", port: 8443 }, "https://a.test:8443/old/x?q=1"],
    [{ host: "b.test" }, "http://b.test:8000/old/x?q=1"],
    [{ host: "b.test", port: 80 }, "http://b.test/old/x?q=1"],
    [{ path: "/new" }, "http://a.test:8000/new?q=1"],
    [{ strip_prefix: "/old", add_prefix: "/new" }, "http://a.test:8000/new/x?q=1"],
    [{ strip_prefix: "/old/", add_prefix: "/new/" }, "http://a.test:8000/new/x?q=1"],
    [{ strip_prefix: "/old" }, "http://a.test:8000/x?q=1"],
    [{ strip_prefix: "/", add_prefix: "/new" }, "http://a.test:8000/new/old/x?q=1"],
    [{ strip_prefix: "/old", add_prefix: "/new" }, "http://a.test:8000/new?q=1", { path: "/old" }],
    [{ strip_prefix: "/old", add_prefix: "/new" }, "http://a.test:8000/new/?q=1", { path: "/old/" }],
    [{ strip_prefix: "/old", add_prefix: "/new" }, "http://a.test:8000/older?q=1", { path: "/older" }],
    [{}, "http://[::1]:8000/old/x?q=1", { headers: { host: "[::1]:8000" } }],
    [{}, "http://a.test//b.test/%3F%C3%A9", { headers: { host: "a.test" }, path: "//b.test/?\u00e9", query: "" }],
  ] as readonly (readonly [object, string, FakeRequest?])[]) {
    it(`redirects ${JSON.stringify({ ...request, ...changes })} with ${JSON.stringify(config)} to ${expected}`, () => {
      const answer = answerTo(config, { ...request, ...changes });
      assert.deepEqual(answer, { status: 302, headers: { Location: expected }, body: "" });
    });
  }

  it("refuses a request whose Host cannot be a part of a URL", () => {
    assert.deepEqual(answerTo({}, { ...request, headers: { host: "a b" } }), { status: 400, message: "Bad request" });
  });

  for (const [config, violation] of [
    [{ status_code: 200 }, "status_code: expected one of: 301, 302, 303, 307, 308"],
    [{ path: "new" }, "path: must begin with /"],
    [{ path: "/new", strip_prefix: "/old" }, "path: cannot be used with strip_prefix"],
    [{ add_prefix: "/new" }, "add_prefix: cannot be used without strip_prefix"],
  ] as const) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("request-redirect", config), [violation]);
    });
  }
});
