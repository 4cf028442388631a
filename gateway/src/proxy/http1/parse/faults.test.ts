import assert from "node:assert/strict";
import { test } from "node:test";
import { fault, faultOf } from "./faults.ts";

const codes = Object.values(fault);

test("each fault has a code of its own, a status and a reason", () => {
  assert.deepEqual(
    codes,
    codes.map((_, at) => -at - 1),
  );
  assert.deepEqual(faultOf(fault.lineTooLong), { status: 414, reason: "the request line is too long" });
  assert.equal(faultOf(fault.codingUnknown).status, 501);
  assert.equal(faultOf(fault.version).status, 505);
  assert.equal(faultOf(fault.tooManyFields).status, 431);
  assert.match(faultOf(fault.connectBody).reason, /CONNECT/);
  for (const code of codes) assert.ok(faultOf(code).reason.length > 0);
});

test("what is no fault is not described", () => {
  for (const result of [0, 1, -codes.length - 1]) assert.throws(() => faultOf(result), RangeError);
});
