/** Typical snippets from files of Kong and decK users. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { describeViolation } from "./describe.ts";
import { loadText } from "./load.ts";

const head = '_format_version: "3.0"\n';
const service = "services:\n- name: s\n  host: s.example\n";

const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "pem" });

/** The items of a YAML list: different names with the same ending. */
const many = (name: string, count = 100) => Array.from({ length: count }, (_, at) => `n${at}-${name}`).join(", ");

const load = (text: string) => {
  const { value, violations } = loadText(head + text, { file: "kong.yml" });
  return {
    faults: (violations ?? []).map(describeViolation),
    warnings: (value?.warnings ?? []).map(describeViolation),
    snapshot: value?.snapshot,
  };
};

const taken: readonly (readonly [what: string, text: string, warnings: readonly string[]])[] = [
  [
    "the parameters that `kong config db_export` writes",
    "parameters:\n- key: cluster_id\n  value: 5f5b2fa4\n",
    ["kong.yml:2:1: parameters: ignored: Kong keeps facts about its own cluster here"],
  ],
  [
    "members that tell decK where a file belongs",
    "_konnect: {control_plane_name: x}\n_workspace: default\n",
    [
      "kong.yml:2:1: _konnect: ignored: it tells decK which control plane of Konnect to use",
      "kong.yml:3:1: _workspace: ignored: it tells decK which workspace to use, and Sluice has only one",
    ],
  ],
  [
    "members that tell decK how to compare a file",
    "_info: {default_lookup_tags: {services: [a]}}\n",
    ["kong.yml:2:9: _info.default_lookup_tags: ignored: only decK itself reads this member"],
  ],
  [
    "empty collections of entities that Sluice does not have",
    "partials: []\ngroups:\nkeys: {}\nservices: []\n",
    ["partials", "groups", "keys"].map(
      (name, index) => `kong.yml:${index + 2}:1: ${name}: ignored: Sluice has no '${name}' yet, and none are given`,
    ),
  ],
  [
    "empty collections in an entity",
    "consumers:\n- username: c\n  sessions: []\n  oauth2_credentials: []\n",
    ["sessions", "oauth2_credentials"].map(
      (name, index) =>
        `kong.yml:${index + 4}:3: consumers[0].${name}: ignored: Sluice has no '${name}' yet, and none are given`,
    ),
  ],
  [
    "null for the reference that nesting replaces",
    `${service}  routes:\n  - {name: r, paths: [/], service: null}\n`,
    [],
  ],
  ["null for the name of a shared config", "plugins:\n- {name: cors, _config: null}\n", []],
  [
    "a plugin with an `ordering` that is null or empty",
    "plugins:\n- {name: cors, ordering: null}\n- {name: key-auth, ordering: {}}\n",
    [],
  ],
  [
    "jwt_secrets with a public key and without a secret",
    `consumers:\n- username: c\n  jwt_secrets:\n  - {key: issuer, algorithm: ES256, rsa_public_key: ${JSON.stringify(publicKey)}}\n`,
    [],
  ],
  [
    "a hundred hosts and headers",
    `routes:\n- {name: r, hosts: [${many("h.example")}], headers: {x-tenant: [${many("t", 60)}]}}\nplugins:\n- {name: cors, config: {headers: [${many("x")}]}}\n`,
    [],
  ],
  [
    "templates that refer to a capture group of the path by its number",
    "plugins:\n- {name: request-transformer, config: {replace: {uri: '/a/$(uri_captures[1])'}}}\n",
    [],
  ],
  [
    "plugins that do not protect and have protocols that Sluice does not proxy",
    "plugins:\n- name: prometheus\n  protocols: [grpc, grpcs, http, https, tcp, tls, tls_passthrough, udp, ws, wss]\n- name: cors\n  protocols: [tcp]\n",
    [],
  ],
];

for (const [what, text, warnings] of taken) {
  test(`loadText accepts ${what}`, () => {
    const loaded = load(text);
    assert.deepEqual(loaded.faults, []);
    assert.deepEqual(loaded.warnings, warnings);
  });
}

const refused: readonly (readonly [what: string, text: string, faults: readonly string[]])[] = [
  [
    "entities that Sluice does not have",
    "keys:\n- {name: k, kid: k}\npartials: [{name: x}]\n",
    [
      "kong.yml:2:1: keys: not supported: Sluice has no 'keys' yet",
      "kong.yml:4:1: partials: not supported: Sluice has no 'partials' yet",
    ],
  ],
  [
    "overrides of consumer groups",
    "consumer_groups: [{name: a}]\nconsumer_group_plugins:\n- {name: rate-limiting, consumer_group: a, config: {minute: 5}}\n",
    [
      "kong.yml:3:1: consumer_group_plugins: not supported: write each entry as a plugin with consumer_group, as 'sluice migrate' does",
    ],
  ],
  ["a second document", `${service}---\n_format_version: "3.0"\n`, ["kong.yml:5:1: a file holds one document only"]],
  [
    "a plugin with an `ordering` that is not empty",
    "plugins:\n- {name: cors, ordering: {before: {access: [key-auth]}}}\n",
    [
      "kong.yml:3:16: plugins[0].ordering: not supported: plugins run in the order of their priorities; leave it out, and attach a plugin of your own with another priority if the order matters",
    ],
  ],
  [
    "credentials without the member that Kong generates",
    "consumers:\n- {username: a, keyauth_credentials: [{tags: [x]}], jwt_secrets: [{key: k}], hmacauth_credentials: [{username: u}]}\n",
    [
      ["39", "keyauth_credentials[0].key", ""],
      ["67", "jwt_secrets[0].secret", ""],
      ["67", "jwt_secrets[0]", "failed conditional validation given value of field 'algorithm'"],
      ["101", "hmacauth_credentials[0].secret", ""],
    ].map(
      ([column, place, message]) =>
        `kong.yml:3:${column}: consumers[0].${place}: ${
          message ||
          "required field missing: write one, such as the output of 'openssl rand -hex 16'; Kong generates one that no client knows"
        }`,
    ),
  ],
  [
    "a service that is written in a route's reference",
    "routes:\n- name: r\n  paths: [/]\n  service: {name: s, url: http://s.example}\n",
    [
      "kong.yml:5:3: routes[0].service: expected the name or id of a service; declare the service itself (url) under 'services'",
    ],
  ],
  [
    "a service that is written in a route's reference, even if a service with that name exists: the reference's url would be ignored",
    `${service}  url: http://a.example\nroutes:\n- name: r\n  paths: [/]\n  service: {name: s, url: http://b.example}\n`,
    [
      "kong.yml:9:3: routes[0].service: expected the name or id of a service; declare the service itself (url) under 'services'",
    ],
  ],
  [
    "a reference to a shared config that the file lacks",
    "_plugin_configs: {a: {minute: 5}}\nplugins:\n- {name: cors, _config: b}\n",
    ["kong.yml:4:16: plugins[0]._config: '_plugin_configs' has no config 'b'"],
  ],
  [
    "a protocol that does not exist, with a single violation",
    "plugins:\n- name: cors\n  protocols: [http, https, grpc, grpcs, tcp, tls, tls_passthrough, udp, ws, wss, quic]\n",
    [
      "kong.yml:4:82: plugins[0].protocols[10]: expected one of: grpc, grpcs, http, https, tcp, tls, tls_passthrough, udp, ws, wss",
    ],
  ],
  [
    "a protecting plugin that has only protocols that Sluice does not proxy",
    "plugins:\n- name: key-auth\n  protocols: [tcp, tls]\n",
    ["kong.yml:4:3: plugins[0].protocols: must include one of: grpc, grpcs, http, https"],
  ],
];

for (const [what, text, faults] of refused) {
  test(`loadText refuses ${what}`, () => assert.deepEqual(load(text).faults, faults));
}

test("if a service has two lists of plugins, only the last list is used, and a warning names both positions", () => {
  const { warnings, faults, snapshot } = load(
    `${service}  plugins:\n  - name: key-auth\n  routes:\n  - name: r\n    paths: [/]\n  plugins:\n  - name: cors\n`,
  );
  assert.deepEqual(faults, []);
  assert.deepEqual(warnings, [
    "kong.yml:10:3: services[0].plugins: duplicate key: this value replaces the one at 5:3, which is ignored",
  ]);
  assert.deepEqual(
    [...(snapshot?.plugins.values() ?? [])].map(({ name }) => name),
    ["cors"],
  );
});

test("a plugin inherits the config that it refers to, and its own members take precedence at every level", () => {
  const { faults, warnings, snapshot } = load(
    `_plugin_configs:
  limits: {minute: 5, policy: redis, redis: {host: r.example, port: 6380}}
plugins:
- name: rate-limiting
  _config: limits
  config: {minute: 7, redis: {port: 6381}}
- {name: rate-limiting, _config: limits, instance_name: other, service: s}
${service}`,
  );
  assert.deepEqual([faults, warnings], [[], []]);
  const configs = [...(snapshot?.plugins.values() ?? [])].map(({ config }) => {
    const { minute, redis } = config as { minute: number; redis: { host: string; port: number } };
    return [minute, redis.host, redis.port] as const;
  });
  assert.deepEqual(
    configs.sort(([one], [other]) => one - other),
    [
      [5, "r.example", 6380],
      [7, "r.example", 6381],
    ],
  );
});
