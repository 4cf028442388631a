import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceKind } from "@sluice/model";
import { keyAuth, options, resource } from "./example.ts";
import { describeResourceViolation } from "./paths.ts";
import { translate } from "./translate.ts";

/** Faults: kind, spec, namespace, sentences, reasons. */
const faults: readonly (readonly [string, ResourceKind, object, string, readonly string[], readonly string[]])[] = [
  [
    "a value out of range, in the spelling of the spec",
    "Service",
    { host: "x", readTimeout: 0 },
    "home",
    ["spec.readTimeout: value should be between 1 and 2147483646"],
    ["Invalid"],
  ],
  [
    "a url without a host, at the url",
    "Service",
    { url: "http://:80" },
    "home",
    ["spec.url: required field missing"],
    ["Invalid"],
  ],
  [
    "two upstreams",
    "Service",
    { url: "http://x", host: "y" },
    "home",
    ["spec: set exactly one of url, host and backendRef"],
    ["Invalid"],
  ],
  [
    "a port beside a url",
    "Service",
    { url: "http://x", port: 1 },
    "home",
    ["spec.port: url says the port already: leave it out"],
    ["Invalid"],
  ],
  [
    "a core Service that is not there",
    "Service",
    { backendRef: { name: "nobody", port: 1 } },
    "home",
    ["spec.backendRef.name: there is no core Service nobody in the namespace home"],
    ["BackendNotFound"],
  ],
  [
    "a port that the core Service has not",
    "Service",
    { backendRef: { name: "users", port: 1 } },
    "home",
    ["spec.backendRef.port: the core Service users has no port 1"],
    ["BackendNotFound"],
  ],
  [
    "a Service that is not there, once",
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
    "a member of a plugin's config",
    "Plugin",
    { plugin: "rate-limiting", config: { minute: 5, colour: 1 } },
    "home",
    ["spec.config.colour: unknown field"],
    ["Invalid"],
  ],
  [
    "a plugin for all requests outside the home namespace",
    "Plugin",
    { plugin: "cors" },
    "team",
    ["spec.targetRefs: set targetRefs: a plugin for all requests is only allowed in the namespace home"],
    ["NotAllowed"],
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
    ["spec.targetRefs[1].kind: there is a Service among the targets already: one is allowed"],
    ["Invalid"],
  ],
  [
    "a target that is not there",
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
    "a member that config and a Secret give",
    "Plugin",
    {
      plugin: "rate-limiting",
      config: { minute: 1, redis: { password: "x" } },
      configFrom: [{ path: "redis.password", secretRef: { name: "keys", key: "good" } }],
    },
    "home",
    ["spec.configFrom[0].path: config has a redis.password already, or something else on the way to it"],
    ["Invalid"],
  ],
  [
    "a value from a Secret without telling it",
    "Plugin",
    {
      plugin: "rate-limiting",
      config: { minute: 1, policy: "redis", redis: { port: 6379 } },
      configFrom: [{ path: "redis.host", secretRef: { name: "keys", key: "host" } }],
    },
    "home",
    ["spec.config.redis.host: the value from the Secret is not valid here"],
    ["Invalid"],
  ],
  [
    "targets that cannot be told, once",
    "Plugin",
    { plugin: "cors", targetRefs: "users" },
    "home",
    ["spec.targetRefs: expected an array"],
    ["Invalid"],
  ],
  [
    "a consumer without a name",
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
  test(`tells of ${name}`, () => {
    const items = translate(resource(kind, spec, namespace), options);
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
  ["missing", "good", "name: there is no Secret missing with the label sluice.dev/credential in the namespace home"],
  [
    "unlabelled",
    "good",
    "name: there is no Secret unlabelled with the label sluice.dev/credential in the namespace home",
  ],
  ["keys", "other", "key: the Secret keys has no entry other in its data"],
  ["keys", "empty", "key: the entry empty of the Secret keys is empty"],
  ["keys", "broken", "key: the entry broken of the Secret keys ends in a line break"],
] as const;
for (const [name, key, sentence] of secretFaults) {
  test(`tells that a key is not to be had: ${sentence}`, () => {
    const [, credential] = translate(resource("Consumer", keyAuth(key, name)), options);
    assert.deepEqual(credential?.violations.map(describeResourceViolation), [`spec.keyAuth[0].secretRef.${sentence}`]);
    assert.equal(credential?.violations[0]?.condition, "ResolvedRefs");
  });
}

test("rubbish in place of lists and records gives faults and no exception", () => {
  const rubbish = [null, 5, "x", [], {}, [null], [[]], { "": null }];
  const members = ["backendRef", "serviceRef", "targetRefs", "configFrom", "config", "keyAuth", "tags", "name", "url"];
  for (const kind of ["Service", "Route", "Plugin", "Consumer"] as const) {
    for (const value of rubbish) {
      const spec = Object.fromEntries(members.map((member) => [member, value]));
      assert.ok(translate(resource(kind, spec), options).some(({ violations }) => violations.length > 0));
    }
    assert.ok(translate(resource(kind, "x" as never), options).some(({ violations }) => violations.length > 0));
  }
});
