import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  editGroup,
  HeaderEditList,
  numberedEdits,
  overrideHeaderEdit,
  removeHeaderEdit,
  setHeaderEdit,
} from "./header-edits.ts";
import { HeaderName } from "./header-name.ts";

test("the last edit of a name applies, names keep the case in which they were set, and appended values are added to the previous values", () => {
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

test("control characters are removed from a value, and text beyond Latin-1 is sent as UTF-8", () => {
  const edits = new HeaderEditList();
  edits.set("A", "one\r\nEvil: two\0");
  edits.set("B", "☃");
  assert.deepEqual(edits.applyTo([]), ["A", "oneEvil: two", "B", Buffer.from("☃").toString("latin1")]);
});

test("an overriding edit removes all other spellings of the header, whatever was edited before", () => {
  const edits = new HeaderEditList();
  edits.set("X_A_B", "plugin");
  edits.append("x-a-b", "plugin");
  edits.remove("X-a_B");
  edits.set("X-Other", "1");
  edits.apply(overrideHeaderEdit("X-A-B", "ours"));
  edits.apply(setHeaderEdit("X-Plain", "1"));
  const sent = ["X-A-B", "x_a_b", "X-A_B", "X-A-C", "X_Plain", "XXA-B"].flatMap((name) => [name, "sent"]);
  assert.deepEqual(edits.applyTo(sent), [
    ...["X-A-C", "sent", "X_Plain", "sent", "XXA-B", "sent"],
    ...["X-Other", "1", "X-A-B", "ours", "X-Plain", "1"],
  ]);
});

test("the edits of a later list replace, remove and append values as if they were made after those of the first list", () => {
  const edits = new HeaderEditList();
  for (const name of ["X-Set", "X-Gone", "X-More"]) edits.set(name, "first");
  const later = new HeaderEditList();
  later.applyAll(editGroup([setHeaderEdit("x-set", "later"), removeHeaderEdit("X-Gone")]));
  later.append("X-More", "\u2603");
  later.append("X-More", "b");
  later.append("X-Sent", "c");
  edits.applyList(later);
  const snowman = Buffer.from("\u2603").toString("latin1");
  const expected = [
    "X-Sent",
    "0",
    "x-set",
    "later",
    "X-More",
    "first",
    "X-More",
    snowman,
    "X-More",
    "b",
    "X-Sent",
    "c",
  ];
  assert.deepEqual(edits.applyTo(["X-Set", "0", "X-Gone", "0", "X-Sent", "0"]), expected);
});

test("a group of edits has the same effect as its single edits, whatever was edited before and after", () => {
  const group = editGroup([setHeaderEdit("X-Id", "7"), removeHeaderEdit("X-Old")]);
  const headers = ["x-id", "0", "x-old", "1", "Kept", "1"];
  const orders: readonly (readonly [string, (edits: HeaderEditList) => void, readonly string[], string])[] = [
    ["alone", (edits) => edits.applyAll(group), ["Kept", "1", "X-Id", "7"], "X-Id: 7\r\n"],
    [
      "before another",
      (edits) => {
        edits.applyAll(group);
        edits.set("x-old", "2");
      },
      ["Kept", "1", "X-Id", "7", "x-old", "2"],
      "X-Id: 7\r\nx-old: 2\r\n",
    ],
    [
      "after another",
      (edits) => {
        edits.set("x-id", "1");
        edits.applyAll(group);
      },
      ["Kept", "1", "X-Id", "7"],
      "X-Id: 7\r\n",
    ],
    [
      "and one more value",
      (edits) => {
        edits.applyAll(group);
        edits.append("X-Id", "8");
      },
      ["Kept", "1", "X-Id", "7", "X-Id", "8"],
      "X-Id: 7\r\nX-Id: 8\r\n",
    ],
    [
      "twice",
      (edits) => {
        edits.applyAll(group);
        edits.applyAll(editGroup([setHeaderEdit("X-Id", "9")]));
      },
      ["Kept", "1", "X-Id", "9"],
      "X-Id: 9\r\n",
    ],
  ];
  for (const [name, edit, result, lines] of orders) {
    const edits = new HeaderEditList();
    edit(edits);
    assert.deepEqual(edits.applyTo(headers), result, name);
    assert.equal(edits.lines, lines, name);
    assert.equal(edits.replaces("x-id"), true, name);
  }
  assert.equal(group.lines, "X-Id: 7\r\n");
});

test("edits with numbers set one header for each number, between the other edits", () => {
  const editsWith = numberedEdits([
    ...[new HeaderName("X-First"), setHeaderEdit("X-Fixed", "a"), removeHeaderEdit("X-Gone")],
    ...[new HeaderName("X-Last")],
  ]);
  for (const numbers of [
    [0, 12],
    [999_999_999, 0.5],
  ] as const) {
    const { lines, edits, headers } = editsWith(numbers);
    const [first, last] = numbers;
    assert.equal(lines, `X-First: ${first}\r\nX-Fixed: a\r\nX-Last: ${last}\r\n`);
    assert.equal(edits.map((edit) => edit.lines).join(""), lines);
    assert.deepEqual(
      edits.map(({ header }) => header.name),
      headers.map(({ name }) => name),
    );
  }
});

test("any edits have the same effect whether groups of them are applied as groups or one by one", () => {
  const names = ["X-A", "X_A", "x-a", "X-B", "X-Longer", "X-LongeR", "Via", "Vix"];
  const name = fc.constantFrom(...names);
  const value = fc.constantFrom("1", "2");
  const edit = fc.oneof(
    fc.tuple(name, value).map(([header, text]) => setHeaderEdit(header, text)),
    name.map((header) => removeHeaderEdit(header)),
  );
  const distinct = fc.uniqueArray(edit, { selector: ({ header }) => header.lower, maxLength: 4 });
  const step = fc.oneof(
    distinct.map((edits) => editGroup(edits)),
    distinct.map((edits) =>
      numberedEdits(edits.map((each) => (each.values.length > 0 ? each.header : each)))(
        edits.flatMap(({ values }) => values.map(Number)),
      ),
    ),
    edit,
    fc.tuple(name, value).map(([header, text]) => overrideHeaderEdit(header, text)),
    fc.tuple(name, value),
  );
  const sent = names.flatMap((each) => [each, "sent"]);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
      const [grouped, single] = [new HeaderEditList(), new HeaderEditList()];
      for (const each of steps) {
        if ("edits" in each) {
          grouped.applyAll(each);
          for (const one of each.edits) single.apply(one);
        } else
          for (const list of [grouped, single]) {
            if ("header" in each) list.apply(each);
            else list.append(...each);
          }
      }
      for (const list of [grouped, grouped.copy()]) {
        assert.equal(list.lines, single.lines);
        assert.deepEqual(list.applyTo(sent), single.applyTo(sent));
        for (const each of names) {
          const isReplaced = single.replaces(each.toLowerCase());
          assert.equal(list.replaces(each.toLowerCase()), isReplaced, each);
          assert.equal(list.replacesHeader(new HeaderName(each)), isReplaced, each);
          assert.deepEqual(list.editOf(each.toLowerCase()), single.editOf(each.toLowerCase()), each);
        }
      }
    }),
    { numRuns: 2000 },
  );
});
