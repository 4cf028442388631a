import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { describeViolation } from "../document/describe.ts";
import type { Change, Document } from "../document.ts";
import { deriveId } from "../ids.ts";
import type { Snapshot } from "../snapshot.ts";
import { applyChange, applyDocument } from "./apply.ts";
import { changeBetween, snapshotToDocument } from "./change.ts";
import { emptySnapshot } from "./make-snapshot.ts";

/** The document as a change from the empty snapshot. */
const changeOf = ({
  _format_version,
  _transform,
  _sluice: { listeners, ...addresses } = {},
  ...put
}: Document): Change => ({
  put,
  remove: {},
  ...addresses,
  listeners: Object.fromEntries((listeners ?? []).map((listener) => [listener.name, listener])),
});

const service = deriveId("services", "s");
const other = deriveId("services", "other");
const route = deriveId("routes", "r");
const upstream = deriveId("upstreams", "u");
const consumer = deriveId("consumers", "c");
const credential = deriveId("keyauth_credentials", "k");

const document: Document = {
  _format_version: "3.0",
  services: [
    { name: "s", host: "h" },
    { name: "other", host: "h" },
  ],
  routes: [{ name: "r", paths: ["/r"], service: { id: service } }],
  upstreams: [{ name: "u" }],
  consumers: [{ username: "c" }],
  keyauth_credentials: [{ key: "k", consumer: { id: consumer } }],
  plugins: [{ name: "key-auth", route: { id: route } }],
  _sluice: {
    endpoints: {
      [service]: [
        { address: "10.0.0.2", port: 80 },
        { address: "10.0.0.1", port: 80 },
      ],
    },
    upstream_endpoints: {
      [upstream]: [
        { address: "10.0.0.2", port: 80, weight: 2 },
        { address: "10.0.0.1", port: 80, weight: 1 },
      ],
    },
  },
};

function apply(previous: Snapshot, change: Partial<Change>): Snapshot {
  const { value, violations } = applyChange(previous, { put: {}, remove: {}, ...change });
  return value ?? assert.fail(violations.map(describeViolation).join("\n"));
}

const base = apply(emptySnapshot, changeOf(document));

const refusals = (change: Partial<Change>) =>
  (applyChange(base, { put: {}, remove: {}, ...change }).violations ?? []).map(describeViolation);

test("a snapshot keeps the hash of a key and not the key", () => {
  const kept = base.keyauth_credentials.get(credential);
  assert.equal(kept?.key, null);
  assert.deepEqual(kept?._sluice, { key_hash: hash("sha256", "k") });
});

const guard = deriveId("plugins", "guard");
/** A plugin key-auth on the route `r`. */
const keyAuth = { id: guard, name: "key-auth", route: { id: route }, config: { key_names: ["k"] } };
/** `keyAuth` with a member that only newer nodes know. */
const newer = { ...keyAuth, config: { key_names: ["k"], identity: "x" } };
const CLOSE = { closePlugins: true };

/** What `after` becomes when it replaces `before`: the plugin's key names, or `closed` if the plugin answers 503. */
const replaced: readonly (readonly [what: string, before: object | null, after: object, fares: readonly string[]])[] = [
  ["a new plugin", null, newer, ["closed"]],
  ["a plugin whose previous version has the same scope", keyAuth, newer, ["k"]],
  ["a plugin that was disabled", { ...keyAuth, enabled: false }, newer, ["closed"]],
  ["a plugin that was attached to no route", { ...keyAuth, route: null }, newer, ["closed"]],
  ["a plugin that had different protocols", { ...keyAuth, protocols: ["https"] }, newer, ["closed"]],
  ["a plugin that answered 503 already", newer, newer, ["closed"]],
  ["a plugin that had a different name", { ...keyAuth, name: "cors", config: {} }, newer, ["closed"]],
  [
    "a plugin that the change itself marks as unavailable",
    keyAuth,
    { ...newer, _sluice: { unavailable: "why" } },
    ["closed"],
  ],
];
for (const [what, before, after, fares] of replaced)
  test(`a plugin that only newer nodes can read ${fares[0] === "closed" ? "answers 503" : "is served as it was before"}: ${what}`, () => {
    const put = (previous: Snapshot, plugin: object) => {
      const { value, violations } = applyChange(previous, { put: { plugins: [plugin] }, remove: {} }, CLOSE);
      return value ?? assert.fail(violations.map(describeViolation).join("\n"));
    };
    const without = apply(emptySnapshot, changeOf({ ...document, plugins: [] }));
    const plugin = put(before ? put(without, before) : without, after).plugins.get(guard);
    assert.deepEqual(plugin?._sluice?.unavailable === undefined ? plugin?.config.key_names : ["closed"], fares);
  });

test("a plugin that moves to another consumer group and that only newer nodes can read answers 503 there", () => {
  const groups = ["gold", "silver"].map((name) => ({ id: deriveId("consumer_groups", name), name }));
  const limit = (group: number, more: object) => {
    const config = { minute: 5, policy: "local", ...more };
    return { id: guard, name: "rate-limiting", consumer_group: { id: groups[group]?.id }, config };
  };
  const before = apply(emptySnapshot, { put: { consumer_groups: groups, plugins: [limit(0, {})] } });
  const moved = { put: { plugins: [limit(1, { unknown: true })] }, remove: {} };
  const { value, violations } = applyChange(before, moved, CLOSE);
  const plugin = value?.plugins.get(guard);
  assert.deepEqual([plugin?.consumer_group?.id, violations], [groups[1]?.id, undefined]);
  assert.notEqual(plugin?._sluice?.unavailable, undefined);
});

test("the hash of a snapshot covers the pushed config of a plugin that the process does not have", () => {
  const put = (config: object) => {
    const change = { put: { plugins: [{ id: guard, name: "words", config }] }, remove: {} };
    return applyChange(emptySnapshot, change, CLOSE).value ?? assert.fail();
  };
  const [one, same, other] = [put({ word: "a" }), put({ word: "a" }), put({ word: "b" })];
  assert.deepEqual(one.plugins.get(guard)?.config, {});
  assert.deepEqual([one.hash === same.hash, one.hash === other.hash], [true, false]);
});

test("applyChange returns the snapshot itself when nothing changes", () => {
  const changes: readonly Partial<Change>[] = [
    {},
    changeOf(document),
    changeOf(snapshotToDocument(base)),
    { remove: { services: ["11111111-2222-4333-8444-555555555555"] } },
    { put: { services: [{ host: "h", port: 80, name: "s", _sluice: null, tags: null }] } },
    { endpoints: { [other]: null }, upstream_endpoints: { [other]: null } },
    {
      endpoints: {
        [service]: [
          { port: 80, address: "10.0.0.1" },
          { address: "10.0.0.2", port: 80, terminating: false },
        ],
      },
    },
  ];
  for (const change of changes) assert.equal(apply(base, change), base, JSON.stringify(change));
});

test("a changed snapshot shares with the previous one every entity and map that the change does not touch", () => {
  const next = apply(base, { put: { services: [{ name: "s", host: "elsewhere" }] } });
  assert.notEqual(next.hash, base.hash);
  assert.equal(next.services.get(other), base.services.get(other));
  assert.equal(next.services.get(service)?.host, "elsewhere");
  for (const map of [
    "routes",
    "consumers",
    "keyauth_credentials",
    "plugins",
    "endpoints",
    "upstream_endpoints",
  ] as const) {
    assert.equal(next[map], base[map], map);
  }
  assert.equal(base.services.get(service)?.host, "h");
});

test("a snapshot, its maps and all values in the maps are frozen", () => {
  const kept = base.routes.get(route) ?? assert.fail("the route is missing");
  for (const value of [base, base.routes, kept, kept.paths, kept.service, base.endpoints.get(service)]) {
    assert.ok(Object.isFrozen(value));
  }
  assert.throws(() => (base.routes as Map<string, unknown>).set("x", 1), TypeError);
  assert.throws(() => (base.routes as Map<string, unknown>).clear(), TypeError);
});

test("entities are ordered by id and endpoints by address, whatever their original order", () => {
  assert.deepEqual([...base.services.keys()], [service, other].sort());
  assert.deepEqual(base.endpoints.get(service), [
    { address: "10.0.0.1", port: 80 },
    { address: "10.0.0.2", port: 80 },
  ]);
  assert.deepEqual(base.upstream_endpoints.get(upstream), [
    { address: "10.0.0.1", port: 80, weight: 1 },
    { address: "10.0.0.2", port: 80, weight: 2 },
  ]);
});

test("the hash includes the endpoints", () => {
  assert.notEqual(apply(base, { endpoints: { [service]: [] } }).hash, base.hash);
  assert.notEqual(
    apply(base, { endpoints: { [service]: null } }).hash,
    apply(base, { endpoints: { [service]: [] } }).hash,
  );
});

test("a change can remove a service together with its route, the route's plugin and the service's addresses", () => {
  const [plugin = ""] = base.plugins.keys();
  const next = apply(base, { remove: { services: [service.toUpperCase()], routes: [route], plugins: [plugin] } });
  assert.deepEqual([next.services.size, next.routes.size, next.plugins.size, next.endpoints.size], [1, 0, 0, 0]);
});

test("a change keeps an entity that it both removes and puts, and two entities can swap names within one change", () => {
  assert.equal(apply(base, { put: { services: [{ name: "s", host: "h" }] }, remove: { services: [service] } }), base);
  const swapped = apply(base, {
    put: {
      services: [
        { id: service, name: "other", host: "h" },
        { id: other, name: "s", host: "h" },
      ],
    },
  });
  assert.equal(swapped.services.get(other)?.name, "s");
});

test("two credentials may have the same key only in disjoint sets of namespaces", () => {
  const scoped = (id: string, namespaces: readonly string[]) => ({
    id,
    consumer: { id: consumer },
    _sluice: { key_hash: "a".repeat(64), namespaces },
  });
  const [one, two] = ["11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555"];
  assert.equal(
    apply(base, { put: { keyauth_credentials: [scoped(one, ["a"]), scoped(two, ["b"])] } }).keyauth_credentials.size,
    3,
  );
  assert.deepEqual(refusals({ put: { keyauth_credentials: [scoped(one, ["a", "b"]), scoped(two, ["b"])] } }), [
    "keyauth_credentials[1]: uniqueness violation: 'keyauth_credentials' entity with key set to '[redacted]' already declared",
  ]);
});

const clash = (what: string) => `uniqueness violation: ${what} already declared`;
const missing = (member: string, id: string, to: string) =>
  `${member}: invalid reference '${member.split(".")[1]}: ${id}' (no such entry in '${to}')`;
const guest = "11111111-2222-4333-8444-555555555555";

const refused: readonly [string, Partial<Change>, readonly string[]][] = [
  [
    "several invalid entities, with all their errors",
    { put: { services: [{ name: "x" }], routes: [{ name: "y" }, 1] } },
    [
      "services[0].host: required field missing",
      "routes[0]: must set one of 'methods', 'hosts', 'headers', 'paths', 'snis' when 'protocols' is 'https'",
      "routes[1]: expected a record",
    ],
  ],
  [
    "references to missing entities",
    {
      put: {
        routes: [{ name: "y", paths: ["/"], service: { id: guest } }],
        plugins: [{ name: "prometheus", service: { id: guest }, consumer: { id: guest } }],
        keyauth_credentials: [{ key: "x", consumer: { id: guest } }],
      },
      endpoints: { [guest]: [] },
      upstream_endpoints: { [service]: [] },
    },
    [
      missing("routes[0].service", guest, "services"),
      missing("keyauth_credentials[0].consumer", guest, "consumers"),
      missing("plugins[0].service", guest, "services"),
      missing("plugins[0].consumer", guest, "consumers"),
      `_sluice.endpoints.${guest}: invalid reference 'endpoints: ${guest}' (no such entry in 'services')`,
      `_sluice.upstream_endpoints.${service}: invalid reference 'upstream_endpoints: ${service}' (no such entry in 'upstreams')`,
    ],
  ],
  [
    "an invalid parent, without a further error for its children",
    { put: { services: [{ id: guest }], routes: [{ paths: ["/"], service: { id: guest } }] } },
    ["services[0].host: required field missing"],
  ],
  [
    "the removal of an entity that others refer to",
    { remove: { services: [other, service], routes: [route], consumers: [consumer] } },
    [
      "remove.consumers[0]: an existing 'keyauth_credentials' entity references this 'consumers' entity",
      "remove.routes[0]: an existing 'plugins' entity references this 'routes' entity",
    ],
  ],
  [
    "the removal of a service whose route is put at the same time",
    { put: { routes: [{ name: "r", paths: ["/new"], service: { id: service } }] }, remove: { services: [service] } },
    [missing("routes[0].service", service, "services")],
  ],
  [
    "a name, a key and a plugin's scope that other entities already have",
    {
      put: {
        services: [{ id: guest, name: "s", host: "h" }],
        keyauth_credentials: [{ id: guest, key: "k", consumer: { id: consumer } }],
        plugins: [{ id: guest, name: "key-auth", route: { id: route } }],
      },
    },
    [
      `services[0]: ${clash("'services' entity with name set to 's'")}`,
      `keyauth_credentials[0]: ${clash("'keyauth_credentials' entity with key set to '[redacted]'")}`,
      `plugins[0]: ${clash("'plugins' entity with name set to 'key-auth' for the same route")}`,
    ],
  ],
  [
    "a duplicate id",
    {
      put: {
        services: [
          { id: guest, host: "a" },
          { id: guest, host: "b" },
        ],
      },
    },
    [`services[1]: ${clash(`'services' entity with primary key set to '${guest}'`)}`],
  ],
  [
    "invalid addresses",
    {
      endpoints: {
        [service]: [
          { address: "name.example", port: 1.5, ...{ weight: 1 } },
          { address: "::1", port: 65_536 },
        ],
      },
    },
    [
      `_sluice.endpoints.${service}[0].address: not an IP address: name.example`,
      `_sluice.endpoints.${service}[0].port: expected an integer`,
      `_sluice.endpoints.${service}[0].weight: unknown field`,
      `_sluice.endpoints.${service}[1].port: value should be between 1 and 65535`,
    ],
  ],
];

for (const [what, change, expected] of refused) {
  test(`applyChange refuses ${what}`, () => assert.deepEqual(refusals(change), expected));
}

test("applyDocument removes entities that the document lacks, shares unchanged parts and refuses dangling references", () => {
  const smaller: Document = { ...document, plugins: [], routes: [], _sluice: {} };
  const next = applyDocument(base, smaller).value ?? assert.fail("the document has faults");
  assert.equal(next.services, base.services);
  const { routes, plugins, endpoints, upstream_endpoints } = next;
  assert.deepEqual([routes.size, plugins.size, endpoints.size, upstream_endpoints.size], [0, 0, 0, 0]);
  assert.equal(applyDocument(base, document).value, base);
  assert.deepEqual(applyDocument(base, { ...document, services: [] }).violations?.map(describeViolation), [
    missing("routes[0].service", service, "services"),
    `_sluice.endpoints.${service}: invalid reference 'endpoints: ${service}' (no such entry in 'services')`,
  ]);
});

test("changeBetween returns only the differences between two snapshots", () => {
  const next = apply(base, {
    put: { services: [{ name: "s", host: "elsewhere" }], plugins: [] },
    remove: { services: [other] },
    endpoints: { [service]: null },
    upstream_endpoints: { [upstream]: [] },
  });
  const change = changeBetween(base, next);
  assert.deepEqual(change, {
    put: { services: [next.services.get(service)] },
    remove: { services: [other] },
    endpoints: { [service]: null },
    upstream_endpoints: { [upstream]: [] },
  });
  assert.deepEqual(changeBetween(base, base), { put: {}, remove: {} });
  assert.deepEqual(apply(base, JSON.parse(JSON.stringify(change))), next);
});
