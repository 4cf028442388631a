import assert from "node:assert/strict";
import { test } from "node:test";
import { createPlacesBuffer, leaveAll, sharedPlaces } from "./shared-places.ts";

test("workers share the places, and those of one that died are free again", () => {
  const buffer = createPlacesBuffer(2);
  const [one, two] = [1, 2].map((owner) => sharedPlaces({ buffer, owner, limit: 3 }));
  assert.deepEqual([one?.take(), two?.take(), one?.take(), two?.take(), one?.take()], [true, true, true, false, false]);
  two?.leave();
  assert.deepEqual([one?.take(), one?.take()], [true, false]);
  leaveAll(buffer, 1);
  assert.deepEqual([two?.take(), two?.take(), two?.take(), two?.take()], [true, true, true, false]);
});
