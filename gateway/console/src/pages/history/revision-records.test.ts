import assert from "node:assert/strict";
import { test } from "node:test";
import { auditEntries, countsText, type RevisionDetails } from "./revision-records.ts";

const revision = (number: number, changes: Partial<RevisionDetails>): RevisionDetails => ({
  number,
  time: "2030-01-01T00:00:00.000Z",
  author: "admin token",
  counts: null,
  ...changes,
});
const none = { created: [], changed: [], deleted: [] };
const shop = { collection: "services", id: "1", name: "shop" };
const key = { collection: "keyauth_credentials", id: "01234567-89ab", name: null };
const target = { collection: "targets", id: "3", name: "a:80" };

const table: readonly (readonly [
  what: string,
  newestFirst: readonly RevisionDetails[],
  entries: readonly string[][],
])[] = [
  [
    "names the members that were set or changed",
    [
      revision(2, { ...none, changed: [{ ...shop, members: [{ member: "host", before: "a", after: "b" }] }] }),
      revision(1, { ...none, created: [{ ...shop, members: { name: "shop", host: "a" } }] }),
    ],
    [
      ["2", "changed", "service shop", "host", "entities/services/1"],
      ["1", "created", "service shop", "name, host", "entities/services/1"],
    ],
  ],
  [
    "has no links to an entity that was deleted later",
    [
      revision(2, { ...none, deleted: [{ ...shop, along: [] }] }),
      revision(1, { ...none, created: [{ ...shop, members: {} }] }),
    ],
    [
      ["2", "deleted", "service shop", "", ""],
      ["1", "created", "service shop", "", ""],
    ],
  ],
  [
    "links an entity that was deleted and restored",
    [
      revision(2, { ...none, created: [{ ...key, members: {} }] }),
      revision(1, { ...none, deleted: [{ ...key, along: [] }] }),
    ],
    [
      ["2", "created", "API key 01234567…", "", "entities/key-auths/01234567-89ab"],
      ["1", "deleted", "API key 01234567…", "", "entities/key-auths/01234567-89ab"],
    ],
  ],
  [
    "has no link to an entity without a page of its own",
    [revision(1, { ...none, created: [{ ...target, members: {} }] })],
    [["1", "created", "target a:80", "", ""]],
  ],
  [
    "states why changes are not kept",
    [revision(1, { reason: "more than 16 MiB" })],
    [["1", "not kept", "", "more than 16 MiB", ""]],
  ],
];
for (const [what, newestFirst, entries] of table)
  test(`the list of changes ${what}`, () => {
    const found = auditEntries(newestFirst).map((one) => [
      String(one.revision.number),
      ...[one.change, one.entity, one.members, (one.at ?? []).join("/")],
    ]);
    assert.deepEqual(found, entries);
  });

test("the summary of a revision omits counts of zero", () => {
  const counted = (created: number, changed: number) =>
    countsText(revision(1, { counts: { created, changed, deleted: 0 } }));
  assert.deepEqual(
    [counted(1, 2000), counted(0, 0), countsText(revision(1, {}))],
    ["1 created, 2,000 changed", "none", "not kept"],
  );
});
