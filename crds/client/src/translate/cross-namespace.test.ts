/** References across namespaces. Reading ReferenceGrants is the operator's task. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceKind } from "@sluice/model";
import {
  CERTIFICATE,
  CONSUMER,
  consumerWithKey,
  exampleResource,
  exampleOptions as home,
  ROUTE,
  SERVICE,
  UPSTREAM,
} from "./testing-example.ts";
import { toResource } from "./to-resource/to-resource.ts";
import { describeResourceViolation, translateToEntities } from "./translate.ts";
import type { CrossNamespaceReference, TranslateOptions } from "./translation.ts";

const within = { namespace: "home" };
const web = { ...within, name: "web" };
const redis = { plugin: "rate-limiting", config: { minute: 5, policy: "redis", redis: { host: "redis.test" } } };
const password = { path: "redis.password", secretRef: { ...within, name: "keys", key: "good" } };

/**
 * The kind and spec of a resource in the namespace `away` with a reference to the namespace `home`; the path of the
 * reference; the kind of the reference's target.
 */
const cases: readonly (readonly [ResourceKind, object, string, CrossNamespaceReference["to"]["kind"]])[] = [
  ["Route", { paths: ["/a"], serviceRef: { ...within, name: "users" } }, "spec.serviceRef", "Service"],
  ["Service", { backendRef: { ...within, name: "users", port: 4000 } }, "spec.backendRef", "CoreService"],
  ["Upstream", { backendRefs: [{ ...within, name: "users", port: 4000 }] }, "spec.backendRefs[0]", "CoreService"],
  ["Service", { url: "https://a.test", clientCertificateRef: web }, "spec.clientCertificateRef", "Certificate"],
  ["Upstream", { clientCertificateRef: web }, "spec.clientCertificateRef", "Certificate"],
  ["Certificate", { secretRef: { ...within, name: "tls" } }, "spec.secretRef", "Secret"],
  [
    "Consumer",
    { username: "demo", keyAuth: [{ secretRef: { ...within, name: "keys", key: "good" } }] },
    "spec.keyAuth[0].secretRef",
    "Secret",
  ],
  [
    "Plugin",
    { plugin: "key-auth", targetRefs: [{ ...within, kind: "Service", name: "users" }] },
    "spec.targetRefs[0]",
    "Service",
  ],
  [
    "Plugin",
    { plugin: "key-auth", targetRefs: [{ ...within, kind: "Route", name: "users" }] },
    "spec.targetRefs[0]",
    "Route",
  ],
  [
    "Plugin",
    { plugin: "rate-limiting", config: { minute: 5 }, targetRefs: [{ ...within, kind: "Consumer", name: "demo" }] },
    "spec.targetRefs[0]",
    "Consumer",
  ],
  [
    "Plugin",
    { ...redis, targetRefs: [{ ...within, kind: "Service", name: "users" }], configFrom: [password] },
    "spec.configFrom[0].secretRef",
    "Secret",
  ],
];

/** Options that allow the references for which `allows` returns true, and a record of the lookups. */
function asking(allows: (crossing: CrossNamespaceReference) => boolean) {
  const looked: string[] = [];
  const options: TranslateOptions = {
    ...home,
    isReferenceAllowed: allows,
    resolve(kind, namespace, name) {
      looked.push(`${kind} ${namespace}`);
      return namespace === "home" ? home.resolve(kind, namespace, name) : undefined;
    },
    read(kind, namespace, name) {
      looked.push(`${kind} ${namespace}`);
      return namespace === "home" ? home.read(kind, namespace, name) : undefined;
    },
  };
  return { options, looked };
}

for (const [kind, spec, place, to] of cases) {
  test(`a cross-namespace reference (${kind} to ${to}) is resolved if it is allowed`, () => {
    const asked: CrossNamespaceReference[] = [];
    const { options } = asking((crossing) => {
      asked.push(crossing);
      return true;
    });
    const translated = translateToEntities(exampleResource(kind, spec, "away"), options);
    assert.deepEqual(
      translated.flatMap(({ violations }) => violations.map(describeResourceViolation)),
      [],
    );
    const crossing = asked.find((one) => one.to.kind === to);
    assert.deepEqual([crossing?.from, crossing?.to.namespace], [{ kind, namespace: "away" }, "home"]);
    for (const { references: refersTo = [] } of translated)
      assert.ok(refersTo.every(({ namespace }) => namespace === "home"));
  });

  test(`a cross-namespace reference (${kind} to ${to}) that is not allowed is an error, and its target is not looked up`, () => {
    const { options, looked } = asking((crossing) => crossing.to.kind !== to);
    const translated = translateToEntities(exampleResource(kind, spec, "away"), options);
    const [fault, ...others] = translated.flatMap(({ violations }) => violations);
    assert.ok(fault);
    assert.deepEqual([others, fault.condition, fault.reason], [[], "ResolvedRefs", "RefNotPermitted"]);
    const message = describeResourceViolation(fault);
    assert.ok(
      message.startsWith(`${place}: the namespace home does not allow a ${kind} of the namespace away`),
      message,
    );
    assert.match(
      message,
      /ReferenceGrant there \(gateway\.networking\.k8s\.io\/v1beta1, whose CRD has to be installed\)/,
    );
    assert.ok(!looked.includes(`${to} home`));
    assert.ok(translated.every(({ references: refersTo = [] }) => refersTo.every((one) => one.kind !== to)));
  });
}

test("a plugin with a reference that is not allowed has no entity, and its item keeps unresolved references, so that its scope never widens", () => {
  const { options } = asking(() => false);
  const targetRefs = [
    { ...within, kind: "Service", name: "users" },
    { kind: "Route", name: "own" },
  ];
  const [plugin] = translateToEntities(exampleResource("Plugin", { plugin: "key-auth", targetRefs }, "away"), options);
  assert.deepEqual([plugin?.item.service, plugin?.item.route, plugin?.entity], [{}, {}, undefined]);
});

test("a reference to the resource's own namespace is not a cross-namespace reference", () => {
  const { options } = asking(() => false);
  const [route] = translateToEntities(
    exampleResource("Route", { paths: ["/a"], serviceRef: { ...within, name: "users" } }),
    options,
  );
  assert.deepEqual(route?.item.service, { id: SERVICE });
  assert.ok(route?.entity);
});

test("a key is valid for routes of its Consumer's namespace and of the namespaces that are open to that namespace; a key of a Consumer in the home namespace, for all routes", () => {
  const scopeOf = (namespace: string) => {
    const options = { ...home, namespacesOpenTo: (of: string) => (of === "away" ? ["bank", "shop"] : []) };
    const [, key] = translateToEntities(exampleResource("Consumer", consumerWithKey("good"), namespace), options);
    return (key?.item._sluice as { namespaces?: readonly string[] } | undefined)?.namespaces;
  };
  assert.deepEqual(scopeOf("away"), ["away", "bank", "shop"]);
  assert.deepEqual(scopeOf("other"), ["other"]);
  assert.equal(scopeOf("home"), undefined);
});

const ids: Readonly<Record<string, string>> = {
  [SERVICE]: "users",
  [ROUTE]: "users",
  [CONSUMER]: "demo",
  [CERTIFICATE]: "web",
  [UPSTREAM]: "up",
};
for (const [kind, spec, , to] of cases.filter(([, , , to]) => to !== "Secret" && to !== "CoreService"))
  test(`writing a resource through its entity keeps a cross-namespace reference (${kind} to ${to})`, () => {
    const { options } = asking(() => true);
    const previous = exampleResource(kind, spec, "away");
    const [translated] = translateToEntities(previous, { ...options, audience: "admin" });
    assert.ok(translated?.entity);
    const collection = translated.collection as "routes";
    const { value, violations } = toResource(collection, translated.entity as never, {
      namespace: "home",
      locate: (_, id) => ({ namespace: "home", name: ids[id] ?? "missing" }),
      previous,
    });
    const { id: _id, name: _name, ...written } = value?.spec ?? {};
    assert.deepEqual([written, violations, value?.metadata.namespace], [spec, undefined, "away"]);
  });

test("writing a Service through its entity keeps its backendRef to another namespace", () => {
  const { options } = asking(() => true);
  const spec = { backendRef: { ...within, name: "users", port: 4000 } };
  const previous = exampleResource("Service", spec, "away");
  const [translated] = translateToEntities(previous, { ...options, audience: "admin" });
  const { value } = toResource("services", translated?.entity as never, {
    namespace: "home",
    locate: () => undefined,
    previous,
  });
  assert.deepEqual([value?.spec?.backendRef, value?.spec?.host], [spec.backendRef, undefined]);
});
