import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteView } from "./byte-view.ts";

test("short pieces that are kept in a list are joined, and long ones are not copied", () => {
  const pieces: Buffer[] = [];
  const long = Buffer.alloc(3000, "b");
  const views = [...Array.from({ length: 5000 }, (_, index) => Buffer.from(`${index % 10}`)), long, long];
  for (const bytes of views) ByteView.of(bytes).keepIn(pieces);
  assert.deepEqual(Buffer.concat(pieces), Buffer.concat(views));
  assert.deepEqual(
    pieces.map(({ length }) => length),
    [2048, 2048, 904, 3000, 3000],
  );
  assert.equal(pieces.at(-1)?.buffer, long.buffer);
});
