import assert from "node:assert/strict";
import { test } from "node:test";
import { BATCH, BATCH_COMPLETE, BATCH_REMOVE, batchMark } from "./batch.ts";

const id = "0a1b2c3d-0000-4000-8000-000000000000";
const markOf = (annotations?: Record<string, string>) =>
  batchMark({ metadata: { name: "a", namespace: "b", ...(annotations && { annotations }) } });

test("batchMark reads the batch marks of a resource", () => {
  const mark = { id, size: 12, removes: false, completes: false };
  assert.deepEqual(markOf({ [BATCH]: `${id}/12` }), mark);
  assert.deepEqual(markOf({ [BATCH]: `${id}/12`, [BATCH_REMOVE]: id }), { ...mark, removes: true });
  assert.deepEqual(markOf({ [BATCH]: `${id}/12`, [BATCH_COMPLETE]: id }), { ...mark, completes: true });
  assert.deepEqual(markOf({ [BATCH]: `${id}/12`, [BATCH_COMPLETE]: "another" }), mark);
});

test("batchMark ignores marks that no Sluice writer makes", () => {
  for (const value of ["", id, `${id}/0`, `${id}/x`, `${id}/1e9`, "x/2"])
    assert.equal(markOf({ [BATCH]: value }), undefined);
  assert.equal(markOf(), undefined);
  assert.equal(markOf({ [BATCH_REMOVE]: id }), undefined);
});
