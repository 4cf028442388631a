import assert from "node:assert/strict";
import { test } from "node:test";
import { unservedChildren } from "./origin-body.ts";

const keys = ["spec.keyAuth[0].secretRef.name: there is no Secret a", "spec.keyAuth[1].secretRef.key: it has no entry"];
const condition = {
  type: "ResolvedRefs",
  status: "False",
  reason: "SecretNotFound",
  message: [...keys, "spec.basicAuth[0].secretRef.name: there is no Secret b"].join("; "),
};

for (const [what, conditions, segment, messages] of [
  ["each credential of the kind that cannot be read", [condition], "key-auth", keys],
  ["no credential of another kind", [condition], "jwt", []],
  ["none if all can be read", [{ ...condition, status: "True" }], "key-auth", []],
  ["none twice because of another condition", [{ ...condition, type: "Programmed" }], "key-auth", []],
] as const)
  test(`the page of a consumer names ${what}`, () => {
    assert.deepEqual(unservedChildren(conditions, segment), messages);
  });
