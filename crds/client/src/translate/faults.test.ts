import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceKind } from "@sluice/model";
import { consumerWithKey, exampleOptions, exampleResource } from "./testing-example.ts";
import { describeResourceViolation, translateToEntities } from "./translate.ts";

/** Faults: description, kind, spec, namespace, messages, reasons. */
const faults: readonly (readonly [string, ResourceKind, object, string, readonly string[], readonly string[]])[] = [
  [
    "a missing Certificate",
    "Upstream",
    { clientCertificateRef: { name: "nobody" } },
    "home",
    ["spec.clientCertificateRef.name: there is no Certificate nobody in the namespace home"],
    ["CertificateNotFound"],
  ],
  [
    "a client certificate for a Service without TLS",
    "Service",
    { host: "x", clientCertificateRef: { name: "web" } },
    "home",
    [
      "spec.clientCertificateRef.name: value must be null",
      "spec: failed conditional validation given value of field 'protocol'",
    ],
    ["Invalid", "Invalid"],
  ],
  [
    "an upstream that hashes by a header but does not name the header",
    "Upstream",
    { hashOn: "header" },
    "home",
    ["spec.hashOnHeader: required field missing", "spec: failed conditional validation given value of field 'hash_on'"],
    ["Invalid", "Invalid"],
  ],
  [
    "an out-of-range HTTP status in a health check, with its path in the spec's spelling",
    "Upstream",
    { healthchecks: { active: { healthy: { httpStatuses: [1] } } } },
    "home",
    ["spec.healthchecks.active.healthy.httpStatuses[0]: value should be between 100 and 999"],
    ["Invalid"],
  ],
  [
    "an upstream whose name is an IP address",
    "Upstream",
    { name: "10.0.0.1" },
    "home",
    ["spec.name: Invalid name; no ip addresses allowed"],
    ["Invalid"],
  ],
  [
    "an upstream outside the home namespace with a name that does not begin with the upstream's namespace",
    "Upstream",
    { name: "payments.internal" },
    "team",
    ['spec.name: must begin with "team.": other names are allowed only in the namespace home'],
    ["NotAllowed"],
  ],
  [
    "a certificate without a Secret",
    "Certificate",
    {},
    "home",
    ["spec.secretRef: required field missing"],
    ["Invalid"],
  ],
  [
    "an out-of-range value, with its path in the spec's spelling",
    "Service",
    { host: "x", readTimeout: 0 },
    "home",
    ["spec.readTimeout: value should be between 1 and 2147483646"],
    ["Invalid"],
  ],
  [
    "a url without a host, at the path of the url",
    "Service",
    { url: "http://:80" },
    "home",
    ["spec.url: required field missing"],
    ["Invalid"],
  ],
  [
    "both a url and a host",
    "Service",
    { url: "http://x", host: "y" },
    "home",
    ["spec: set exactly one of url, host and backendRef"],
    ["Invalid"],
  ],
  [
    "a port in addition to a url",
    "Service",
    { url: "http://x", port: 1 },
    "home",
    ["spec.port: url already sets the port: remove spec.port"],
    ["Invalid"],
  ],
  [
    "a missing core Service",
    "Service",
    { backendRef: { name: "nobody", port: 1 } },
    "home",
    ["spec.backendRef.name: there is no core Service nobody in the namespace home"],
    ["BackendNotFound"],
  ],
  [
    "a port that the core Service does not have",
    "Service",
    { backendRef: { name: "users", port: 1 } },
    "home",
    ["spec.backendRef.port: the core Service users has no port 1"],
    ["BackendNotFound"],
  ],
  [
    "the same core Service twice",
    "Upstream",
    {
      backendRefs: [
        { name: "users", port: 4000 },
        { name: "users", port: 4000, namespace: "home" },
      ],
    },
    "home",
    ["spec.backendRefs[1]: spec.backendRefs[0] refers to the same core Service and port"],
    ["Invalid"],
  ],
  [
    "an invalid weight of a core Service",
    "Upstream",
    { backendRefs: [{ name: "users", port: 4000, weight: 65_536 }] },
    "home",
    ["spec.backendRefs[0].weight: value should be between 0 and 65535"],
    ["Invalid"],
  ],
  [
    "a missing Service, once",
    "Route",
    { paths: ["/a"], serviceRef: { name: "nobody" } },
    "team",
    ["spec.serviceRef.name: there is no Service nobody in the namespace team"],
    ["ServiceNotFound"],
  ],
  [
    "a route that matches nothing",
    "Route",
    { serviceRef: { name: "users" } },
    "home",
    ["spec: must set one of 'methods', 'hosts', 'headers', 'paths', 'snis' when 'protocols' is 'https'"],
    ["Invalid"],
  ],
  [
    "an unknown member of a plugin's config",
    "Plugin",
    { plugin: "rate-limiting", config: { minute: 5, colour: 1 } },
    "home",
    ["spec.config.colour: unknown field"],
    ["Invalid"],
  ],
  [
    "a global plugin outside the home namespace",
    "Plugin",
    { plugin: "cors" },
    "team",
    ["spec.targetRefs: set targetRefs: a plugin for all requests is only allowed in the namespace home"],
    ["NotAllowed"],
  ],
  [
    "a vault outside the home namespace",
    "Vault",
    { prefix: "my-env", backend: "env" },
    "team",
    ["metadata.namespace: a Vault is only allowed in the namespace home: plugins of all namespaces may refer to it"],
    ["NotAllowed"],
  ],
  [
    "GraphQL documents with the name of another namespace",
    "GraphQLDocuments",
    { name: "home.web", manifest: "{}" },
    "team",
    ['spec.name: must begin with "team.": other names are allowed only in the namespace home'],
    ["NotAllowed"],
  ],
  [
    "a vault without a backend",
    "Vault",
    { prefix: "my-env" },
    "home",
    ["spec.backend: required field missing"],
    ["Invalid"],
  ],
  [
    "two targets of one kind",
    "Plugin",
    {
      plugin: "cors",
      targetRefs: [
        { kind: "Service", name: "users" },
        { kind: "Service", name: "users" },
      ],
    },
    "home",
    ["spec.targetRefs[1].kind: targetRefs already has a Service: only one is allowed"],
    ["Invalid"],
  ],
  [
    "a missing target",
    "Plugin",
    { plugin: "cors", targetRefs: [{ kind: "Route", name: "nobody" }] },
    "home",
    ["spec.targetRefs[0].name: there is no Route nobody in the namespace home"],
    ["RouteNotFound"],
  ],
  [
    "a plugin on a target that it refuses",
    "Plugin",
    { plugin: "cors", targetRefs: [{ kind: "Consumer", name: "demo" }] },
    "home",
    ["spec.targetRefs[0].kind: cors cannot be attached to a Consumer"],
    ["Invalid"],
  ],
  [
    "a member that is set both by config and by a Secret",
    "Plugin",
    {
      plugin: "rate-limiting",
      config: { minute: 1, redis: { password: "x" } },
      configFrom: [{ path: "redis.password", secretRef: { name: "keys", key: "good" } }],
    },
    "home",
    ["spec.configFrom[0].path: config already has a value at redis.password or at one of its parents"],
    ["Invalid"],
  ],
  [
    "an invalid value from a Secret without revealing it",
    "Plugin",
    {
      plugin: "rate-limiting",
      config: { minute: 1, policy: "redis", redis: { port: 6379 } },
      configFrom: [{ path: "redis.host", secretRef: { name: "keys", key: "host" } }],
    },
    "home",
    ["spec.config.redis.host: the value in the Secret is invalid"],
    ["Invalid"],
  ],
  [
    "targetRefs that are not an array, once",
    "Plugin",
    { plugin: "cors", targetRefs: "users" },
    "home",
    ["spec.targetRefs: expected an array"],
    ["Invalid"],
  ],
  [
    "a consumer with neither a username nor a custom id",
    "Consumer",
    {},
    "home",
    ["spec: at least one of these fields must be non-empty: 'custom_id', 'username'"],
    ["Invalid"],
  ],
  [
    "a name with a space",
    "Route",
    { name: "a b", paths: ["/a"] },
    "home",
    ["spec.name: invalid value 'a b': the only accepted ascii characters are alphanumerics or ., -, _, and ~"],
    ["Invalid"],
  ],
];
for (const [name, kind, spec, namespace, sentences, reasons] of faults) {
  test(`the translation reports ${name}`, () => {
    const items = translateToEntities(exampleResource(kind, spec, namespace), exampleOptions);
    const violations = items.flatMap((item) => item.violations);
    assert.deepEqual(violations.map(describeResourceViolation), sentences);
    assert.deepEqual(
      violations.map(({ reason }) => reason),
      reasons,
    );
    assert.ok(items.every(({ entity }) => entity === undefined));
  });
}

const secretFaults = [
  [
    "missing",
    "good",
    "name: there is no Secret missing with the label sluice.dev/credential in the namespace home: create it, or add the label. In a cluster, if the Secret exists: `kubectl -n home label secret missing sluice.dev/credential=`, otherwise: `kubectl -n home create secret generic missing --from-literal=good=VALUE && kubectl -n home label secret missing sluice.dev/credential=`",
  ],
  [
    "unlabelled",
    "good",
    "name: the Secret unlabelled in the namespace home lacks the label sluice.dev/credential (in a cluster: `kubectl -n home label secret unlabelled sluice.dev/credential=`)",
  ],
  ["keys", "other", "key: the Secret keys has no entry other in its data"],
  ["keys", "empty", "key: the entry empty of the Secret keys is empty"],
  ["keys", "broken", "key: the entry broken of the Secret keys ends in a line break"],
] as const;
for (const [name, key, sentence] of secretFaults) {
  test(`the translation reports an unavailable key: ${sentence}`, () => {
    const [, credential] = translateToEntities(exampleResource("Consumer", consumerWithKey(key, name)), exampleOptions);
    assert.deepEqual(credential?.violations.map(describeResourceViolation), [`spec.keyAuth[0].secretRef.${sentence}`]);
    assert.equal(credential?.violations[0]?.condition, "ResolvedRefs");
  });
}

const tlsFaults = [
  ["missing", "there is no Secret missing of the type kubernetes.io/tls in the namespace home", "SecretNotFound"],
  ["keys", "there is no Secret keys of the type kubernetes.io/tls in the namespace home", "SecretNotFound"],
  ["keyless", "the Secret keyless has no entry tls.key in its data", "SecretNotFound"],
  ["mixed", "the Secret mixed: certificate does not match key", "Invalid"],
  ["half", "the Secret half: all or none of these fields must be set: 'tls-alt.crt', 'tls-alt.key'", "Invalid"],
] as const;
for (const [name, sentence, reason] of tlsFaults) {
  test(`the translation reports an unavailable certificate: ${sentence}`, () => {
    const [certificate] = translateToEntities(exampleResource("Certificate", { secretRef: { name } }), exampleOptions);
    assert.deepEqual(
      certificate?.violations.map((violation) => [describeResourceViolation(violation), violation.reason]),
      [[`spec.secretRef.name: ${sentence}`, reason]],
    );
    assert.equal(certificate?.violations[0]?.condition, "ResolvedRefs");
    assert.equal(certificate?.entity, undefined);
  });
}

test("the translation reports all errors of a certificate without revealing its content", () => {
  const [certificate] = translateToEntities(
    exampleResource("Certificate", { secretRef: { name: "rubbish" } }),
    exampleOptions,
  );
  assert.deepEqual(certificate?.violations.map(describeResourceViolation), [
    "spec.secretRef.name: the entry tls.crt of the Secret rubbish: invalid certificate: expected certificates in PEM",
    "spec.secretRef.name: the entry tls.key of the Secret rubbish: invalid key: expected a private key in PEM, not encrypted",
  ]);
});

test("an invalid spec, or a spec with invalid values for its members, causes violations, not exceptions", () => {
  const rubbish = [null, 5, "x", [], {}, [null], [[]], { "": null }];
  const members = [
    "backendRef",
    "backendRefs",
    "serviceRef",
    "targetRefs",
    "configFrom",
    "config",
    "keyAuth",
    "tags",
    "name",
    "url",
  ].concat("secretRef", "snis", "targets", "healthchecks", "clientCertificateRef");
  for (const kind of ["Certificate", "Upstream", "Service", "Route", "Plugin", "Consumer"] as const) {
    for (const value of rubbish) {
      const spec = Object.fromEntries(members.map((member) => [member, value]));
      assert.ok(
        translateToEntities(exampleResource(kind, spec), exampleOptions).some(
          ({ violations }) => violations.length > 0,
        ),
      );
    }
    assert.ok(
      translateToEntities(exampleResource(kind, "x" as never), exampleOptions).some(
        ({ violations }) => violations.length > 0,
      ),
    );
  }
});
