import assert from "node:assert/strict";
import { test } from "node:test";
import { Conflict, ResourceRejected } from "../../resource.ts";
import { ownedConditions } from "../owned-conditions.ts";
import { ApiServerError, writeErrorOf } from "./api-server-error.ts";

const fault = (code: number, message = "the server's words", details = {}) =>
  new ApiServerError(code, { code, reason: "Conflict", message, details });

test("writeErrorOf distinguishes conflicts, rejections and other errors of a write", () => {
  const owned = {
    causes: [{ reason: "FieldManagerConflict", message: 'conflict with "kubectl" using v1', field: ".a" }],
  };
  const table: readonly (readonly [ApiServerError, "absent" | object | undefined, string])[] = [
    [fault(409), "absent", "exists"],
    [fault(409), { uid: "1" }, "changed"],
    [fault(409), undefined, "changed"],
    [fault(409, "x", owned), undefined, "owned"],
    [fault(422), undefined, "rejected"],
    [fault(400), undefined, "rejected"],
    [fault(403), undefined, "rejected"],
    [
      fault(500, "failed to create typed patch object (a/b): .spec.x: field not declared in schema"),
      undefined,
      "rejected",
    ],
    [fault(500), undefined, "nothing"],
    [fault(503), undefined, "nothing"],
  ];
  for (const [fault, expect, meaning] of table) {
    const refusal = writeErrorOf(fault, expect);
    const found =
      refusal instanceof Conflict ? refusal.reason : refusal instanceof ResourceRejected ? "rejected" : "nothing";
    assert.equal(found, meaning, `${fault.code} ${fault.message}`);
    assert.equal(refusal instanceof Error && refusal.message, fault.message);
    if (found === "nothing") assert.equal(refusal, fault);
  }
  const refusal = writeErrorOf(fault(409, "x", owned), undefined);
  assert.deepEqual(refusal instanceof Conflict && refusal.owners, [{ manager: "kubectl", field: ".a" }]);
});

test("ownedConditions finds the conditions that a manager has applied", () => {
  const fieldsV1 = { "f:status": { "f:conditions": { 'k:{"type":"Accepted"}': { ".": {}, "f:status": {} } } } };
  const entry = { manager: "op", operation: "Apply", subresource: "status", fieldsV1 };
  const types = (managedFields: object[]) => [
    ...ownedConditions(
      { apiVersion: "v", kind: "Service", metadata: { name: "a", namespace: "b", managedFields } },
      "op",
    ),
  ];
  assert.deepEqual(types([entry]), ["Accepted"]);
  assert.deepEqual(
    types([
      { ...entry, manager: "other" },
      { ...entry, operation: "Update" },
      { ...entry, fieldsV1: {} },
    ]),
    [],
  );
});
