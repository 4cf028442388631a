/** Results with Content-Encoding: their errors are counted, and proxy-cache stores them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { RecordedOperation } from "@sluice/plugin-sdk";
import { fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { graphql } from "./index.ts";
import { type Ask, DATA, startRoute } from "./testing-cached-route.ts";

const FAILED = '{"data":null,"errors":[{"message":"no"}]}';
const QUERY = JSON.stringify({ query: "query Users { users { id } }" });

/** Whether the operation counts as failed if the service sends these bytes. */
async function isFailed(coding: string, bytes: Buffer, config: object = {}): Promise<boolean | undefined> {
  const recorded: RecordedOperation[] = [];
  const context = fakeContext({ operations: { record: (operation) => void recorded.push(operation) } });
  const phases = graphql.phases(withConfigDefaults("graphql", config), context);
  const exchange = fakeExchange({
    method: "POST",
    headers: { "content-type": "application/json" },
    body: QUERY,
    responseHeaders: { "content-type": "application/json", "content-encoding": coding },
  });
  assert.equal(await phases.access?.(exchange), undefined);
  const filter = phases.responseBody?.(exchange);
  if (filter && "observe" in filter) {
    for (const byte of bytes) filter.observe(Buffer.from([byte]));
    filter.complete();
  }
  phases.log?.(exchange);
  return recorded[0]?.failed;
}

const codings = [
  ["gzip", gzipSync],
  ["GZIP", gzipSync],
  ["x-gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
  ["zstd", zstdCompressSync],
] as const;

describe("a result of GraphQL with Content-Encoding", () => {
  for (const [coding, encode] of codings)
    it(`(${coding}) counts as failed if it has errors`, async () => {
      assert.equal(await isFailed(coding, encode(FAILED)), true);
      assert.equal(await isFailed(coding, encode(DATA)), false);
    });

  it("is not searched if it is longer than max_response_size, also after decoding, or 1 MiB", async () => {
    const failed = (length: number) => `${FAILED.padEnd(length)}`;
    assert.equal(await isFailed("gzip", gzipSync(failed(5000)), { max_response_size: 5000 }), true);
    assert.equal(await isFailed("gzip", gzipSync(failed(5001)), { max_response_size: 5000 }), false);
    assert.equal(await isFailed("gzip", gzipSync(failed(2 ** 20 + 1)), { max_response_size: 2 ** 24 }), false);
  });

  for (const [what, coding, bytes] of [
    ["a coding that is not known", "compress", Buffer.from(FAILED)],
    ["two codings", "gzip, br", brotliCompressSync(gzipSync(FAILED))],
    ["another coding than its header says", "gzip", brotliCompressSync(FAILED)],
    ["an incomplete body", "gzip", gzipSync(FAILED).subarray(0, 20)],
    ["no body", "gzip", Buffer.alloc(0)],
  ] as const)
    it(`is not searched with ${what}`, async () => assert.equal(await isFailed(coding, bytes), false));

  const gzipped = (data: string, vary = "Accept-Encoding"): Ask => ({
    body: { query: "{ users { id } }" },
    headers: { "accept-encoding": "gzip" },
    response: gzipSync(data),
    responseHeaders: { "content-encoding": "gzip", vary },
  });

  it("is stored and used for clients that accept the same codings", async () => {
    const ask = startRoute();
    assert.deepEqual([await ask(gzipped(DATA)), await ask(gzipped(DATA))], ["Miss", "Hit"]);
    assert.notEqual(await ask({ ...gzipped(DATA), headers: {} }), "Hit");
  });

  for (const [what, asked] of [
    ["it has errors", gzipped(FAILED)],
    ["it is not encoded as its header says", { ...gzipped(DATA), response: DATA }],
    ["Vary does not say that it depends on the codings that the client accepts", gzipped(DATA, "Origin")],
  ] as const)
    it(`is not used again if ${what}`, async () => {
      const ask = startRoute();
      await ask(asked);
      assert.notEqual(await ask(asked), "Hit");
    });

  it("is purged by the ids of its objects", async () => {
    const ask = startRoute({ graphql: { purge: [{ mutation: "updateUser", types: ["User"], id: "id" }] } });
    const asked = gzipped('{"data":{"users":[{"id":"1"}]}}');
    await ask(asked);
    for (const [id, status] of [
      ["2", "Hit"],
      ["1", "Refresh"],
    ] as const) {
      await ask({ body: { query: `mutation { updateUser(id: "${id}") { id } }` } });
      assert.equal(await ask(asked), status);
    }
  });
});
