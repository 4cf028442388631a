import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDocument } from "../load.ts";
import { servablePart, servablePartOfText } from "./servable-part.ts";

const service = { name: "s", url: "https://s.example" };
const route = { name: "r", paths: ["/"], service: "s" };
const base = { _format_version: "3.0", services: [service], routes: [route] };

interface Expected {
  /** The plugins that answer 503, as `name` or `name of <singular>`. */
  readonly closed?: readonly string[];
  /** The number of entities that remain, by collection. */
  readonly left?: Readonly<Record<string, number>>;
  readonly outcomes: readonly string[];
}

const table: readonly (readonly [what: string, more: object, expected: Expected])[] = [
  [
    "a document that can be served stays as it is",
    { plugins: [{ name: "cors" }] },
    { outcomes: [], left: { plugins: 1 } },
  ],
  [
    "a plugin of Kong that Sluice lacks answers 503 in its scope",
    { plugins: [{ name: "oauth2", route: "r", config: { scopes: ["a"] } }] },
    { closed: ["oauth2 of route"], outcomes: ["closed plugins.0.name"] },
  ],
  [
    "an unknown plugin answers 503, because it may protect its scope",
    { plugins: [{ name: "of-our-own", config: {} }] },
    { closed: ["of-our-own"], outcomes: ["closed plugins.0.name"] },
  ],
  [
    "a disabled plugin that Sluice lacks is left out",
    { plugins: [{ name: "oauth2", enabled: false }] },
    { outcomes: ["left out plugins.0.name"], left: { plugins: 0 } },
  ],
  [
    "a protecting plugin with a config that Sluice refuses answers 503",
    { plugins: [{ name: "ip-restriction", service: "s", config: { allow: ["nowhere"] }, tags: ["a"] }] },
    { closed: ["ip-restriction of service"], outcomes: ["closed plugins.0.config.allow.0"] },
  ],
  [
    "a plugin that does not protect and has a config that Sluice refuses is left out",
    { plugins: [{ name: "cors", config: { max_age: "long" } }] },
    { outcomes: ["left out plugins.0.config.max_age"], left: { plugins: 0 } },
  ],
  [
    "a protecting plugin with a kind of scope that Sluice lacks answers 503 in the remaining scope",
    { plugins: [{ name: "ip-restriction", route: "r", key_set: "k", config: { allow: ["192.0.2.1"] } }] },
    { closed: ["unavailable-ip-restriction of route"], outcomes: ["closed plugins.0.key_set"] },
  ],
  [
    "a second plugin in the same scope is left out, which is reported once",
    { plugins: ["a", "b"].map((name) => ({ name: "key-auth", instance_name: name, route: "r" })) },
    { outcomes: ["left out plugins.1"], left: { plugins: 1 } },
  ],
  [
    "violations of entities that are left out together with their service are reported too",
    {
      services: [
        service,
        { name: "t", url: "udp://t:1", routes: [{ name: "a", paths: ["/a"], plugins: [{ name: "cors", config: 1 }] }] },
      ],
    },
    {
      outcomes: ["left out services.1.protocol +2", "left out services.1.routes.0.plugins.0.config"],
      left: { routes: 1 },
    },
  ],
  [
    "a udp route is left out with its plugins",
    {
      routes: [route, { name: "t", protocols: ["udp"], destinations: [{ port: 1 }], plugins: [{ name: "key-auth" }] }],
    },
    { outcomes: ["left out routes.1.protocols.0 +1"], left: { routes: 1, plugins: 0 } },
  ],
  [
    "a service that cannot be served is left out with its routes and their plugins",
    {
      services: [service, { name: "t", url: "udp://t:1" }],
      routes: [route, { name: "u", paths: ["/u"], service: "t", plugins: [{ name: "cors" }] }],
    },
    { outcomes: ["left out services.1.protocol +2"], left: { services: 1, routes: 1, plugins: 0 } },
  ],
  [
    "a route with filter_chains answers 503",
    { routes: [{ ...route, filter_chains: [{ filters: [] }] }] },
    { closed: ["filter-chains of route"], outcomes: ["closed routes.0.filter_chains"], left: { routes: 1 } },
  ],
  [
    "all routes answer 503 if the document has filter_chains at its top level",
    { filter_chains: [{ filters: [] }] },
    { closed: ["filter-chains"], outcomes: ["all closed filter_chains"] },
  ],
  [
    "a credential whose key is in a vault is left out",
    { consumers: [{ username: "c", keyauth_credentials: [{ key: "{vault://env/key}" }, { key: "k" }] }] },
    {
      outcomes: ["left out consumers.0.keyauth_credentials.0.key"],
      left: { consumers: 1, keyauth_credentials: 1 },
    },
  ],
  [
    "a protecting plugin with a value in a vault that Sluice lacks answers 503",
    { plugins: [{ name: "rate-limiting", config: { minute: 1, redis: { password: "{vault://hcv/p}" } } }] },
    { closed: ["rate-limiting"], outcomes: ["closed plugins.0.config.redis.password"] },
  ],
  [
    "a protecting plugin with a reference to a vault in a member where Kong resolves none answers 503",
    { plugins: [{ name: "rate-limiting", config: { minute: 1, redis: { host: "{vault://env/p}" } } }] },
    { closed: ["rate-limiting"], outcomes: ["closed plugins.0.config.redis.host"] },
  ],
  [
    "a plugin with a value in the vault env is served, in the current and the deprecated spelling of the member",
    {
      plugins: [
        { name: "rate-limiting", config: { minute: 1, redis: { password: "{vault://env/p}" } } },
        { name: "rate-limiting", route: "r", config: { minute: 1, redis_password: "{vault://env/p}" } },
      ],
    },
    { outcomes: [], left: { plugins: 2 } },
  ],
  [
    "a vault of the kind env is served with plugins that have values in it; http-log with an unknown vault is left out",
    {
      vaults: [{ name: "env", prefix: "my-env" }],
      plugins: [
        { name: "rate-limiting", config: { minute: 1, redis: { password: "{vault://my-env/p}" } } },
        { name: "http-log", config: { http_endpoint: "{vault://other-env/p}" } },
      ],
    },
    { outcomes: ["left out plugins.1.config.http_endpoint"], left: { plugins: 1, vaults: 1 } },
  ],
  [
    "a vault of another kind is left out, and protecting plugins with values in it answer 503",
    {
      vaults: [{ name: "hcv", prefix: "my-hcv", config: { host: "vault.test" } }],
      plugins: [{ name: "rate-limiting", config: { minute: 1, redis: { password: "{vault://my-hcv/p}" } } }],
    },
    {
      closed: ["rate-limiting"],
      outcomes: ["left out vaults.0.name", "closed plugins.0.config.redis.password"],
      left: { plugins: 1, vaults: 0 },
    },
  ],
  [
    "lists of entities that Sluice lacks are left out",
    { keys: [{ name: "k", kid: "k" }], consumers: [{ username: "c", oauth2_credentials: [{ name: "x" }] }] },
    { outcomes: ["left out keys", "left out consumers.0.oauth2_credentials"], left: { consumers: 1 } },
  ],
];

for (const [what, more, { closed = [], left = {}, outcomes }] of table) {
  test(what, () => {
    const { document, unserved } = servablePart({ ...base, ...more });
    assert.equal(checkDocument(document).violations, undefined);
    const actual = unserved.map(
      ({ outcome, violation: { path }, dependents }) =>
        `${outcome} ${path.join(".")}${dependents ? ` +${dependents}` : ""}`,
    );
    assert.deepEqual(actual, outcomes);
    const plugins = (document.plugins ?? []) as readonly Readonly<Record<string, unknown>>[];
    const scopes = plugins.flatMap(({ name, service, route, _sluice }) => {
      if (Object(_sluice).unavailable === undefined) return [];
      return [`${name}${service ? " of service" : ""}${route ? " of route" : ""}`];
    });
    assert.deepEqual(scopes, closed);
    for (const [collection, count] of Object.entries(left))
      assert.equal((Object(document)[collection] ?? []).length, count, collection);
  });
}

test("servablePartOfText refuses a text that is not a document, and reports the lines of unserved parts and of warnings", () => {
  assert.equal(servablePartOfText("a: [", "k.yml").violations?.[0]?.position?.line, 1);
  assert.match(servablePartOfText("a: 1", "k.yml").violations?.[0]?.message ?? "", /_format_version/);
  const text = '_format_version: "3.0"\n_workspace: w\nplugins:\n- name: oauth2\nkeys: [{name: k}]\n';
  const { value } = servablePartOfText(text, "k.yml");
  assert.deepEqual(
    value?.unserved.map(({ violation: { position } }) => position?.line),
    [4, 5],
  );
  assert.deepEqual(
    value?.warnings.map(({ position }) => position?.line),
    [2],
  );
  assert.deepEqual([value?.given, value?.served.plugins], [1, 0]);
});
