import assert from "node:assert/strict";
import { test } from "node:test";
import type { Document } from "../document.ts";
import { snapshotToDocument } from "../snapshot/change.ts";
import type { Snapshot } from "../snapshot.ts";
import { type LoadedText, loadText } from "./load.ts";
import { renderDocument } from "./render.ts";

const text = `
_format_version: "3.0"
services:
- name: "on"
  url: https://users.example/v1
  tags: [&t "1.0", "y"]
  routes:
  - hosts: [a.example]
    paths: ["~/(a|b)$"]
    headers: {x-version: [*t]}
consumers:
- username: demo
  keyauth_credentials: [{key: demo-key}]
plugins:
- name: cors
`;

const loaded = (written: string): LoadedText => loadText(written).value ?? assert.fail("the text has faults");
const load = (written: string): Snapshot => loaded(written).snapshot;
const documentOf = (written: string): Document => loaded(written).document;

test("a rendered document loads to the same snapshot, including ids", () => {
  assert.deepEqual(load(renderDocument(documentOf(text))), load(text));
});

test("a rendered snapshot has hashes instead of keys and no aliases, and loads to the same snapshot", () => {
  const rendered = renderDocument(snapshotToDocument(load(text)));
  assert.deepEqual(load(rendered), load(text));
  assert.doesNotMatch(rendered, /demo-key|&|\*/);
});

test("renderDocument quotes strings that YAML 1.1 readers would not read as strings", () => {
  assert.match(renderDocument(documentOf(text)), /^ +- name: "on"$/m);
});

test("renderDocument omits endpoints and the hashes of keys that are present, and keeps other members of _sluice", () => {
  const id = "11111111-2222-4333-8444-555555555555";
  const rendered = renderDocument({
    _format_version: "3.0",
    _sluice: { endpoints: { [id]: [{ address: "10.0.0.1", port: 80 }] } },
    routes: [{ id, hosts: ["a.example"], _sluice: { unavailable: "no" } }],
    keyauth_credentials: [
      { id, key: "k", _sluice: { key_hash: "h" } },
      { id, key: "k", _sluice: { key_hash: "h", namespaces: ["a"] } },
    ],
  });
  assert.equal(
    rendered,
    `_format_version: "3.0"
routes:
  - id: ${id}
    hosts:
      - a.example
    _sluice:
      unavailable: "no"
keyauth_credentials:
  - id: ${id}
    key: k
  - id: ${id}
    key: k
    _sluice:
      namespaces:
        - a
`,
  );
});
