import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { ADMIN_MANAGER, divideByOwner, otherOwners } from "./field-ownership.ts";

type Fields = Readonly<Record<string, unknown>>;

const entry = (manager: string, spec: Fields, metadata: Fields = {}, operation = "Apply") => ({
  manager,
  operation,
  fieldsV1: { "f:spec": spec, "f:metadata": metadata },
});

const resource = (spec: Fields, ...managedFields: readonly ReturnType<typeof entry>[]): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Service",
  metadata: {
    name: "users",
    namespace: "home",
    annotations: { mine: "1", theirs: "1" },
    ...(managedFields.length > 0 && { managedFields }),
  },
  spec,
});

const before = resource(
  { host: "a", port: 80, tags: ["a"], retries: 1 },
  entry("gitops", { "f:host": {}, "f:tags": {} }, { "f:annotations": { ".": {}, "f:theirs": {} } }),
  entry(ADMIN_MANAGER, { "f:port": {}, "f:retries": {} }, { "f:annotations": { ".": {}, "f:mine": {} } }),
  { ...entry("operator", { "f:host": {} }), ...{ subresource: "status" } },
);
const wanted = (spec: Fields, more: object = {}) => ({ spec, annotations: {}, ...more });

test("the admin API applies changed fields and fields that it applied before, but no unchanged fields of other managers", () => {
  const { ours, owners, managedFields } = divideByOwner(
    "Service",
    before,
    wanted({ host: "a", port: 81, tags: ["a"], retries: 1, readTimeout: 5 }),
  );
  assert.deepEqual(ours.spec, { port: 81, retries: 1, readTimeout: 5 });
  assert.deepEqual(ours.metadata.annotations, { mine: "1" });
  assert.deepEqual([owners, managedFields], [[], undefined]);
});

test("other managers of fields that would change or be removed are named", () => {
  const { owners, managedFields } = divideByOwner("Service", before, wanted({ host: "b", port: 80 }));
  assert.deepEqual(owners, [
    { manager: "gitops", field: ".spec.tags" },
    { manager: "gitops", field: ".spec.host" },
  ]);
  // An apply that omits a field of another manager does not remove the field.
  const specs = managedFields?.map(({ manager, fieldsV1 }) => [manager, Object(fieldsV1)["f:spec"]]);
  assert.deepEqual(specs, [
    ["gitops", { "f:host": {} }],
    ["operator", { "f:host": {} }],
    [ADMIN_MANAGER, { "f:port": {}, "f:retries": {}, "f:tags": {} }],
  ]);
});

test("the fields with which the change can be undone are returned", () => {
  const { undo } = divideByOwner("Service", before, wanted({ host: "b", port: 81 }));
  assert.deepEqual(undo.spec, { host: "a", port: 80, retries: 1, tags: ["a"] });
  assert.deepEqual(undo.metadata.annotations, { mine: "1" });
});

test("the admin API adds annotations, removes its own annotations, and does not apply those of other managers", () => {
  const { ours } = divideByOwner(
    "Service",
    before,
    wanted(before.spec ?? {}, { annotations: { new: "2" }, without: ["mine"] }),
  );
  assert.deepEqual(ours.metadata.annotations, { new: "2" });
});

test("items of lists are identified by the keys that the schema names", () => {
  const pool = resource(
    { name: "pool", targets: [{ target: "a:80", weight: 1 }, { target: "b:80" }] },
    entry("gitops", {
      "f:name": {},
      "f:targets": { 'k:{"target":"a:80"}': { ".": {}, "f:target": {}, "f:weight": {} } },
    }),
    entry(ADMIN_MANAGER, { "f:targets": { 'k:{"target":"b:80"}': { ".": {}, "f:target": {} } } }),
  );
  const targets = [{ target: "a:80", weight: 1 }, { target: "b:80", weight: 9 }, { target: "c:80" }];
  const added = divideByOwner("Upstream", pool, wanted({ name: "pool", targets }));
  assert.deepEqual(added.ours.spec, { targets: [{ target: "b:80", weight: 9 }, { target: "c:80" }] });
  assert.deepEqual(added.owners, []);
  const changed = divideByOwner("Upstream", pool, wanted({ name: "pool", targets: [{ target: "a:80", weight: 2 }] }));
  assert.deepEqual(changed.owners, [{ manager: "gitops", field: '.spec.targets[target="a:80"].weight' }]);
  assert.deepEqual(changed.ours.spec, { targets: [{ target: "a:80", weight: 2 }] });
  const removed = divideByOwner("Upstream", pool, wanted({ name: "pool", targets: [{ target: "b:80" }] }));
  const item = { ".": {}, "f:target": {} };
  assert.deepEqual(
    removed.managedFields?.map(({ manager, fieldsV1 }) => [manager, Object(fieldsV1)["f:spec"]]),
    [
      ["gitops", { "f:name": {} }],
      [
        ADMIN_MANAGER,
        { "f:targets": { 'k:{"target":"b:80"}': item, 'k:{"target":"a:80"}': { ...item, "f:weight": {} } } },
      ],
    ],
  );
});

test("the members of a record may have different managers", () => {
  const limit = resource(
    { plugin: "rate-limiting", config: { minute: 5, redis: { host: "a", port: 1 } } },
    entry("gitops", { "f:plugin": {}, "f:config": { ".": {}, "f:minute": {}, "f:redis": { "f:host": {} } } }),
    entry(ADMIN_MANAGER, { "f:config": { "f:redis": { "f:port": {} } } }),
  );
  const config = { minute: 5, redis: { host: "a", port: 2 } };
  const { ours, owners } = divideByOwner("Plugin", limit, wanted({ plugin: "rate-limiting", config }));
  assert.deepEqual([ours.spec, owners], [{ config: { redis: { port: 2 } } }, []]);
});

test("without field managers, all fields belong to the admin API", () => {
  const file = resource({ host: "a", retries: 1 });
  const { ours, owners, managedFields } = divideByOwner("Service", file, wanted({ host: "a", readTimeout: 5 }));
  assert.deepEqual(ours.spec, { host: "a", readTimeout: 5 });
  assert.deepEqual(ours.metadata.annotations, { mine: "1", theirs: "1" });
  assert.deepEqual([owners, managedFields, otherOwners(file)], [[], undefined, []]);
});

test("otherOwners returns the other managers of the spec and omits writers of the status", () => {
  assert.deepEqual(otherOwners(before), [{ manager: "gitops", field: ".spec" }]);
});
