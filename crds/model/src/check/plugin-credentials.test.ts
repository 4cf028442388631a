import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceTokenFacts } from "../../../../test/plugins/device-token.ts";
import { describeViolation } from "../document/describe.ts";
import { loadText } from "../document/load.ts";
import type { Change } from "../document.ts";
import { lookupHash } from "../entities/index.ts";
import { registerPlugins, replaceRegistered } from "../plugins/index.ts";
import { applyChange } from "../snapshot/apply.ts";
import { changeBetween, snapshotToDocument } from "../snapshot/change.ts";
import { emptySnapshot } from "../snapshot/make-snapshot.ts";
import { checkEntity } from "./index.ts";

registerPlugins([deviceTokenFacts]);

const id = "44444444-4444-4444-8444-444444444444";
const consumer = { id: "33333333-3333-4333-8333-333333333333" };
const credential = (members: object) => ({ id, consumer, plugin: "device-token", key: "tok-1", ...members });

test("the config of a plugin's credential gets the defaults of the plugin's schema", () => {
  const { value } = checkEntity("plugin_credentials", credential({}));
  assert.deepEqual(value?.config, { model: "any", pin: null });
});

const refused: readonly (readonly [members: object, message: string])[] = [
  [{ config: { model: 1 } }, "config.model: expected a string"],
  [{ config: { colour: "red" } }, "config.colour: unknown field"],
  [{ config: { model: "locked" } }, "config.pin: required for locked devices"],
  [{ config: [] }, "config: expected a record"],
  [{ key: "abc" }, "key: length must be at least 4"],
  [{ key: null }, "key: required field missing"],
  [{ key: "" }, "key: length must be at least 1"],
  [{ plugin: null }, "plugin: required field missing"],
  [{ plugin: "device-tokn" }, "plugin: plugin 'device-tokn' not enabled, did you mean device-token? Sluice has "],
  [{ plugin: "cors" }, "plugin: the plugin cors declares no credentials"],
  [{ plugin: "key-auth" }, "plugin: the plugin key-auth declares no credentials: name a plugin of your own"],
];
for (const [members, message] of refused)
  test(`a plugin's credential with ${JSON.stringify(members)} is refused`, () => {
    const { violations = [] } = checkEntity("plugin_credentials", credential(members));
    assert.equal(violations.length, 1);
    assert.equal(violations.map(describeViolation).join().slice(0, message.length), message);
  });

const NEWER = { closePlugins: true };
const put = (members: object): Change => ({
  put: { consumers: [{ ...consumer, username: "bob" }], plugin_credentials: [credential(members)] },
  remove: {},
});
const stored = (change: Change, previous = emptySnapshot) =>
  applyChange(previous, change, NEWER).value ?? assert.fail("the change is refused");

for (const [what, members] of [
  ["its plugin refuses", { config: { model: 1, pin: "1234" } }],
  ["has a plugin that this process lacks", { plugin: "other-token", config: { model: 1 } }],
] as const)
  test(`with closePlugins, a credential that ${what} is marked as unavailable and keeps its config; the mark is in neither the document nor the snapshot's hash`, () => {
    const snapshot = stored(put(members));
    const kept = snapshot.plugin_credentials.get(id);
    assert.deepEqual(kept?.config, members.config);
    assert.match(kept?._sluice?.unavailable ?? "", /^credential for the plugin (device|other)-token: /);
    const document = snapshotToDocument(snapshot);
    assert.doesNotMatch(JSON.stringify(document), /unavailable/);
    const before = replaceRegistered([]);
    try {
      assert.equal(stored({ put: document, remove: {} }).hash, snapshot.hash);
    } finally {
      replaceRegistered(before);
    }
  });

test("with closePlugins, a credential that its plugin refuses is marked as unavailable; its previous version is not kept, and a valid later version is not marked", () => {
  const next = stored(put({ config: { model: 1 } }), stored(put({})));
  assert.notEqual(next.plugin_credentials.get(id)?._sluice?.unavailable, undefined);
  assert.equal(stored(put({}), next).plugin_credentials.get(id)?._sluice?.unavailable, undefined);
});

test("a snapshot has the hash of a key and not the key; equal keys of two plugins have different hashes, and putting the same credential again changes nothing", () => {
  const snapshot = stored(put({}));
  const kept = snapshot.plugin_credentials.get(id);
  assert.deepEqual([kept?.key, kept?._sluice], [null, { key_hash: lookupHash("tok-1", "device-token") }]);
  assert.notEqual(lookupHash("tok-1", "other-token"), lookupHash("tok-1", "device-token"));
  assert.deepEqual(changeBetween(snapshot, stored(put({}), snapshot)), { put: {}, remove: {} });
});

test("a declarative file may have plugins' credentials at its top level and nested in consumers", () => {
  const { value, violations } = loadText(`
_format_version: "3.0"
consumers:
- username: ann
  plugin_credentials:
  - {plugin: device-token, key: ann-1, config: {pin: "1"}}
- username: bob
plugin_credentials:
- {plugin: device-token, key: bob-1, consumer: {username: bob}}
`);
  assert.equal(violations, undefined);
  assert.deepEqual(
    [...(value?.snapshot.plugin_credentials.values() ?? [])]
      .map(({ _sluice, config }) => [_sluice?.key_hash, config])
      .toSorted(),
    [
      [lookupHash("ann-1", "device-token"), { model: "any", pin: "1" }],
      [lookupHash("bob-1", "device-token"), { model: "any", pin: null }],
    ].toSorted(),
  );
});

test("two consumers cannot have the same key for one plugin, and the message does not show the key", () => {
  const { violations = [] } = loadText(`
_format_version: "3.0"
consumers:
- {username: ann, plugin_credentials: [{plugin: device-token, key: same-1}]}
- {username: bob, plugin_credentials: [{plugin: device-token, key: same-1}]}
`);
  assert.deepEqual(
    violations.map(({ message }) => message),
    ["uniqueness violation: 'plugin_credentials' entity with key set to '[redacted]' already declared"],
  );
});
