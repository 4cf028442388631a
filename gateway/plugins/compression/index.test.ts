import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { negotiateCoding } from "@sluice/plugin-sdk";
import { type FakeExchangeOptions, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, filledCompression } from "../../../test/plugins/filled-configs.ts";
import { compression } from "./index.ts";
import type { CompressionConfig } from "./schema.ts";

const text = { "content-type": "text/html; charset=utf-8", "content-length": "5000" };
const gzip = { "accept-encoding": "gzip" };

/** The headers of a response after its body was compressed; null: it was not. */
function compressedHeaders(options: FakeExchangeOptions, config: Partial<CompressionConfig> = {}) {
  const plugin = compression.phases({ ...filledCompression, ...config }, fakeContext());
  const exchange = fakeExchange({ headers: gzip, responseHeaders: text, ...options });
  const filter = plugin.responseBody?.(exchange) ?? null;
  const value = (name: Lowercase<string>) => exchange.responseHeaderValues(name).join(", ");
  const vary = value("vary");
  if (filter === null || !("transform" in filter)) return { coding: null, vary };
  filter.transform().destroy();
  return { coding: value("content-encoding"), vary, tag: value("etag"), ranges: value("accept-ranges") };
}

const table: readonly (readonly [
  says: string,
  options: FakeExchangeOptions,
  config: Partial<CompressionConfig>,
  coding: string | null,
  vary: string,
])[] = [
  ["compresses a response of a listed type", {}, {}, "gzip", "Accept-Encoding"],
  [
    "compresses a response without a length",
    { responseHeaders: { "content-type": "TEXT/html" } },
    {},
    "gzip",
    "Accept-Encoding",
  ],
  [
    "prefers the first of several codings",
    { headers: { "accept-encoding": "gzip, br, zstd" } },
    {},
    "zstd",
    "Accept-Encoding",
  ],
  ["adds Vary for a client that accepts no coding", { headers: {} }, {}, null, "Accept-Encoding"],
  [
    "leaves a Vary that names Accept-Encoding",
    { responseHeaders: { ...text, vary: "Origin, accept-encoding" } },
    {},
    "gzip",
    "Origin, accept-encoding",
  ],
  ["leaves other types", { responseHeaders: { ...text, "content-type": "image/png" } }, {}, null, ""],
  ["leaves server-sent events", { responseHeaders: { "content-type": "text/event-stream" } }, {}, null, ""],
  ["leaves a response without a type", { responseHeaders: { "content-length": "5000" } }, {}, null, ""],
  ["leaves short responses", { responseHeaders: { ...text, "content-length": "1023" } }, {}, null, ""],
  ["leaves encoded responses", { responseHeaders: { ...text, "content-encoding": "br" } }, {}, null, ""],
  ["leaves partial responses", { status: 206 }, {}, null, ""],
  ["leaves no-transform", { responseHeaders: { ...text, "cache-control": "public, no-transform" } }, {}, null, ""],
  ["leaves responses with Set-Cookie", { responseHeaders: { ...text, "set-cookie": "a=1" } }, {}, null, ""],
  ["leaves responses to requests with Cookie", { headers: { ...gzip, cookie: "a=1" } }, {}, null, ""],
  ["leaves responses to requests with Authorization", { headers: { ...gzip, authorization: "x" } }, {}, null, ""],
  [
    "compresses them if credentials is set",
    { headers: { ...gzip, authorization: "x" } },
    { credentials: true },
    "gzip",
    "Accept-Encoding",
  ],
];

const accepted: readonly (readonly [accepted: string, coding: string | null])[] = [
  ["", null],
  ["identity", null],
  ["gzip;q=0.5, br;q=0.8", "br"],
  ["gzip;q=1.0, br;q=0.8", "gzip"],
  ["GZIP ; Q=0.001", "gzip"],
  ["x-gzip", "gzip"],
  ["*", "zstd"],
  ["*;q=0.1, gzip", "gzip"],
  ["*, zstd;q=0", "br"],
  ["gzip;q=0", null],
  ["gzip;q=2", null],
  ["gzip;q=0.1234", null],
  ["gzip;level=1", null],
  ["deflate, compress", null],
  [", ,gzip,", "gzip"],
];

describe("compression", () => {
  for (const [says, options, config, coding, vary] of table) {
    it(says, () => {
      const found = compressedHeaders(options, config);
      assert.deepEqual([found.coding, found.vary], [coding, vary]);
    });
  }

  it("weakens the entity tag, and removes headers that describe other bytes", () => {
    const headers = { ...text, etag: '"1"', "accept-ranges": "bytes" };
    const { tag, ranges } = compressedHeaders({ responseHeaders: headers });
    assert.deepEqual([tag, ranges], ['W/"1"', ""]);
    assert.equal(compressedHeaders({ responseHeaders: { ...text, etag: 'W/"1"' } }).tag, 'W/"1"');
  });

  for (const [header, coding] of accepted) {
    it(`chooses ${coding ?? "no coding"} for Accept-Encoding: ${header}`, () => {
      assert.equal(negotiateCoding([header], ["zstd", "br", "gzip"]), coding);
    });
  }

  it("refuses an unknown coding", () => {
    assert.match(String(configViolations("compression", { encodings: ["deflate"] })), /^encodings\.0: /);
  });
});
