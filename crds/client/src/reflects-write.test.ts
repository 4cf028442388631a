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

/** A name, the resource as read, the write, and whether the resource reflects it. */
const sights: readonly (readonly [string, Resource | undefined, Partial<WrittenResource>, boolean])[] = [
  ["the generation", resource({}), { generation: 2 }, true],
  ["a later generation", resource({ generation: 3 }), { generation: 2 }, true],
  ["an earlier generation", resource({ generation: 1 }), { generation: 2 }, false],
  ["nothing", undefined, { generation: 1 }, false],
  ["another object with the name", resource({ uid: "other" }), { uid: "u", generation: 1 }, false],
  ["a Secret's version", resource({}), { resourceVersion: "100" }, true],
  ["a later version", resource({ resourceVersion: "1000" }), { resourceVersion: "999" }, true],
  ["an earlier version", resource({ resourceVersion: "99" }), { resourceVersion: "100" }, false],
  ["the version of a directory", resource({ resourceVersion: "hash" }), { resourceVersion: "hash" }, true],
  ["another version of a directory", resource({ resourceVersion: "hash" }), { resourceVersion: "other" }, false],
  ["any resource, if the write names no version", resource({}), {}, true],
  ["a deletion", undefined, { deleted: true }, true],
  ["a deletion that is not visible yet", resource({}), { deleted: true, uid: "u" }, false],
  ["a deletion, and a new object with the name", resource({ uid: "new" }), { deleted: true, uid: "u" }, true],
];
for (const [what, held, wanted, expected] of sights)
  test(`a reader ${expected ? "sees what was written" : "does not see it yet"}: ${what}`, () => {
    assert.equal(reflectsWrite(held, { ...written, ...wanted }), expected);
  });
