import assert from "node:assert/strict";
import { test } from "node:test";
import { type Certificate, deriveId, lookupHash, type ResourceKind, registerPlugins } from "@sluice/model";
import { deviceTokenFacts } from "../../../../../test/plugins/device-token.ts";
import { ellipticPair, firstKeyPair } from "../../../../../tools/programs/pairs.ts";
import {
  CERTIFICATE,
  CONSUMER,
  consumerWithKey,
  createdSeconds,
  exampleOptions,
  exampleResource,
  ROUTE,
  SERVICE,
} from "../testing-example.ts";
import { describeResourceViolation, translateToEntities } from "../translate.ts";
import { toEntities } from "./to-entities.ts";

registerPlugins([deviceTokenFacts]);

/** The kind and spec of a resource, and members that its entity must have besides the times. */
const translations: readonly (readonly [ResourceKind, object, object])[] = [
  [
    "Service",
    { url: "https://users.example/api" },
    { protocol: "https", host: "users.example", port: 443, path: "/api" },
  ],
  [
    "Service",
    {
      protocol: "https",
      host: "users.example",
      port: 8443,
      path: "/api",
      retries: 1,
      connectTimeout: 1,
      readTimeout: 2,
      writeTimeout: 3,
      tags: ["a"],
      tlsVerify: false,
      enabled: false,
    },
    {
      protocol: "https",
      host: "users.example",
      port: 8443,
      path: "/api",
      retries: 1,
      connect_timeout: 1,
      read_timeout: 2,
      write_timeout: 3,
      tags: ["a"],
      tls_verify: false,
      enabled: false,
    },
  ],
  ["Service", { backendRef: { name: "users", port: 4000 } }, { host: "users.home.svc", port: 4000 }],
  [
    "Route",
    {
      serviceRef: { name: "users" },
      protocols: ["https"],
      methods: ["GET"],
      hosts: ["a.example"],
      paths: ["/users"],
      headers: { "X-snake_case": ["a"] },
      snis: ["a.example"],
      httpsRedirectStatusCode: 301,
      stripPath: false,
      preserveHost: true,
      regexPriority: 7,
      pathHandling: "v1",
      requestBuffering: false,
      responseBuffering: false,
      tags: ["a"],
    },
    {
      service: { id: SERVICE },
      protocols: ["https"],
      methods: ["GET"],
      hosts: ["a.example"],
      paths: ["/users"],
      headers: { "X-snake_case": ["a"] },
      snis: ["a.example"],
      https_redirect_status_code: 301,
      strip_path: false,
      preserve_host: true,
      regex_priority: 7,
      path_handling: "v1",
      request_buffering: false,
      response_buffering: false,
      tags: ["a"],
      _sluice: { namespace: "home" },
    },
  ],
  [
    "Plugin",
    {
      plugin: "prometheus",
      instanceName: "counts",
      targetRefs: [
        { kind: "Consumer", name: "demo" },
        { kind: "Route", name: "users" },
        { kind: "Service", name: "users" },
      ],
      config: { per_consumer: true },
      protocols: ["http"],
      enabled: false,
      tags: ["a"],
    },
    {
      name: "prometheus",
      instance_name: "counts",
      service: { id: SERVICE },
      route: { id: ROUTE },
      consumer: { id: CONSUMER },
      protocols: ["http"],
      enabled: false,
      tags: ["a"],
    },
  ],
  ["Certificate", { secretRef: { name: "tls" }, tags: ["a"] }, { ...firstKeyPair, cert_alt: null, tags: ["a"] }],
  [
    "Certificate",
    { secretRef: { name: "both" } },
    { ...firstKeyPair, cert_alt: ellipticPair.cert, key_alt: ellipticPair.key },
  ],
  [
    "Upstream",
    {
      name: "users.internal",
      algorithm: "consistent-hashing",
      hashOn: "cookie",
      hashOnCookie: "session",
      clientCertificateRef: { name: "web" },
      useSrvName: true,
    },
    {
      name: "users.internal",
      algorithm: "consistent-hashing",
      hash_on: "cookie",
      hash_on_cookie: "session",
      client_certificate: { id: CERTIFICATE },
      use_srv_name: true,
    },
  ],
  ["Upstream", {}, { name: "mine", client_certificate: null, slots: 10_000 }],
  [
    "Service",
    { url: "https://users", clientCertificateRef: { name: "web" } },
    { protocol: "https", client_certificate: { id: CERTIFICATE } },
  ],
  ["Consumer", { username: "demo", customId: "7", tags: ["a"] }, { username: "demo", custom_id: "7", tags: ["a"] }],
];
for (const [kind, spec, expected] of translations) {
  test(`a spec of kind ${kind} with ${Object.keys(spec).join(", ") || "no members"} is translated to the entity's members`, () => {
    const [item] = translateToEntities(exampleResource(kind, spec), exampleOptions);
    assert.deepEqual(item?.violations, []);
    const entity = item?.entity as unknown as Readonly<Record<string, unknown>>;
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(entity[name], value, name);
    assert.equal(entity.created_at, createdSeconds);
    assert.equal(entity.updated_at, createdSeconds);
  });
}

test("a Service with a backendRef names the core Service whose EndpointSlices it uses", () => {
  const [item] = translateToEntities(
    exampleResource("Service", { backendRef: { name: "users", port: 4000 } }),
    exampleOptions,
  );
  assert.deepEqual(item?.backends, [{ namespace: "home", name: "users", port: 4000 }]);
});

test("an Upstream has its usable core Services with their weights, and a missing one does not keep it from being served", () => {
  const backendRefs = [
    { name: "users", port: 4000, weight: 90 },
    { name: "nobody", port: 80 },
    { name: "users", port: 1 },
    { namespace: "away", name: "users", port: 4000 },
  ];
  const [item] = translateToEntities(exampleResource("Upstream", { name: "u.internal", backendRefs }), exampleOptions);
  assert.deepEqual(item?.backends, [{ namespace: "home", name: "users", port: 4000, weight: 90 }]);
  assert.equal(item.entity?.id, item.item.id);
  assert.deepEqual(item.violations.map(describeResourceViolation), [
    "spec.backendRefs[1].name: there is no core Service nobody in the namespace home",
    "spec.backendRefs[2].port: the core Service users has no port 1",
    "spec.backendRefs[3]: the namespace away does not allow a Upstream of the namespace home to refer to its core " +
      "Service users: create a ReferenceGrant there (gateway.networking.k8s.io/v1beta1, whose CRD has to be installed)",
  ]);
  const [other] = translateToEntities(
    exampleResource("Upstream", { backendRefs: [{ name: "users", port: 4000 }] }),
    exampleOptions,
  );
  assert.equal(other?.backends?.[0]?.weight, 100);
  const [without] = translateToEntities(exampleResource("Upstream", { targets: [{ target: "a" }] }), exampleOptions);
  assert.equal(without?.backends, undefined);
});

test("the admin API sees no core Services of an Upstream, and a declarative file has them as targets", () => {
  const spec = {
    targets: [{ target: "a:1" }, { target: "posts.home.svc:80" }],
    backendRefs: [
      { name: "users", port: 4000, weight: 0 },
      { namespace: "away", name: "users", port: 80 },
      { name: "posts", port: 80 },
    ],
  };
  const targetsFor = (audience: "admin" | "file") =>
    translateToEntities(exampleResource("Upstream", spec), { ...exampleOptions, audience }).flatMap(
      ({ item, entity, collection, backends }) => {
        assert.deepEqual([entity === undefined, backends], [false, undefined]);
        return collection === "targets" ? [`${item.target} ${item.weight}`] : [];
      },
    );
  const written = ["a:1 undefined", "posts.home.svc:80 undefined"];
  assert.deepEqual(targetsFor("admin"), written);
  assert.deepEqual(targetsFor("file"), [...written, "users.home.svc:4000 0", "users.away.svc:80 100"]);
});

test("for nodes, a config includes members from Secrets, and the translation records their paths; for the admin API, it lacks them", () => {
  const spec = {
    plugin: "rate-limiting",
    config: { minute: 5, policy: "redis", redis: { host: "redis.example" } },
    configFrom: [{ path: "redis.password", secretRef: { name: "keys", key: "good" } }],
  };
  const [forNodes] = translateToEntities(exampleResource("Plugin", spec), exampleOptions);
  assert.deepEqual(forNodes?.violations, []);
  assert.deepEqual(forNodes?.item.config, {
    minute: 5,
    policy: "redis",
    redis: { host: "redis.example", password: "demo-key" },
  });
  assert.deepEqual(forNodes?.secretPaths, [["config", "redis", "password"]]);
  const [forAdmin] = translateToEntities(exampleResource("Plugin", spec), { ...exampleOptions, audience: "admin" });
  assert.deepEqual(forAdmin?.item.config, spec.config);
});

test("for the admin API, a config that needs a member from a Secret is valid, and shows null for this member; without the Secret, or with another invalid member, it is invalid", () => {
  const config = { issuer: "https://login.test", auth_methods: ["session"] };
  const spec = {
    plugin: "openid-connect",
    config,
    configFrom: [{ path: "session_secret", secretRef: { name: "keys", key: "good" } }],
  };
  const forAdmin = { ...exampleOptions, audience: "admin" } as const;
  const [translated] = translateToEntities(exampleResource("Plugin", spec), forAdmin);
  assert.deepEqual(translated?.violations, []);
  assert.partialDeepStrictEqual(translated?.entity, { config: { ...config, session_secret: null } });
  const [without] = translateToEntities(exampleResource("Plugin", { ...spec, configFrom: [] }), forAdmin);
  assert.match(String(without?.violations[0]?.message), /^required by session/);
  const wrong = { ...spec, config: { ...config, leeway: -1 } };
  assert.equal(translateToEntities(exampleResource("Plugin", wrong), forAdmin)[0]?.entity, undefined);
});

test("for nodes, headers include values from Secrets, and their paths are recorded; for the admin API, such headers are omitted", () => {
  const spec = {
    host: "a",
    upstreamHeaders: [
      { name: "X-Secret", secretRef: { name: "keys", key: "good" } },
      { name: "X-Zone", value: "blue" },
    ],
  };
  const [forNodes] = translateToEntities(exampleResource("Service", spec), exampleOptions);
  assert.deepEqual(forNodes?.violations, []);
  assert.deepEqual(forNodes?.item.upstream_headers, [
    { name: "X-Secret", value: "demo-key" },
    { name: "X-Zone", value: "blue" },
  ]);
  assert.deepEqual(forNodes?.secretPaths, [["upstream_headers", 0, "value"]]);
  const [forAdmin] = translateToEntities(exampleResource("Service", spec), { ...exampleOptions, audience: "admin" });
  assert.deepEqual(forAdmin?.item.upstream_headers, [{ name: "X-Zone", value: "blue" }]);
});

test("nodes get the hash of a key, bound to the consumer's namespace, and never the key itself", () => {
  const translated = translateToEntities(exampleResource("Consumer", consumerWithKey("good"), "team"), exampleOptions);
  const consumer = { id: deriveId("consumers", "demo") };
  assert.deepEqual(translated[1]?.item, {
    id: deriveId("keyauth_credentials", `${consumer.id}/keys/good`),
    // The creation time of the Secret, because ttl counts from the creation of the key.
    created_at: createdSeconds + 3600,
    consumer,
    _sluice: { key_hash: lookupHash("demo-key"), namespaces: ["team"] },
  });
  assert.ok(!JSON.stringify(translated).includes("demo-key"));
});

test("the key and a part of the config of a plugin's credential are read from Secrets, and no message shows their values", () => {
  const credential = (members: object) => ({
    username: "demo",
    pluginCredentials: [{ plugin: "device-token", secretRef: { name: "keys", key: "good" }, ...members }],
  });
  const configFrom = [{ path: "pin", secretRef: { name: "keys", key: "written" } }];
  const spec = credential({ config: { model: "locked" }, configFrom });
  const [, forNodes] = translateToEntities(exampleResource("Consumer", spec), exampleOptions);
  assert.deepEqual(forNodes?.violations, []);
  assert.deepEqual(forNodes?.item.config, { model: "locked", pin: "from-a-file" });
  assert.deepEqual(forNodes?.item._sluice, { key_hash: lookupHash("demo-key", "device-token") });
  const [, forAdmin] = translateToEntities(exampleResource("Consumer", spec), { ...exampleOptions, audience: "admin" });
  assert.deepEqual(forAdmin?.violations, []);
  assert.partialDeepStrictEqual(forAdmin?.entity, { key: "demo-key", config: { model: "locked", pin: null } });
  const model = [{ path: "model", secretRef: { name: "keys", key: "long" } }];
  const [, refused] = translateToEntities(exampleResource("Consumer", credential({ configFrom: model })), {
    ...exampleOptions,
    read: (...place) => {
      const secret = exampleOptions.read(...place);
      return secret && { ...secret, stringData: { good: "abc", long: "m".repeat(33) } };
    },
  });
  assert.deepEqual(refused?.violations.map(describeResourceViolation), [
    "spec.pluginCredentials[0].secretRef.key: the plugin device-token refuses the value",
    "spec.pluginCredentials[0].config.model: the value in the Secret is invalid",
  ]);
});

test("the keys of a consumer in the home namespace are valid in all namespaces", () => {
  const [, key] = translateToEntities(exampleResource("Consumer", consumerWithKey("written")), exampleOptions);
  assert.deepEqual(key?.item._sluice, { key_hash: lookupHash("from-a-file") });
});

test("the translation for the admin API contains the key in clear text and no internal members", () => {
  const [, key] = translateToEntities(exampleResource("Consumer", consumerWithKey("good")), {
    ...exampleOptions,
    audience: "admin",
  });
  assert.equal(key?.item.key, "demo-key");
  assert.equal(key?.item._sluice, undefined);
});

test("an invalid key does not affect its consumer or the other keys", () => {
  const keys = [{ secretRef: { name: "keys" } }, { secretRef: { name: "keys", key: "good" }, ttl: 60 }, "x"];
  const [consumer, ...rest] = translateToEntities(
    exampleResource("Consumer", { username: "demo", keyAuth: keys }),
    exampleOptions,
  );
  assert.ok(consumer?.entity);
  assert.deepEqual(
    rest.map(({ entity }) => entity !== undefined),
    [false, true, false],
  );
  assert.deepEqual(
    rest.flatMap(({ violations }) => violations.map(describeResourceViolation)),
    ["spec.keyAuth[0].secretRef.key: required field missing", "spec.keyAuth[2]: expected a record"],
  );
});

test("an annotation cannot make a route look older to nodes, which prefer the older of two routes", () => {
  const route = exampleResource("Route", { paths: ["/a"] });
  const annotated = { ...route, metadata: { ...route.metadata, annotations: { "sluice.dev/created-at": "1" } } };
  const createdAt = (audience: "nodes" | "admin") =>
    toEntities(annotated, { ...exampleOptions, audience })[0]?.item.created_at;
  assert.deepEqual([createdAt("nodes"), createdAt("admin")], [createdSeconds, 1]);
});

test("a plugin with a malformed target keeps its well-formed targets, and never becomes global", () => {
  const fine = { kind: "Service", name: "users" };
  const malformed = { kind: "Rout", name: "users" };
  const memberOf = (targetRefs: unknown) => {
    const [plugin] = toEntities(exampleResource("Plugin", { plugin: "key-auth", targetRefs }), exampleOptions);
    return [plugin?.item.service, plugin?.references];
  };
  assert.deepEqual(memberOf([fine, malformed]), [{ id: SERVICE }, [{ ...fine, namespace: "home" }]]);
  for (const targets of [[malformed], [{ ...fine, namespace: 5 }], "users", [null], {}])
    assert.deepEqual(memberOf(targets), [{}, []]);
  assert.deepEqual(memberOf([]), [undefined, []]);
});

test("derived routes and certificates have the members of _sluice that their source gives them, only for nodes", () => {
  const listeners = ["team/web/https"];
  const extras = { listeners, match: { query: [{ name: "a", value: "b" }] }, priority: 7 };
  const route = { ...exampleResource("Route", { paths: ["/"] }), derived: { extras, sourcePaths: {} } };
  const spec = { secretRef: { name: "tls" } };
  const certificate = { ...exampleResource("Certificate", spec), derived: { extras: { listeners }, sourcePaths: {} } };
  const extrasFor = (audience: "nodes" | "admin") =>
    [route, certificate].map(
      (derived) => translateToEntities(derived, { ...exampleOptions, audience })[0]?.item._sluice,
    );
  assert.deepEqual(extrasFor("nodes"), [{ namespace: "home", ...extras }, { listeners }]);
  assert.deepEqual(extrasFor("admin"), [undefined, undefined]);
});

test("a Certificate with acme has the pair that the operator has stored; a missing or damaged one counts as none", () => {
  const certificate = exampleResource("Certificate", { acme: {}, snis: [{ name: "a.test" }] });
  const damaged = exampleOptions.read("Secret", "home", "rubbish");
  const rows = [
    [exampleOptions.read, firstKeyPair.cert, firstKeyPair.key],
    [() => undefined, null, null],
    [() => damaged, null, null],
  ] as const;
  for (const [read, cert, key] of rows) {
    const [found] = translateToEntities(certificate, { ...exampleOptions, read });
    assert.deepEqual(found?.violations.map(describeResourceViolation), []);
    const entity = found?.entity as Certificate | undefined;
    assert.deepEqual([entity?.cert, entity?.key], [cert, key]);
  }
});
