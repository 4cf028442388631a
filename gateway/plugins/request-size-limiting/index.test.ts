import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeRequest, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { requestSizeLimiting } from "./index.ts";
import type { RequestSizeLimitingConfig } from "./schema.ts";

const MiB = 1024 * 1024;

type Config = Partial<RequestSizeLimitingConfig>;

const defaults = withConfigDefaults("request-size-limiting", {});

const send = (config: Config, request: FakeRequest) =>
  requestSizeLimiting
    .phases({ ...defaults, ...config }, fakeContext())
    .access?.(fakeExchange({ method: "POST", ...request }));

/** A request with this Content-Length. It has no body, so that only the header can decide. */
const declared = (length: number, headers: Record<string, string> = {}): FakeRequest => ({
  headers: { "content-length": String(length), ...headers },
});
const chunked = (length: number, headers: Record<string, string> = {}): FakeRequest => ({
  headers: { "transfer-encoding": "chunked", ...headers },
  body: Buffer.alloc(length),
});
const expect = { expect: "100-continue" };

type Row = readonly [what: string, config: Config, request: FakeRequest, status: number | undefined];

const ten = { allowed_payload_size: 10, size_unit: "bytes" } as const;

const rows: readonly Row[] = [
  ["a body of 128 MiB by default", {}, declared(128 * MiB), undefined],
  ["a body over 128 MiB by default", {}, declared(128 * MiB + 1), 413],
  ["a body of exactly the limit in bytes", ten, declared(10), undefined],
  ["a body over the limit in bytes", ten, declared(11), 413],
  ["a body of exactly the limit in kilobytes", { ...ten, size_unit: "kilobytes" }, declared(10_240), undefined],
  ["a body over the limit in kilobytes", { ...ten, size_unit: "kilobytes" }, declared(10_241), 413],
  ["a body of exactly the limit in megabytes", { ...ten, size_unit: "megabytes" }, declared(10 * MiB), undefined],
  ["a body over the limit in megabytes", { ...ten, size_unit: "megabytes" }, declared(10 * MiB + 1), 413],
  ["a small body with Expect", ten, declared(10, expect), undefined],
  ["a large body with Expect", ten, declared(11, expect), 417],
  ["a large body with Expect in another letter case", ten, declared(11, { expect: " 100-Continue" }), 417],
  ["a body of zero bytes with the limit 0", { ...ten, allowed_payload_size: 0 }, declared(0), undefined],
  ["a body of one byte with the limit 0", { ...ten, allowed_payload_size: 0 }, declared(1), 413],
  ["a chunked body of exactly the limit", ten, chunked(10), undefined],
  ["a chunked body over the limit", ten, chunked(11), 413],
  ["a small chunked body with Expect", ten, chunked(10, expect), undefined],
  ["a large chunked body with Expect", ten, chunked(11, expect), 417],
  ["a body with neither Content-Length nor Transfer-Encoding, as over HTTP/2", ten, { body: "12345678901" }, 413],
  ["a request without a body", ten, { method: "GET" }, undefined],
  [
    "a request without a body if a length is required",
    { ...ten, require_content_length: true },
    { method: "GET" },
    411,
  ],
  [
    "a body with Content-Length if a length is required",
    { ...ten, require_content_length: true },
    declared(10),
    undefined,
  ],
  ["a chunked body if a length is required", { ...ten, require_content_length: true }, chunked(10), undefined],
  ["a large chunked body if a length is required", { ...ten, require_content_length: true }, chunked(11), 413],
];

const messages: Readonly<Record<number, string>> = {
  411: "A valid Content-Length header is required",
  413: "Request size limit exceeded",
  417: "Request size limit exceeded",
};

describe("request-size-limiting", () => {
  for (const [what, config, request, status] of rows) {
    it(`${status === undefined ? "forwards" : `answers ${status} to`} ${what}`, () => {
      const expected = status === undefined ? undefined : { status, message: messages[status] };
      assert.deepEqual(send(config, request), expected);
    });
  }

  it("has Kong's defaults", () => {
    assert.deepEqual(defaults, { allowed_payload_size: 128, size_unit: "megabytes", require_content_length: false });
  });

  it("refuses a limit that is negative or not an integer, and unknown units", () => {
    for (const [config, message] of [
      [{ allowed_payload_size: -1 }, "allowed_payload_size: value should be between 0 and 2147483647"],
      [{ allowed_payload_size: 0.5 }, "allowed_payload_size: expected an integer"],
      [{ size_unit: "gigabytes" }, "size_unit: expected one of: megabytes, kilobytes, bytes"],
    ] as const) {
      assert.deepEqual(configViolations("request-size-limiting", config), [message]);
    }
  });
});
