import assert from "node:assert/strict";
import { test } from "node:test";
import { HeaderEditList } from "./header-edits.ts";

test("the last word wins, names keep the case in which they were set, and appended values stand beside the others", () => {
  const edits = new HeaderEditList();
  edits.set("X-One", "1");
  edits.set("x-ONE", "2");
  edits.append("Set-Cookie", "b");
  edits.remove("Gone");
  edits.remove("Back");
  edits.append("Back", "again");
  const result = edits.applyTo(["x-one", "0", "Set-Cookie", "a", "GONE", "1", "back", "1", "Kept", "1"]);
  assert.deepEqual(result, [
    ...["Set-Cookie", "a", "Kept", "1", "x-ONE", "2"],
    ...["Set-Cookie", "b", "Back", "again"],
  ]);
});

test("a value cannot break its line, and text beyond Latin-1 goes as UTF-8", () => {
  const edits = new HeaderEditList();
  edits.set("A", "one\r\nEvil: two\0");
  edits.set("B", "☃");
  assert.deepEqual(edits.applyTo([]), ["A", "oneEvil: two", "B", Buffer.from("☃").toString("latin1")]);
});
