import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentIds } from "./recent-ids.ts";

for (const added of [1, 16, 17, 255, 256, 257, 1000]) {
  test(`after ${added} ids, the newest 256 are remembered and no others`, () => {
    const ids = new RecentIds();
    const idAt = (index: number) => 2 * index + 1;
    for (let index = 0; index < added; index++) ids.add(idAt(index));
    for (let index = 0; index < added; index++) {
      assert.equal(ids.has(idAt(index)), index >= added - 256, `id ${index} of ${added}`);
    }
    assert.equal(ids.has(idAt(added)), false);
  });
}
