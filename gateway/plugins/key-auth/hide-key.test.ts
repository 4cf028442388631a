import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeCredential,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { filledKeyAuth } from "../../../test/plugins/filled-configs.ts";
import { keyAuth } from "./index.ts";

const consumer = fakeConsumer();
const keys = { "demo-key": fakeCredential(consumer) };

async function forwarded(options: FakeExchangeOptions, hide_credentials = true) {
  const config = { ...filledKeyAuth, key_names: ["apikey", "token"], key_in_body: true, hide_credentials };
  const exchange = fakeExchange({ keys, consumers: [consumer], ...options });
  exchange.upstreamHeaders.set("apikey", "as it came");
  assert.equal(await keyAuth.phases(config, fakeContext()).access?.(exchange), undefined);
  return exchange;
}

const part = (name: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"; filename="apikey"\r\n\r\n${value}\r\n`;
const close = "--b--\r\n";

const bodies: readonly (readonly [string, string, string, string])[] = [
  ["a form", "application/x-www-form-urlencoded", "a=%FF+%2B&apikey=demo-key&b=&token=x", "a=%FF+%2B&b="],
  [
    "JSON",
    "application/json",
    '{"n":12345678901234567890.10,"apikey":"demo-key","token":"x"}',
    '{"n":12345678901234567890.10}',
  ],
  [
    "the middle of JSON",
    "application/json",
    '{ "a":1 ,\n"apikey" : "demo-key", "b" : [2, {"apikey":3}] }',
    '{ "a":1, "b" : [2, {"apikey":3}] }',
  ],
  ["JSON that contains nothing else", "application/json", '{"apikey":"demo-key"}\n', "{}\n"],
  ["JSON with invalid UTF-8", "application/json", '{"a":"\xff\xc3","apikey":"demo-key"}', '{"a":"\xff\xc3"}'],
  ["JSON with a repeated member", "application/json", '{"a":1,"a":2,"apikey":"demo-key","a":3}', '{"a":1,"a":2,"a":3}'],
  [
    "JSON with a member called __proto__",
    "application/json",
    '{"__proto__":{"a":1},"apikey":"demo-key"}',
    '{"__proto__":{"a":1}}',
  ],
  [
    "a multipart form",
    "multipart/form-data; boundary=b",
    `preamble\r\n${part("a", "1\r\n--bc\r\n")}${part("apikey", "demo-key")}${part("c", "\r\n")}${close}`,
    `preamble\r\n${part("a", "1\r\n--bc\r\n")}${part("c", "\r\n")}${close}`,
  ],
  [
    "a multipart form that contains nothing else",
    "multipart/form-data; boundary=b",
    part("apikey", "demo-key") + close,
    close,
  ],
];

describe("hide_credentials of key-auth", () => {
  it("removes the key from headers and query, under every name", async () => {
    const { upstreamHeaders, removedQuery, replacedBody } = await forwarded({
      headers: { apikey: "demo-key" },
      query: "?token=x&a=1",
    });
    assert.equal(upstreamHeaders.get("apikey"), undefined);
    assert.deepEqual(removedQuery, ["apikey", "token"]);
    assert.equal(replacedBody, null);
  });

  for (const [what, type, body, rest] of bodies) {
    it(`removes the key from ${what} and does not change the rest`, async () => {
      const { replacedBody, removedQuery } = await forwarded({
        headers: { "content-type": type },
        body: Buffer.from(body, "latin1"),
      });
      assert.equal(replacedBody?.toString("latin1"), rest);
      assert.deepEqual(removedQuery, []);
    });
  }

  it("does not change a body without the key, even if it is deeply nested", async () => {
    const body = `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    const headers = { apikey: "demo-key", "content-type": "application/json" };
    assert.equal((await forwarded({ headers, body })).replacedBody, null);
  });

  it("forwards the header and the body unchanged if its value is false", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const { upstreamHeaders, replacedBody } = await forwarded({ headers, body: "apikey=demo-key" }, false);
    assert.equal(upstreamHeaders.get("apikey"), "as it came");
    assert.equal(replacedBody, null);
  });
});
