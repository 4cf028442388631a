import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { describeViolation } from "../document/describe.ts";
import type { Change, Document, DocumentListener } from "../document.ts";
import { applyChange, applyDocument } from "./apply.ts";
import { snapshotToDocument } from "./change.ts";
import { emptySnapshot } from "./make-snapshot.ts";

const web: DocumentListener = { name: "team/web/http", port: 9000, public_port: 80, protocol: "http" };
const change = (listeners: unknown): Change => ({ put: {}, remove: {}, listeners: listeners as Change["listeners"] });
const document = (listeners: unknown) => ({ _format_version: "3.0", _sluice: { listeners } }) as Document;

for (const [given, expected] of [
  [web, ["_sluice.listeners: expected an array"]],
  [["web"], ["_sluice.listeners[0]: expected a record"]],
  [[web, { ...web, port: 9001 }], ["_sluice.listeners[1].name: 'team/web/http' is not unique"]],
  [
    [{ port: 0, protocol: "tcp", hostname: "A.com", tls: {}, fleets: [] }],
    [
      "_sluice.listeners[0].name: required field missing",
      "_sluice.listeners[0].public_port: required field missing",
      "_sluice.listeners[0].tls: unknown field",
      "_sluice.listeners[0].protocol: expected one of: http, https, tls, tls_passthrough",
      "_sluice.listeners[0].port: value should be between 1 and 65535",
      "_sluice.listeners[0].fleets: length must be at least 1",
      "_sluice.listeners[0].hostname: invalid hostname: A.com (expected a DNS name in lower case, which may begin with '*.')",
    ],
  ],
  ...["10.0.0.1", "*", "a.*", "*.*.com", "a..com", "a.com.", "a.com:80"].map(
    (hostname) =>
      [
        [{ ...web, hostname }],
        [
          `_sluice.listeners[0].hostname: invalid hostname: ${hostname} (expected a DNS name in lower case, which may begin with '*.')`,
        ],
      ] as const,
  ),
] as const) {
  test(`a document with the listeners ${JSON.stringify(given)} is refused`, () =>
    assert.deepEqual(applyDocument(emptySnapshot, document(given)).violations?.map(describeViolation), expected));
}

for (const [given, expected] of [
  [[web], ["_sluice.listeners: expected a record"]],
  [{ other: web }, ["_sluice.listeners.other.name: expected other"]],
  [{ [web.name]: { ...web, port: "80" } }, [`_sluice.listeners["team/web/http"].port: expected an integer`]],
] as const) {
  test(`a change with the listeners ${JSON.stringify(given)} is refused`, () =>
    assert.deepEqual(applyChange(emptySnapshot, change(given)).violations?.map(describeViolation), expected));
}

test("a document without listeners has no section for them, so that older nodes accept it", () => {
  const { value: some = emptySnapshot } = applyDocument(emptySnapshot, document([{ ...web, hostname: "*.a.com" }]));
  assert.equal(some.listeners.size, 1);
  const { value: none = some } = applyChange(some, change({ [web.name]: null }));
  assert.equal(none.hash, emptySnapshot.hash);
  assert.equal(snapshotToDocument(none)._sluice, undefined);
});

test("whatever the listeners are, they are accepted or refused, and never fail", () => {
  const member = fc.oneof(fc.anything(), fc.constantFrom("a", "http", "*.a.com", 80));
  const members = { name: member, port: member, public_port: member, protocol: member, hostname: member };
  const anything = fc.oneof(fc.anything(), fc.array(fc.record(members, { requiredKeys: [] })));
  fc.assert(
    fc.property(anything, (given) => {
      for (const { value, violations } of [
        applyDocument(emptySnapshot, document(given)),
        applyChange(emptySnapshot, change(given)),
      ])
        assert.equal(value === undefined, violations !== undefined && violations.length > 0);
    }),
  );
});
