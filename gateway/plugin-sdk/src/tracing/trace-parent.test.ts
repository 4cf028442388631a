import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTraceParent, parseTraceParent, traceIdOf } from "./trace-parent.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

const cases: readonly (readonly [header: string, sampled: boolean | null])[] = [
  [`00-${traceId}-${spanId}-01`, true],
  [`00-${traceId}-${spanId}-00`, false],
  [`00-${traceId}-${spanId}-03`, true],
  [`00-${traceId}-${spanId}-02`, false],
  [`cc-${traceId}-${spanId}-01`, true],
  [`cc-${traceId}-${spanId}-01-more`, true],
  [`00-${traceId}-${spanId}-01-more`, null],
  [`ff-${traceId}-${spanId}-01`, null],
  [`cc-${traceId}-${spanId}-01.more`, null],
  [`00-${traceId.toUpperCase()}-${spanId}-01`, null],
  [`00-${"0".repeat(32)}-${spanId}-01`, null],
  [`00-${traceId}-${"0".repeat(16)}-01`, null],
  [`00-${traceId}-${spanId}`, null],
  [`00-${traceId}-${spanId}-1`, null],
  [`00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`, null],
  ["", null],
];

for (const [header, sampled] of cases) {
  test(`the parser ${sampled === null ? "refuses" : "accepts"} the traceparent "${header}"`, () => {
    assert.deepEqual(parseTraceParent(header), sampled === null ? null : { traceId, spanId, sampled });
  });
}

test("a formatted traceparent is parsed into the same ids and the same flag, and traceIdOf returns its trace id", () => {
  for (const sampled of [true, false]) {
    assert.deepEqual(parseTraceParent(formatTraceParent({ traceId, spanId, sampled })), { traceId, spanId, sampled });
  }
  assert.equal(traceIdOf(`00-${traceId}-${spanId}-00`), traceId);
  assert.equal(traceIdOf(undefined), undefined);
});
