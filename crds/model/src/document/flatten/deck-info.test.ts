import assert from "node:assert/strict";
import { test } from "node:test";
import { describeViolation } from "../describe.ts";
import { loadText } from "../load.ts";

const head = '_format_version: "3.0"\n';

test("loadText reads a file for decK: every entity gets the select_tags, and the defaults for members that it omits", () => {
  const { value, violations } = loadText(`${head}_info:
  select_tags: [team-a]
  defaults:
    service: {retries: 9, read_timeout: 5}
    route: {strip_path: false}
    upstream: {healthchecks: {threshold: 7, active: {timeout: 2}}}
services:
- name: a
  url: http://up
  read_timeout: 6
  tags: [mine]
  routes:
  - paths: [/a]
upstreams:
- name: u
  healthchecks: {active: {concurrency: 3}}
consumers:
- username: bob
plugins:
- name: cors
  service: {name: a}
`);
  assert.deepEqual(violations, undefined);
  const [service] = [...(value?.snapshot.services.values() ?? [])];
  assert.deepEqual([service?.retries, service?.read_timeout, service?.tags], [9, 6, ["mine", "team-a"]]);
  const [route] = [...(value?.snapshot.routes.values() ?? [])];
  assert.deepEqual([route?.strip_path, route?.tags], [false, ["team-a"]]);
  const [upstream] = [...(value?.snapshot.upstreams.values() ?? [])];
  const { threshold, active } = upstream?.healthchecks ?? {};
  assert.deepEqual([threshold, active?.timeout, active?.concurrency], [7, 2, 3]);
  for (const list of [value?.snapshot.consumers, value?.snapshot.plugins])
    for (const { tags } of list?.values() ?? []) assert.deepEqual(tags, ["team-a"]);
});

test("loadText reports unknown and invalid members of _info with their positions", () => {
  const { violations = [] } = loadText(`${head}_info:
  lookup_tags: {}
  select_tags: a
  defaults: {consumer: {}, route: 1}
`);
  assert.deepEqual(violations.map(describeViolation), [
    "3:3: _info.lookup_tags: unknown field",
    "4:3: _info.select_tags: expected an array of strings",
    "5:14: _info.defaults.consumer: unknown field",
    "5:28: _info.defaults.route: expected a record",
  ]);
});
