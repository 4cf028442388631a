import assert from "node:assert/strict";
import { test } from "node:test";
import { deriveId } from "../ids.ts";
import { emptySnapshot } from "../snapshot/make-snapshot.ts";
import type { Snapshot } from "../snapshot.ts";
import { describeViolation } from "./describe.ts";
import { checkDocument, loadText } from "./load.ts";
import { minimalEntity } from "./minimal-entity.ts";

const snapshotOf = (text: string): Snapshot => {
  const { value, violations } = loadText(text);
  return value?.snapshot ?? assert.fail(violations?.map(describeViolation).join("\n"));
};

const users = deriveId("services", "users");
const list = deriveId("routes", "list");
const demo = deriveId("consumers", "demo");
const id = "11111111-2222-4333-8444-555555555555";

const nested = `
_format_version: "3.0"
_transform: false
_comment: by hand
_ignore: [{a: 1}]
services:
- name: users
  _comment: too
  url: http://127.0.0.1:4000
  plugins:
  - name: prometheus
  routes:
  - name: list
    paths: [/users]
    plugins:
    - name: key-auth
consumers:
- username: demo
  keyauth_credentials:
  - key: demo-key
  plugins:
  - name: rate-limiting
    config: {minute: 60}
`;

const flat = `
_format_version: "3.0"
plugins:
- {name: prometheus, service: users}
- {name: key-auth, route: {name: list}}
- {name: rate-limiting, consumer: {username: demo}, config: {minute: 60}}
keyauth_credentials:
- {key: demo-key, consumer: ${demo}}
consumers: [{username: demo}]
routes:
- {name: list, paths: [/users], service: {id: ${users.toUpperCase()}}}
services:
- {name: users, url: "http://127.0.0.1:4000"}
`;

test("nested and named references are resolved to derived ids, and a stored credential has no plain key", () => {
  const snapshot = snapshotOf(nested);
  assert.deepEqual([...snapshot.services.keys()], [users]);
  assert.deepEqual(snapshot.routes.get(list)?.service, { id: users });
  assert.deepEqual(
    [...snapshot.plugins.values()].map(({ name, service, route, consumer }) => [name, service, route, consumer]).sort(),
    [
      ["key-auth", null, { id: list }, null],
      ["prometheus", { id: users }, null, null],
      ["rate-limiting", null, null, { id: demo }],
    ],
  );
  const [credential] = snapshot.keyauth_credentials.values();
  assert.deepEqual([credential?.consumer, credential?.key], [{ id: demo }, null]);
});

test("the nested form, the flat form in any order, and JSON give the same snapshot", () => {
  const snapshot = snapshotOf(nested);
  assert.deepEqual(snapshotOf(flat), snapshot);
  const value = loadText(nested).value?.document;
  assert.deepEqual(snapshotOf(JSON.stringify(value)), snapshot);
  assert.deepEqual(checkDocument(value).value?.snapshot, snapshot);
});

test("a reference finds a service by its name, and by its id in lower or upper case", () => {
  for (const reference of [`users`, id, id.toUpperCase(), `{name: users}`, `{id: ${id}}`]) {
    const snapshot = snapshotOf(
      `{_format_version: "3.0", services: [{id: ${id}, name: users, host: h}], routes: [{hosts: [a.b], service: ${reference}}]}`,
    );
    assert.deepEqual([...snapshot.routes.values()][0]?.service, { id }, reference);
  }
});

test("nested entities get references to a parent that has no name", () => {
  const snapshot = snapshotOf(
    `{_format_version: "3.0", services: [{host: h, routes: [{hosts: [a.b], plugins: [{name: cors}]}]}]}`,
  );
  const [[service, route, plugin]] = [
    [...snapshot.services.keys(), ...snapshot.routes.keys(), ...snapshot.plugins.values()],
  ];
  assert.deepEqual([...snapshot.routes.values()][0]?.service, { id: service });
  assert.deepEqual((plugin as { route: unknown }).route, { id: route });
});

test("an empty document and empty lists are valid", () => {
  assert.equal(snapshotOf(`_format_version: "3.0"\nservices:\nroutes: []\n`), emptySnapshot);
});

test("a new snapshot shares unchanged parts with the previous snapshot", () => {
  const previous = snapshotOf(nested);
  assert.equal(loadText(flat, { previous }).value?.snapshot, previous);
  const next = loadText(nested.replace("/users]", "/people]"), { previous }).value?.snapshot;
  assert.equal(next?.services, previous.services);
  assert.equal(next?.plugins, previous.plugins);
  assert.notEqual(next?.routes, previous.routes);
  assert.deepEqual(loadText(`_format_version: "3.0"`, { previous }).value?.snapshot, emptySnapshot);
});

const legacy: readonly [string, string][] = [
  ["/plain/path-1_2.3~4", "/plain/path-1_2.3~4"],
  ["/a%2Fb", "/a%2Fb"],
  ["/a%2fb", "/a%2Fb"],
  ["/a%20b", "/a b"],
  ["//a/./b/../c/", "/a/c/"],
  ["/users/\\d+", "~/users/\\d+"],
  ["/a%20b/(x|y)", "~/a b/(x|y)"],
  ["/a%2Eb/(x)", "~/a\\.b/(x)"],
  ["/a%2fb/(x)", "~/a%2Fb/(x)"],
  ["~/a/(x)", "~/a/(x)"],
];

for (const [written, meant] of legacy) {
  test(`before format 3.0 the path ${written} means ${meant}`, () => {
    for (const version of ["1.1", "2.1"]) {
      const text = JSON.stringify({ _format_version: version, routes: [{ name: "r", paths: [written] }] });
      assert.deepEqual(snapshotOf(text).routes.get(deriveId("routes", "r"))?.paths, [meant]);
    }
  });
}

const head = '_format_version: "3.0"\n';
const missing = "(no such entry in 'services')";

const faulty: readonly [string, string, readonly string[]][] = [
  ["data that is not a document", "- a", ["k.yaml:1:1: expected a document: a record with _format_version"]],
  ["a missing format", "services: []", ["k.yaml:1:1: _format_version: required field missing"]],
  [
    "a format without quotes",
    "_format_version: 3.0",
    ['k.yaml:1:1: _format_version: expected a string: write it in quotes, as in _format_version: "3.0"'],
  ],
  ["an unknown format", '_format_version: "4"', ["k.yaml:1:1: _format_version: expected one of: 1.1, 2.1, 3.0"]],
  [
    "unknown and unsupported members at the top level and in _sluice, and of _transform, _comment and _ignore of wrong types",
    `${head}service: []\nkeys: [x]\n_workspaces: {}\n_transform: 1\n_comment: [a]\n_ignore: b\n_sluice: {x: 1}\n`,
    [
      "k.yaml:2:1: service: unknown field",
      "k.yaml:3:1: keys: not supported: Sluice has no 'keys' yet",
      "k.yaml:4:1: _workspaces: unknown field",
      "k.yaml:5:1: _transform: expected a boolean",
      "k.yaml:6:1: _comment: expected a string",
      "k.yaml:7:1: _ignore: expected an array",
      "k.yaml:8:11: _sluice.x: unknown field",
    ],
  ],
  [
    "lists and items of the wrong type",
    `${head}services: {a: 1}\nroutes: [x]\nconsumers:\n- username: a\n  keyauth_credentials: b\n`,
    [
      "k.yaml:2:1: services: expected an array",
      "k.yaml:3:10: routes[0]: expected a record",
      "k.yaml:6:3: consumers[0].keyauth_credentials: expected an array",
    ],
  ],
  [
    "every error of nested entities",
    `${head}services:\n- name: a\n  port: 99999\n  routes:\n  - hosts: [ok.example]\n  - paths:\n    - /ok\n    - users\n    colour: red\n    plugins:\n    - name: nope\n    - name: rate-limiting\n      config:\n        minute: -1\n`,
    [
      "k.yaml:3:3: services[0].host: required field missing",
      "k.yaml:4:3: services[0].port: value should be between 0 and 65535",
      "k.yaml:9:7: services[0].routes[1].paths[1]: should start with: / (fixed path) or ~/ (regex path)",
      "k.yaml:10:5: services[0].routes[1].colour: unknown field",
      "k.yaml:12:7: services[0].routes[1].plugins[0].name: plugin 'nope' not enabled: Sluice has acl, basic-auth, bot-detection, compression, concurrency-limiting, correlation-id, cors, datadog, file-log, forward-auth, graphql, grpc-web, hmac-auth, http-log, ip-restriction, jwt, key-auth, ldap-auth, loggly, mtls-auth, openid-connect, opentelemetry, prometheus, proxy-cache, rate-limiting, redirect, request-mirror, request-redirect, request-size-limiting, request-termination, request-transformer, request-validator, response-ratelimiting, response-transformer, session, standard-webhooks, statsd, syslog, tcp-log, udp-log, zipkin; use one of these, or load a plugin of your own with SLUICE_PLUGINS",
      "k.yaml:15:9: services[0].routes[1].plugins[1].config.minute: value must be greater than 0",
    ],
  ],
  [
    "references to missing entities, by name, by id and by record",
    `${head}routes:\n- {hosts: [a.c], service: x}\n- {hosts: [a.d], service: ${id}}\n- {hosts: [a.e], service: {name: y}}\n- {hosts: [a.f], service: {id: ${id}}}\n- {hosts: [a.g], service: {}}\n`,
    [
      `k.yaml:3:18: routes[0].service: invalid reference 'service: x' ${missing}`,
      `k.yaml:4:18: routes[1].service: invalid reference 'service: ${id}' ${missing}`,
      `k.yaml:5:18: routes[2].service: invalid reference 'service: y' ${missing}`,
      `k.yaml:6:18: routes[3].service: invalid reference 'service: ${id}' ${missing}`,
      "k.yaml:7:18: routes[4].service.id: missing primary key",
    ],
  ],
  [
    "a reference to the enclosing service, and children that Sluice does not have",
    `${head}services:\n- name: a\n  host: h\n  routes:\n  - hosts: [a.b]\n    service: a\nconsumers:\n- username: c\n  oauth2_credentials: [{name: g}]\n`,
    [
      "k.yaml:7:5: services[0].routes[0].service: unknown field (already defined by the enclosing service)",
      "k.yaml:10:3: consumers[0].oauth2_credentials: not supported: Sluice has no 'oauth2_credentials' yet",
    ],
  ],
  [
    "values that are not unique",
    `${head}services:\n- {name: foo, host: a}\n- {name: foo, host: b}\n- {id: ${id}, host: a}\n- {id: ${id}, host: b}\nconsumers:\n- {username: a, custom_id: x}\n- {username: b, custom_id: x}\n`,
    [
      "k.yaml:4:3: services[1]: uniqueness violation: 'services' entity with name set to 'foo' already declared",
      `k.yaml:6:3: services[3]: uniqueness violation: 'services' entity with primary key set to '${id}' already declared`,
      "k.yaml:9:3: consumers[1]: uniqueness violation: 'consumers' entity with custom_id set to 'x' already declared",
    ],
  ],
  [
    "plugins with the same scope",
    `${head}services: [{name: s, host: h, plugins: [{name: cors}, {name: cors, config: {max_age: 1}}]}]\nplugins:\n- name: cors\n- name: cors\n  config: {max_age: 1}\n`,
    [
      "k.yaml:2:55: services[0].plugins[1]: uniqueness violation: 'plugins' entity with name set to 'cors' for the same service already declared",
      "k.yaml:5:3: plugins[1]: uniqueness violation: 'plugins' entity with name set to 'cors' for all requests already declared",
    ],
  ],
  [
    "a key used twice, without revealing the key, and of a missing key",
    `${head}consumers:\n- {username: a, keyauth_credentials: [{key: secret}]}\n- {username: b, keyauth_credentials: [{key: secret}, {}]}\n`,
    [
      "k.yaml:4:39: consumers[1].keyauth_credentials[0]: uniqueness violation: 'keyauth_credentials' entity with key set to '[redacted]' already declared",
      "k.yaml:4:54: consumers[1].keyauth_credentials[1].key: required field missing: write one, such as the output of 'openssl rand -hex 16'; Kong generates one that no client knows",
    ],
  ],
  [
    "an invalid address and an invalid port of an endpoint",
    `${head}_sluice:\n  endpoints:\n    ${id}: [{address: a, port: 0}]\n`,
    [
      `k.yaml:4:45: _sluice.endpoints.${id}[0].address: not an IP address: a`,
      `k.yaml:4:57: _sluice.endpoints.${id}[0].port: value should be between 1 and 65535`,
    ],
  ],
  [
    "listeners, which only the operator sets",
    `${head}_sluice:\n  listeners: []\n`,
    ["k.yaml:3:3: _sluice.listeners: only the operator sets listeners, for resources of the Gateway API"],
  ],
  [
    "broken YAML in the middle of a file",
    `${head}services:\n- name: a\n  host: h\n routes: []\nconsumers: []\n`,
    ["k.yaml:5:1: Sequence item without - indicator"],
  ],
];

for (const [what, text, expected] of faulty) {
  test(`loadText reports the line and column of ${what}`, () => {
    const { violations = [] } = loadText(text, { file: "k.yaml" });
    assert.deepEqual(violations.map(describeViolation), expected);
  });
}

test("loadText accepts the policy cluster only in a document for a database, and minimalEntity keeps it", () => {
  const text = `_format_version: "3.0"
services:
- name: a
  url: http://up.test
  plugins: [{ name: rate-limiting, config: { minute: 5, policy: cluster } }]
`;
  const { value } = loadText(text, { database: true });
  const [plugin] = value?.snapshot.plugins.values() ?? [];
  assert.equal(plugin?.config.policy, "cluster");
  const brief = plugin && minimalEntity("plugins", plugin);
  assert.deepEqual(brief?.config, { minute: 5, policy: "cluster" });
  assert.match(loadText(text).violations?.[0]?.message ?? "", /cluster needs the database mode/);
});
