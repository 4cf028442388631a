import assert from "node:assert/strict";
import { test } from "node:test";
import { HeaderEditList, insistingHeader, settingHeader } from "./header-edits.ts";

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

test("who insists on a header lets no other spelling of it pass, whoever has edited it before", () => {
  const edits = new HeaderEditList();
  edits.set("X_A_B", "plugin");
  edits.append("x-a-b", "plugin");
  edits.remove("X-a_B");
  edits.set("X-Other", "1");
  edits.apply(insistingHeader("X-A-B", "ours"));
  edits.apply(settingHeader("X-Plain", "1"));
  const sent = ["X-A-B", "x_a_b", "X-A_B", "X-A-C", "X_Plain", "XXA-B"].flatMap((name) => [name, "sent"]);
  assert.deepEqual(edits.applyTo(sent), [
    ...["X-A-C", "sent", "X_Plain", "sent", "XXA-B", "sent"],
    ...["X-Other", "1", "X-A-B", "ours", "X-Plain", "1"],
  ]);
});
