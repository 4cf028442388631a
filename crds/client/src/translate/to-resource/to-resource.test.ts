import assert from "node:assert/strict";
import { test } from "node:test";
import { type CheckedEntity, type Collection, checkEntity } from "@sluice/model";
import { firstKeyPair } from "../../../../../tools/programs/pairs.ts";
import type { Resource } from "../../resource.ts";
import { credentialSecret } from "../secrets.ts";
import { CERTIFICATE, CONSUMER, exampleOptions, exampleResource, ROUTE, SERVICE } from "../testing-example.ts";
import { createdAt, updatedAt } from "../timestamps.ts";
import { certificateSecret } from "../tls-secrets.ts";
import { translateToEntities } from "../translate.ts";
import { resourceName, type ToResourceOptions, toResource } from "./to-resource.ts";

function entity<Name extends Collection>(collection: Name, raw: object): CheckedEntity<Name> {
  const { value, violations } = checkEntity(collection, raw, { now: 1_700_000_000 });
  assert.ok(value, JSON.stringify(violations));
  return value;
}

const UNKNOWN = "66666666-6666-4666-8666-666666666666";
const places: Readonly<Record<string, { readonly namespace: string; readonly name: string }>> = {
  [SERVICE]: { namespace: "team", name: "users" },
  [ROUTE]: { namespace: "team", name: "users-route" },
  [CONSUMER]: { namespace: "home", name: "demo" },
  [CERTIFICATE]: { namespace: "home", name: "web" },
};
const writing: ToResourceOptions = { namespace: "home", locate: (_, id) => places[id] };

test("a resource carries name and id, times as annotations, and no defaults", () => {
  const { value } = toResource("services", entity("services", { name: "users", url: "http://users:8080" }), writing);
  assert.deepEqual(value, {
    apiVersion: "sluice.dev/v1alpha1",
    kind: "Service",
    metadata: {
      name: resourceName("users"),
      namespace: "home",
      annotations: { "sluice.dev/created-at": "1700000000", "sluice.dev/updated-at": "1700000000" },
    },
    spec: { name: "users", id: entity("services", { name: "users", host: "x" }).id, host: "users", port: 8080 },
  });
});

test("a new resource is created in the namespace of the resource that it refers to; without a name of the entity, spec.name is empty", () => {
  const { value } = toResource("routes", entity("routes", { paths: ["/a"], service: { id: SERVICE } }), writing);
  assert.equal(value?.metadata.namespace, "team");
  assert.deepEqual(value?.spec?.serviceRef, { name: "users" });
  assert.equal(value?.spec?.name, "");
});

const refused = [
  [
    "a reference to an entity without a resource",
    { service: { id: UNKNOWN } },
    "service",
    "there is no resource for this Service",
  ],
  [
    "references to entities in two namespaces",
    { service: { id: SERVICE }, consumer: { id: CONSUMER } },
    "consumer",
    "the Consumer is in the namespace home, but this resource must be in team",
  ],
] as const;
for (const [what, references, member, message] of refused) {
  test(`toResource refuses ${what}`, () => {
    const plugin = entity("plugins", { name: "rate-limiting", config: { minute: 1 }, ...references });
    assert.deepEqual(toResource("plugins", plugin, writing).violations, [{ path: [member], message }]);
  });
}

test("an update keeps the name, class and keys of the resource, and its backendRef unless the host changes", () => {
  const backendRef = { name: "users", port: 4000 };
  const previous = exampleResource("Service", { class: "other", backendRef, retries: 1 });
  const [item] = translateToEntities(previous, exampleOptions);
  const changed = { ...(item?.entity as CheckedEntity<"services">), retries: 5 };
  const { value } = toResource("services", changed, { ...writing, previous });
  assert.equal(value?.metadata.name, "mine");
  assert.deepEqual(value?.spec, { name: "mine", id: changed.id, class: "other", retries: 5, backendRef });

  const moved = toResource("services", { ...changed, host: "elsewhere", port: 80 }, { ...writing, previous });
  assert.equal(moved.value?.spec?.backendRef, undefined);
  assert.equal(moved.value?.spec?.host, "elsewhere");

  const keyAuth = [{ secretRef: { name: "keys", key: "good" } }];
  const consumer = exampleResource("Consumer", { username: "demo", keyAuth });
  const renamed = entity("consumers", { username: "demonstration", id: CONSUMER });
  const written = toResource("consumers", renamed, { ...writing, previous: consumer });
  assert.deepEqual(written.value?.spec, { id: CONSUMER, username: "demonstration", keyAuth });
});

test("an update of an Upstream keeps its backendRefs, whatever changes", () => {
  const backendRefs = [{ name: "users", port: 4000, weight: 90 }];
  const previous = exampleResource("Upstream", { name: "users.internal", backendRefs });
  const [item] = translateToEntities(previous, exampleOptions);
  const changed = { ...(item?.entity as CheckedEntity<"upstreams">), algorithm: "latency" as const, host_header: "a" };
  const { value } = toResource("upstreams", changed, { ...writing, previous });
  const { name, id } = changed;
  assert.deepEqual(value?.spec, { name, id, algorithm: "latency", hostHeader: "a", backendRefs });
});

const urls = [
  ["http://a/b/", { retries: 2 }, "http://a/b/"],
  ["HTTPS://a:443", { retries: 2 }, "HTTPS://a:443"],
  ["http://a", { port: 8080 }, "http://a:8080"],
  ["http://a:80/b", { protocol: "https", port: 443 }, "https://a/b"],
  ["https://a/b", { host: "::1", path: null }, "https://[::1]"],
] as const;
for (const [url, change, expected] of urls) {
  test(`an update of a Service with the url ${url} by ${JSON.stringify(change)} writes the url ${expected}`, () => {
    const previous = exampleResource("Service", { url });
    const [item] = translateToEntities(previous, exampleOptions);
    const changed = { ...(item?.entity as CheckedEntity<"services">), ...change };
    const { value } = toResource("services", changed, { ...writing, previous });
    const { url: written, host, port, protocol, path } = value?.spec ?? {};
    assert.deepEqual([written, host, port, protocol, path], [expected, undefined, undefined, undefined, undefined]);
  });
}

test("an update leaves passwords in their Secrets unless it sets a password", () => {
  const configFrom = [{ path: "redis.password", secretRef: { name: "keys", key: "good" } }];
  const config = { minute: 1, policy: "redis", redis: { host: "r" } };
  const previous = exampleResource("Plugin", { plugin: "rate-limiting", config, configFrom });
  const [item] = translateToEntities(previous, { ...exampleOptions, audience: "admin" });
  const read = item?.entity as CheckedEntity<"plugins">;
  assert.deepEqual(toResource("plugins", read, { ...writing, previous }).value?.spec?.configFrom, configFrom);
  const set = { ...read, config: { ...config, redis: { host: "r", password: "new" } } };
  const { value } = toResource("plugins", set, { ...writing, previous });
  assert.equal(value?.spec?.configFrom, undefined);
  assert.deepEqual(value?.spec?.config, set.config);
});

const names = [
  ["users", /^users-[0-9a-f]{10}$/],
  ["Users API/v2", /^users-api-v2-[0-9a-f]{10}$/],
  ["日本", /^x-[0-9a-f]{10}$/],
  ["-".repeat(300), /^x-[0-9a-f]{10}$/],
  ["a".repeat(300), /^a{48}-[0-9a-f]{10}$/],
] as const;
for (const [name, expected] of names) {
  test(`a resource for ${name.slice(0, 20)} has a name that Kubernetes accepts`, () => {
    assert.match(resourceName(name), expected);
    assert.ok(resourceName(name).length <= 63);
  });
}

test("an entity name always results in the same resource name, and similar entity names result in different ones", () => {
  assert.equal(resourceName("users"), resourceName("users"));
  assert.notEqual(resourceName("users"), resourceName("Users"));
});

test("the resource of a plugin without an instance name is named after the plugin and its id", () => {
  const plugin = entity("plugins", { name: "key-auth" });
  assert.equal(toResource("plugins", plugin, writing).value?.metadata.name, resourceName(plugin.id, "key-auth"));
});

test("an upstream's resource contains its targets with their ids, and an annotation with the times of targets that differ from the upstream's", () => {
  const upstream = entity("upstreams", { name: "users.internal" });
  const member = { upstream: { id: upstream.id } };
  const targets = [
    entity("targets", { ...member, target: "a:80" }),
    { ...entity("targets", { ...member, target: "b:80", weight: 5 }), created_at: 1.5 },
  ];
  const { value } = toResource("upstreams", upstream, { ...writing, children: { targets } });
  assert.equal(value?.metadata.name, resourceName("users.internal"));
  assert.deepEqual(value?.spec, {
    name: "users.internal",
    id: upstream.id,
    targets: [
      { id: targets[0]?.id, target: "a:80" },
      { id: targets[1]?.id, target: "b:80", weight: 5 },
    ],
  });
  assert.deepEqual(JSON.parse(value?.metadata.annotations?.["sluice.dev/child-times"] ?? ""), {
    [targets[1]?.id ?? ""]: [1.5, 1_700_000_000],
  });
});

test("a certificate's Secret has the type kubernetes.io/tls, and the certificate refers to it", () => {
  const certificate = entity("certificates", { ...firstKeyPair, id: CERTIFICATE });
  const { secret, secretRef } = certificateSecret(certificate, { namespace: "home" });
  assert.equal(secret.type, "kubernetes.io/tls");
  assert.deepEqual(Object.keys(secret.data ?? {}), ["tls.crt", "tls.key"]);
  const { value } = toResource("certificates", certificate, { ...writing, secretRef });
  assert.deepEqual(value?.spec, { id: CERTIFICATE, secretRef: { name: secret.metadata.name } });
  assert.match(value?.metadata.name ?? "", /^certificate-[0-9a-f]{10}$/);
});

test("services and upstreams refer to their client certificate, which must have a resource", () => {
  const client_certificate = { id: CERTIFICATE };
  const service = entity("services", { url: "https://users", client_certificate });
  assert.deepEqual(toResource("services", service, writing).value?.spec?.clientCertificateRef, { name: "web" });
  const upstream = entity("upstreams", { name: "u", client_certificate: { id: UNKNOWN } });
  assert.deepEqual(toResource("upstreams", upstream, writing).violations, [
    { path: ["client_certificate"], message: "there is no resource for this Certificate" },
  ]);
});

test("the Secret of a credential has the credential label and the key, and secretRef names the Secret and its entry", () => {
  const credential = entity("keyauth_credentials", { id: ROUTE, consumer: { id: CONSUMER }, key: "demo-key", ttl: 5 });
  const made = credentialSecret("keyauth_credentials", credential, { namespace: "home" });
  assert.deepEqual(made?.secret.metadata.labels, { "sluice.dev/credential": "key-auth" });
  assert.equal(Buffer.from(made.secret.data?.key ?? "", "base64").toString(), "demo-key");
  assert.deepEqual(made.secretRef, { name: made.secret.metadata.name, key: "key" });
});

test("credentialSecret returns null for a credential without a key", () => {
  const credential = { ...entity("keyauth_credentials", { consumer: { id: CONSUMER }, key: "k" }), key: null };
  assert.equal(credentialSecret("keyauth_credentials", credential, { namespace: "home" }), null);
});

test("the time of a resource's last change is the latest of its annotation and of writes to more than the status; with the annotation, writes of sluice-admin do not count", () => {
  const metadata: Resource["metadata"] = {
    name: "mine",
    namespace: "home",
    creationTimestamp: "2026-01-01T00:00:00Z",
    annotations: { "sluice.dev/created-at": "12", "sluice.dev/updated-at": "1767225601" },
    managedFields: [
      { manager: "kubectl", time: "2026-01-01T00:00:05Z" },
      { manager: "sluice-operator", subresource: "status", time: "2026-02-01T00:00:00Z" },
    ],
  };
  assert.equal(createdAt(metadata), 12);
  assert.equal(updatedAt(metadata), Date.parse("2026-01-01T00:00:05Z") / 1000);
  assert.equal(updatedAt({ ...metadata, managedFields: [] }), 1_767_225_601);
  const byAdmin = [{ manager: "sluice-admin", time: "2026-03-01T00:00:00Z" }];
  assert.equal(
    updatedAt({ ...metadata, managedFields: byAdmin }),
    1_767_225_601,
    "writes of sluice-admin are ignored if the annotation exists",
  );
  assert.equal(updatedAt({ ...metadata, annotations: {}, managedFields: byAdmin }), 1_772_323_200);
  assert.equal(updatedAt({ name: "mine", namespace: "home" }), undefined);
});

test("headers from Secrets stay in the resource, unless the entity has a header with the same name", () => {
  const kept = { name: "X-Secret", secretRef: { name: "keys", key: "good" } };
  const before = [kept, { name: "X-Zone", value: "blue" }];
  const written = (upstream_headers: object[] | null) => {
    const service = entity("services", { name: "users", host: "users", upstream_headers });
    const previous = exampleResource("Service", { name: "users", host: "users", upstreamHeaders: before });
    return toResource("services", service, { ...writing, previous }).value?.spec?.upstreamHeaders;
  };
  const zone = { name: "X-Zone", value: "red" };
  const own = { name: "x-secret", value: "in-clear" };
  assert.deepEqual(written([zone]), [kept, zone]);
  assert.deepEqual(written(null), [kept]);
  assert.deepEqual(written([own]), [own]);
});
