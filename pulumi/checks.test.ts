import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject } from "./objects/create.ts";
import type { Release } from "./objects/names.ts";
import { adminObjects } from "./objects/parts/admin.ts";
import { gatewayObjects } from "./objects/parts/gateway.ts";
import { operatorObjects } from "./objects/parts/operator.ts";
import { userApiObjects } from "./objects/parts/user-api.ts";
import { checkRelease, type ReleaseArgs, releaseOf } from "./release.ts";

const place = { name: "edge", namespace: "shop" };

const faultsOf = (args: Partial<ReleaseArgs>): readonly string[] =>
  checkRelease({ ...place, ...args }).faults.map(({ path, message }) => `${path}: ${message}`);

const words: Readonly<Record<string, RegExp>> = {
  "a.b":
    /^: the name a\.b cannot be a prefix of Service names: it must consist of lower-case letters, digits and -, begin with a letter and not end with -$/,
  "2024": /cannot be a prefix of Service names/,
  Edge: /cannot be a prefix of Service names/,
  "edge-": /cannot be a prefix of Service names/,
  "": /cannot be a prefix of Service names/,
};

for (const [name, expected] of Object.entries(words))
  test(`a release's name that cannot be a prefix of Service names is refused: '${name}'`, () => {
    const [fault = "", ...others] = faultsOf({ name });
    assert.match(fault, expected);
    assert.deepEqual(others, []);
  });

for (const [what, longest, values, because] of [
  ["without databases", 48, {}, ", because names of Services are derived from it"],
  [
    "with Redis",
    46,
    { redis: { enabled: true } },
    " with redis.enabled, because a label of its pods is derived from it",
  ],
  [
    "with Postgres",
    43,
    { postgres: { enabled: true } },
    " with postgres.enabled, because a label of its pods is derived from it",
  ],
  [
    "with Postgres and Redis",
    43,
    { postgres: { enabled: true }, redis: { enabled: true } },
    " with postgres.enabled, because a label of its pods is derived from it",
  ],
] as const)
  test(`the name of a release ${what} has at most ${longest} characters`, () => {
    assert.deepEqual(faultsOf({ name: "a".repeat(longest), values }), []);
    const name = "a".repeat(longest + 1);
    assert.deepEqual(faultsOf({ name, values }), [
      `: the name ${name} is too long: ${longest} characters at most${because}`,
    ]);
  });

test("`env` must not have a variable that another value sets, or that other objects rely on", () => {
  const values = {
    gateway: { env: { SLUICE_LOG_LEVEL: "debug", SLUICE_PROXY_ACCESS_LOG: "stdout" } },
    admin: { env: { SLUICE_STORE: "directory" } },
    userApi: { env: { SLUICE_USER_API_PAGE: 10, SLUICE_LOG_LEVEL: "debug" } },
  };
  assert.deepEqual(faultsOf({ values }), [
    "gateway.env.SLUICE_LOG_LEVEL: logLevel sets this variable: set that instead",
    "admin.env.SLUICE_STORE: this variable is the chart's own: other objects rely on it",
  ]);
});

test("a label that selects pods or identifies the owner of an object is refused in every map of labels", () => {
  const labels = { "app.kubernetes.io/name": "shop", team: "a" };
  const monitoring = { dashboards: { labels: { "app.kubernetes.io/part-of": "shop" } } };
  assert.deepEqual(faultsOf({ values: { labels, monitoring } }), [
    `labels["app.kubernetes.io/name"]: this label is the chart's own: other objects rely on it`,
    `monitoring.dashboards.labels["app.kubernetes.io/part-of"]: this label is the chart's own: other objects rely on it`,
  ]);
});

test("the Service whose addresses are published must be one that the operator reads, and the only source of addresses", () => {
  const override = { publishService: { pathOverride: "edge/balancer" } };
  assert.deepEqual(faultsOf({ values: override }), []);
  assert.deepEqual(faultsOf({ values: { ...override, namespaces: ["edge"] } }), []);
  assert.deepEqual(faultsOf({ values: { ...override, namespaces: ["bank"], publishStatusAddress: ["192.0.2.1"] } }), [
    "publishService.pathOverride: set this or publishStatusAddress, not both",
    "publishService.pathOverride: the operator does not read the namespace edge: add it to namespaces",
  ]);
});

test("the range of ports for Gateways must not be empty", () => {
  assert.deepEqual(faultsOf({ values: { gatewayApi: { firstPort: 12_000 } } }), [
    "gatewayApi.firstPort: must be at most gatewayApi.lastPort (10999), not 12000",
  ]);
});

test("a port for connections that are not HTTP must not be one that nodes open for Gateways", () => {
  const ports = [9999, 10_000, 10_999, 11_000];
  const streams = ports.map((port) => ({ name: `p${port}`, port, servicePort: port, tls: false }));
  const range = "(gatewayApi.firstPort 10000 to lastPort 10999): choose another port, or another range";
  assert.deepEqual(faultsOf({ values: { gateway: { streams } } }), [
    `gateway.streams[1].port: 10000 is one of the ports that nodes open for Gateways ${range}`,
    `gateway.streams[2].port: 10999 is one of the ports that nodes open for Gateways ${range}`,
  ]);
  assert.deepEqual(
    faultsOf({ values: { gateway: { streams }, gatewayApi: { firstPort: 12_000, lastPort: 12_999 } } }),
    [],
  );
});

const pinned = (repository: string): string => `images.example.com/${repository}@sha256:${"0a".repeat(32)}`;

test("images of plugins must be distinct and have a digest, and may have a tag too", () => {
  const images = [pinned("acme/a"), "acme/b:1", "acme/c@sha256:12", pinned("acme/d:1"), `${pinned("acme/e")} `];
  const expected = "expected a reference with a digest, such as images.example.com/acme/sluice-plugin-x@sha256:… (64";
  assert.deepEqual(
    faultsOf({ values: { plugins: { images } } }).map((text) => text.replace(/ hexadecimal digits\), not .*/, "")),
    [1, 2, 4].map((index) => `plugins.images[${index}]: ${expected}`),
  );
  const twice = [pinned("acme/a"), pinned("acme/a")];
  assert.match(
    faultsOf({ values: { plugins: { images: twice } } }).join("\n"),
    /^plugins\.images: must NOT have duplicate items/,
  );
});

test("`env` may set SLUICE_PLUGINS for plugins in the image of a part, unless plugins.images is set", () => {
  const env = { SLUICE_PLUGINS: "@acme/x" };
  assert.deepEqual(faultsOf({ values: { gateway: { env } } }), []);
  assert.deepEqual(faultsOf({ values: { gateway: { env }, plugins: { images: [pinned("acme/x")] } } }), [
    "gateway.env.SLUICE_PLUGINS: plugins.images sets this variable: set that instead",
  ]);
});

/** Each of these sets of values makes the release set different variables. */
const releases: readonly ReleaseArgs["values"][] = [
  {},
  { namespaces: ["a"], push: { existingSecret: "certificates" }, publishStatusAddress: ["192.0.2.1"] },
  {
    namespaceSelector: "team",
    gateway: { tls: { enabled: true } },
    admin: { kubernetes: true, origins: ["https://a.example"] },
    postgres: { enabled: true },
    redis: { enabled: true },
    plugins: { images: [pinned("acme/x")] },
  },
];

const parts = {
  operator: operatorObjects,
  gateway: gatewayObjects,
  admin: adminObjects,
  userApi: userApiObjects,
} satisfies Record<string, (release: Release) => readonly KubernetesObject[]>;

/** Set by the release unless `env` sets them. */
const replaceable: readonly string[] = ["SLUICE_ZONE"];

for (const [part, objectsOf] of Object.entries(parts))
  test(`each variable that the release itself sets for ${part} is refused in \`env\`, unless \`env\` may replace it`, () => {
    for (const values of releases) {
      const set = objectsOf(releaseOf({ ...place, values })).flatMap(variablesIn);
      const own = set.filter((name) => !replaceable.includes(name));
      const env = Object.fromEntries(own.map((name) => [name, "1"]));
      const { faults } = checkRelease({
        ...place,
        values: { ...values, [part]: { ...values?.[part as "admin"], env } },
      });
      assert.deepEqual(
        faults.map(({ path }) => path).toSorted(),
        [...new Set(own)].toSorted().map((name) => `${part}.env.${name}`),
      );
    }
  });

test("SLUICE_ZONE comes from a label of the pod, unless `env` sets it", () => {
  const zoneOf = (env: Record<string, string>) =>
    gatewayObjects(releaseOf({ ...place, values: { gateway: { env } } }))
      .flatMap(containersIn)
      .flatMap((container) => container.env.filter(({ name }) => name === "SLUICE_ZONE"));
  const fieldPath = "metadata.labels['topology.kubernetes.io/zone']";
  assert.deepEqual(zoneOf({}), [{ name: "SLUICE_ZONE", valueFrom: { fieldRef: { fieldPath } } }]);
  assert.deepEqual(zoneOf({ SLUICE_ZONE: "a" }), [{ name: "SLUICE_ZONE", value: "a" }]);
});

test("variables that name a Postgres or Redis server may be set in `env` only if no other value sets one", () => {
  const env = {
    SLUICE_USER_API_REDIS_URL: "redis://users:word@redis.example:6379/3",
    SLUICE_USER_API_REDIS_PREFIX: "users",
    SLUICE_USER_API_DATABASE_URL: "postgres://users:word@db.example/users",
    SLUICE_USER_API_MIGRATE: "false",
  };
  assert.deepEqual(faultsOf({ values: { userApi: { env } } }), []);
  const servers = { redis: { host: "redis.example" }, postgres: { existingSecret: "database" } };
  assert.deepEqual(faultsOf({ values: { userApi: { env }, ...servers } }).length, 4);
});

interface Container {
  readonly env: readonly { readonly name: string }[];
}

/** The containers of a Deployment; none for an object of another kind. */
function containersIn({ kind, spec }: KubernetesObject): readonly Container[] {
  if (kind !== "Deployment") return [];
  return (spec as { template: { spec: { containers: readonly Container[] } } }).template.spec.containers;
}

/** Names of the environment variables of a Deployment's containers. */
const variablesIn = (object: KubernetesObject): readonly string[] =>
  containersIn(object).flatMap(({ env }) => env.map(({ name }) => name));
