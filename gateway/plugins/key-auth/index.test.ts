import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_SEARCHED_BODY } from "@sluice/plugin-sdk";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeCredential,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { filledKeyAuth } from "../../../test/plugins/filled-configs.ts";
import { keyAuth } from "./index.ts";
import type { KeyAuthConfig } from "./schema.ts";

const consumer = fakeConsumer({ id: "c-1", username: "demo", custom_id: "crm-7" });
const nobody = fakeConsumer({ id: "c-0", username: "nobody" });
const credential = fakeCredential(consumer, "k-1");
const keys = { "demo-key": credential, "schlüssel +1": credential };

async function send(config: Partial<KeyAuthConfig>, options: FakeExchangeOptions = {}) {
  const plugin = keyAuth.phases({ ...filledKeyAuth, ...config }, fakeContext());
  const exchange = fakeExchange({ keys, consumers: [consumer, nobody], ...options });
  return { exchange, answer: await plugin.access?.(exchange) };
}

const form = { "content-type": "application/x-www-form-urlencoded" };
const json = { "content-type": "application/json; charset=utf-8" };
const multipart = { "content-type": 'multipart/form-data; boundary="b 1"' };
const part = (name: string, value: string) =>
  `--b 1\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const disposition = "Content-Disposition: form-data";
const inBody = { key_in_body: true };
const utf8 = (text: string) => Buffer.from(text).toString("latin1");

type Outcome = "admitted" | "absent" | "duplicate" | "unknown";
const messages: Readonly<Record<Exclude<Outcome, "admitted">, string>> = {
  absent: "No API key found in request",
  duplicate: "Duplicate API key found",
  unknown: "Unauthorized",
};

const variants: readonly (readonly [string, FakeExchangeOptions, Outcome, Partial<KeyAuthConfig>?])[] = [
  ["the key in the header", { headers: { apikey: "demo-key" } }, "admitted"],
  ["a header in another letter case", { headers: { APIKEY: "demo-key" } }, "admitted"],
  ["the key in the query", { query: "?a=1&apikey=demo-key" }, "admitted"],
  ["an escaped key in the query", { query: `?apikey=${encodeURIComponent("schlüssel +1")}` }, "admitted"],
  ["an escaped name in the query", { query: "?%61pikey=demo-key" }, "admitted"],
  ["a key in UTF-8 in the header", { headers: { apikey: utf8("schlüssel +1") } }, "admitted"],
  [
    "a valid key in the header and an invalid one in the query",
    { headers: { apikey: "demo-key" }, query: "?apikey=x" },
    "admitted",
  ],
  [
    "an invalid key in the header and a valid one in the query",
    { headers: { apikey: "x" }, query: "?apikey=demo-key" },
    "unknown",
  ],
  [
    "a header with dashes where the name of the key has underscores",
    { headers: { "Api-Key": "demo-key" } },
    "admitted",
    { key_names: ["api_key"] },
  ],
  [
    "a valid key under the name itself and an invalid one under the name with dashes",
    { headers: { api_key: "demo-key", "api-key": "x" } },
    "admitted",
    { key_names: ["api_key"] },
  ],
  [
    "a header with underscores where the name of the key has dashes",
    { headers: { api_key: "x" } },
    "absent",
    { key_names: ["api-key"] },
  ],
  ["a key under the second name", { headers: { b: "demo-key" } }, "admitted", { key_names: ["a", "b"] }],
  [
    "a valid key under the first name in the query and an invalid one under the second in the header",
    { headers: { b: "x" }, query: "?a=demo-key" },
    "admitted",
    { key_names: ["a", "b"] },
  ],
  ["a request without a key", {}, "absent"],
  ["an empty header", { headers: { apikey: "" } }, "absent"],
  ["an empty parameter", { query: "?apikey=" }, "absent"],
  ["a parameter without a value", { query: "?apikey" }, "absent"],
  ["a parameter with a lone %", { query: "?apikey=%" }, "unknown"],
  ["a key in the parameter apikey[]", { query: "?apikey[]=demo-key" }, "absent"],
  ["a key in the parameter apikey[1]", { query: "?apikey[1]=demo-key" }, "absent"],
  ["an unknown key", { headers: { apikey: "demo-key2" } }, "unknown"],
  ["a key whose consumer was removed", { headers: { apikey: "demo-key" }, consumers: [] }, "unknown"],
  ["the header twice", { headers: { apikey: ["demo-key", "demo-key"] } }, "duplicate"],
  ["the parameter twice", { query: "?apikey=demo-key&apikey=demo-key" }, "duplicate"],
  [
    "a key in the header with key_in_header: false",
    { headers: { apikey: "demo-key" } },
    "absent",
    { key_in_header: false },
  ],
  ["a key in the query with key_in_query: false", { query: "?apikey=demo-key" }, "absent", { key_in_query: false }],
  ["a key in the body without key_in_body", { headers: form, body: "apikey=demo-key" }, "absent"],
  ["the key in a form", { headers: form, body: "a=1&apikey=demo-key" }, "admitted", { key_in_body: true }],
  [
    "an escaped key in a form",
    { headers: form, body: "apikey=schl%C3%BCssel+%2B1" },
    "admitted",
    { key_in_body: true },
  ],
  ["the key twice in a form", { headers: form, body: "apikey=a&apikey=b" }, "duplicate", { key_in_body: true }],
  ["the key in JSON", { headers: json, body: '{"a":1,"apikey":"demo-key"}' }, "admitted", { key_in_body: true }],
  ["the key twice in JSON", { headers: json, body: '{"apikey":"x","apikey":"demo-key"}' }, "duplicate", inBody],
  [
    "the key twice in JSON, once under an escaped name",
    { headers: json, body: '{"apikey":"demo-key","\\u0061pikey":"x"}' },
    "duplicate",
    inBody,
  ],
  [
    "the key under an escaped name in JSON",
    { headers: json, body: '{ "\\u0061pikey" : "demo-key" }' },
    "admitted",
    inBody,
  ],
  [
    "a string in JSON that contains the name and a key",
    { headers: json, body: '{"a":"\\",\\"apikey\\":\\"demo-key"}' },
    "absent",
    inBody,
  ],
  [
    "a form with the content coding gzip",
    { headers: { ...form, "content-encoding": "gzip" }, body: "&apikey=demo-key&" },
    "absent",
    inBody,
  ],
  [
    "a form with the content coding identity",
    { headers: { ...form, "content-encoding": "identity" }, body: "apikey=demo-key" },
    "admitted",
    inBody,
  ],
  ["a list as the key in JSON", { headers: json, body: '{"apikey":["demo-key"]}' }, "duplicate", { key_in_body: true }],
  ["an object as the key in JSON", { headers: json, body: '{"apikey":{}}' }, "duplicate", { key_in_body: true }],
  ["a number as the key in JSON", { headers: json, body: '{"apikey":1}' }, "absent", { key_in_body: true }],
  ["null as the key in JSON", { headers: json, body: '{"apikey":null}' }, "absent", { key_in_body: true }],
  [
    "a key in a nested object in JSON",
    { headers: json, body: '{"a":{"apikey":"demo-key"}}' },
    "absent",
    { key_in_body: true },
  ],
  ["a JSON list", { headers: json, body: '["apikey"]' }, "absent", { key_in_body: true }],
  ["broken JSON", { headers: json, body: '{"apikey":"demo-key"' }, "absent", { key_in_body: true }],
  ["deeply nested JSON", { headers: json, body: '{"a":'.repeat(10_000) }, "absent", { key_in_body: true }],
  [
    "the key in a multipart form",
    { headers: multipart, body: `${part("a", "1")}${part("apikey", "demo-key")}--b 1--\r\n` },
    "admitted",
    { key_in_body: true },
  ],
  [
    "the key twice in a multipart form",
    { headers: multipart, body: `${part("apikey", "a")}${part("apikey", "b")}--b 1--\r\n` },
    "duplicate",
    { key_in_body: true },
  ],
  [
    "a file whose name contains the key's name",
    {
      headers: multipart,
      body: `--b 1\r\n${disposition}; filename=";name=apikey"; name="f"\r\n\r\ndemo-key\r\n--b 1--\r\n`,
    },
    "absent",
    inBody,
  ],
  [
    "a file whose name contains the key's name behind an escaped quote",
    {
      headers: multipart,
      body: `--b 1\r\n${disposition}; filename="x\\"; name=apikey; y=\\""; name=f\r\n\r\ndemo-key\r\n--b 1--\r\n`,
    },
    "absent",
    inBody,
  ],
  [
    "a multipart form with the text boundary= also in the value of another parameter",
    {
      headers: { "content-type": 'multipart/form-data; a=";boundary=c"; boundary="b 1"' },
      body: `${part("apikey", "demo-key")}--b 1--\r\n`,
    },
    "admitted",
    inBody,
  ],
  [
    "a multipart form with two boundaries",
    {
      headers: { "content-type": 'multipart/form-data; boundary="b 1"; boundary=c' },
      body: `${part("apikey", "demo-key")}--b 1--\r\n`,
    },
    "absent",
    inBody,
  ],
  [
    "a multipart form that does not end",
    { headers: multipart, body: part("apikey", "demo-key") },
    "absent",
    { key_in_body: true },
  ],
  [
    "a multipart form without a boundary",
    { headers: { "content-type": "multipart/form-data" }, body: part("apikey", "demo-key") },
    "absent",
    { key_in_body: true },
  ],
  [
    "a body with another content type",
    { headers: { "content-type": "text/plain" }, body: "apikey=demo-key" },
    "absent",
    { key_in_body: true },
  ],
  [
    "a body that is too long",
    { headers: form, body: `apikey=demo-key&a=${"x".repeat(MAX_SEARCHED_BODY)}` },
    "absent",
    { key_in_body: true },
  ],
];

describe("key-auth", () => {
  for (const [what, request, outcome, config] of variants) {
    it(`${outcome === "admitted" ? "admits" : `answers 401 "${messages[outcome]}" to`} ${what}`, async () => {
      const { answer } = await send(config ?? {}, request);
      if (outcome === "admitted") assert.equal(answer, undefined);
      else
        assert.deepEqual(answer, {
          status: 401,
          message: messages[outcome],
          headers: { "WWW-Authenticate": "Key" },
        });
    });
  }

  it("sends the realm of the config as a quoted string", async () => {
    const { answer } = await send({ realm: 'the "inner" circle' });
    assert.equal(answer?.headers?.["WWW-Authenticate"], 'Key realm="the \\"inner\\" circle"');
  });

  it("passes the consumer of the request to the upstream and the other plugins", async () => {
    const { exchange } = await send({}, { headers: { apikey: "demo-key" } });
    assert.deepEqual(exchange.upstreamHeaders.all(), {
      "x-consumer-id": "c-1",
      "x-consumer-username": "demo",
      "x-consumer-custom-id": "crm-7",
      "x-credential-identifier": "k-1",
    });
    assert.deepEqual([exchange.consumer, exchange.credential, exchange.anonymous], [consumer, credential, false]);
  });

  it("sends the consumer's tags in one header, and no header for a consumer without tags", async () => {
    const sentTags = async (tags: string[] | null) => {
      const tagged = fakeConsumer({ ...consumer, tags });
      const { exchange } = await send({}, { headers: { apikey: "demo-key" }, consumers: [tagged] });
      return exchange.upstreamHeaders.get("X-Consumer-Tags");
    };
    assert.equal(await sentTags(["writer", "team a", "Zoë"]), `writer,team a,${utf8("Zoë")}`);
    assert.deepEqual([await sentTags([]), await sentTags(null)], [undefined, undefined]);
  });

  it("sends names in headers as UTF-8, with control characters percent-encoded", async () => {
    const strange = fakeConsumer({ ...consumer, username: "Zoë\r\nX-Admin: 1" });
    const { exchange } = await send({}, { headers: { apikey: "demo-key" }, consumers: [strange] });
    assert.equal(exchange.upstreamHeaders.get("X-Consumer-Username"), utf8("Zoë%0D%0AX-Admin: 1"));
  });

  it("removes identity headers that do not apply, so that a client cannot forge them", async () => {
    const plain = fakeConsumer({ ...consumer, username: null, custom_id: null });
    const plugin = keyAuth.phases(filledKeyAuth, fakeContext());
    const exchange = fakeExchange({ keys, consumers: [plain], headers: { apikey: "demo-key" } });
    for (const name of ["X-Consumer-Username", "X-Consumer-Custom-ID", "X-Consumer-Tags", "X-Anonymous-Consumer"]) {
      exchange.upstreamHeaders.set(name, "forged");
    }
    await plugin.access?.(exchange);
    assert.deepEqual(Object.keys(exchange.upstreamHeaders.all()), ["x-consumer-id", "x-credential-identifier"]);
  });

  describe("with an anonymous consumer", () => {
    for (const [what, request] of [
      ["a request without a key", {}],
      ["a request with an unknown key", { headers: { apikey: "wrong" } }],
      ["a request with two keys", { query: "?apikey=a&apikey=b" }],
    ] as const) {
      for (const anonymous of ["c-0", "nobody"]) {
        it(`attributes ${what} to the consumer that anonymous names as ${anonymous}`, async () => {
          const { exchange, answer } = await send({ anonymous }, request);
          assert.equal(answer, undefined);
          assert.deepEqual([exchange.consumer, exchange.credential, exchange.anonymous], [nobody, null, true]);
          assert.deepEqual(exchange.upstreamHeaders.all(), {
            "x-consumer-id": "c-0",
            "x-consumer-username": "nobody",
            "x-anonymous-consumer": "true",
          });
        });
      }
    }

    it("attributes a request with a valid key to the consumer of the key", async () => {
      const { exchange } = await send({ anonymous: "nobody" }, { headers: { apikey: "demo-key" } });
      assert.deepEqual([exchange.consumer, exchange.anonymous], [consumer, false]);
    });

    it("does not change the consumer of a request that is already authenticated", async () => {
      const { exchange } = await send({ anonymous: "nobody" }, { consumer, credential });
      assert.deepEqual([exchange.consumer, exchange.anonymous], [consumer, false]);
    });

    it("answers 500 when that consumer does not exist, and names it only in the log", async () => {
      const { answer } = await send({ anonymous: "ghost" });
      assert.deepEqual([answer?.status, answer?.message], [500, "An unexpected error occurred"]);
      assert.match(answer?.reason ?? "", /ghost/);
    });
  });

  it("requires the key on OPTIONS too, unless run_on_preflight is false", async () => {
    assert.equal((await send({}, { method: "OPTIONS" })).answer?.status, 401);
    assert.equal((await send({ run_on_preflight: false }, { method: "OPTIONS" })).answer, undefined);
    assert.equal((await send({ run_on_preflight: false }, { method: "GET" })).answer?.status, 401);
  });
});
