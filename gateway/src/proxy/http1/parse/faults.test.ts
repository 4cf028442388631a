import assert from "node:assert/strict";
import { test } from "node:test";
import { fault, parseErrorOf } from "./faults.ts";

const codes = Object.values(fault);

test("each error has its own code, a status and a reason", () => {
  assert.deepEqual(
    codes,
    codes.map((_, at) => -at - 1),
  );
  assert.deepEqual(parseErrorOf(fault.lineTooLong), { status: 414, reason: "the request line is too long" });
  assert.equal(parseErrorOf(fault.codingUnknown).status, 501);
  assert.equal(parseErrorOf(fault.version).status, 505);
  assert.equal(parseErrorOf(fault.tooManyFields).status, 431);
  assert.match(parseErrorOf(fault.connectBody).reason, /CONNECT/);
  for (const code of codes) assert.ok(parseErrorOf(code).reason.length > 0);
});

test("parseErrorOf throws for a number that is not the number of a fault", () => {
  for (const result of [0, 1, -codes.length - 1]) assert.throws(() => parseErrorOf(result), RangeError);
});
