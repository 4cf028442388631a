import assert from "node:assert/strict";
import { test } from "node:test";
import type { WrittenResource } from "@sluice/model";
import { reflectsWrite } from "./reflects-write.ts";
import type { Resource } from "./resource.ts";

const written: WrittenResource = { kind: "Route", namespace: "default", name: "users" };
const resource = (metadata: Partial<Resource["metadata"]>): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Route",
  metadata: { name: "users", namespace: "default", uid: "u", generation: 2, resourceVersion: "100", ...metadata },
});

/** A description, the resource as read, the write, and whether the resource reflects the write. */
const sights: readonly (readonly [string, Resource | undefined, Partial<WrittenResource>, boolean])[] = [
  ["the written generation", resource({}), { generation: 2 }, true],
  ["a later generation", resource({ generation: 3 }), { generation: 2 }, true],
  ["an earlier generation", resource({ generation: 1 }), { generation: 2 }, false],
  ["an absent resource", undefined, { generation: 1 }, false],
  ["another object with the same name", resource({ uid: "other" }), { uid: "u", generation: 1 }, false],
  ["the written version of a Secret", resource({}), { resourceVersion: "100" }, true],
  ["a later version of a Secret", resource({ resourceVersion: "1000" }), { resourceVersion: "999" }, true],
  ["an earlier version of a Secret", resource({ resourceVersion: "99" }), { resourceVersion: "100" }, false],
  [
    "the written version of a resource in a directory",
    resource({ resourceVersion: "hash" }),
    { resourceVersion: "hash" },
    true,
  ],
  [
    "a different version of a resource in a directory",
    resource({ resourceVersion: "hash" }),
    { resourceVersion: "other" },
    false,
  ],
  ["any resource, if the write names no version", resource({}), {}, true],
  ["the absence of a deleted resource", undefined, { deleted: true }, true],
  ["a deleted resource that is still present", resource({}), { deleted: true, uid: "u" }, false],
  ["a new object with the name of a deleted resource", resource({ uid: "new" }), { deleted: true, uid: "u" }, true],
];
for (const [what, held, wanted, expected] of sights)
  test(`reflectsWrite returns ${expected} for ${what}`, () => {
    assert.equal(reflectsWrite(held, { ...written, ...wanted }), expected);
  });
