import assert from "node:assert/strict";
import { test } from "node:test";
import type { DerivedResource, Resource } from "@sluice/crds";
import fc from "fast-check";
import { watchedKinds } from "../watch/cluster-state.ts";
import { derivedIn, deriveScene } from "./testing-derive-stage.ts";

interface IngressOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly hosts?: readonly string[];
  readonly path?: string;
  readonly port?: object;
  readonly secretName?: string;
  readonly className?: string;
}

function ingress(name: string, options: IngressOptions = {}): Resource {
  const { annotations = {}, hosts = ["a.test"], path = "/", port = { number: 80 }, secretName } = options;
  const backend = { service: { name: "web", port } };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name, namespace: "shop", uid: name, creationTimestamp: "2026-01-01T00:00:00Z", annotations },
    spec: {
      ingressClassName: options.className ?? "sluice",
      rules: hosts.map((host) => ({ host, http: { paths: [{ path, pathType: "Prefix", backend }] } })),
      ...(secretName !== undefined && { tls: [{ hosts, secretName }] }),
    },
  };
}

const service = (ports: readonly object[]): Resource => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop", uid: "web" },
  spec: { ports },
});

const ingressClass = (name: string, controller: string): Resource => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "IngressClass",
  metadata: { name, uid: name } as Resource["metadata"],
  spec: { controller },
});

const ALIAS = { "nginx.ingress.kubernetes.io/server-alias": "b.test" };
const REGEX = { "nginx.ingress.kubernetes.io/use-regex": "true" };

test("only the derived resources that differ are reported as changed", () => {
  const { apply, reported } = deriveScene();
  apply([ingress("one", { hosts: ["a.test", "b.test"] })]);
  assert.deepEqual(reported(), [
    "Ingress/shop/one",
    "Route/shop/ingress~one~a.test~prefix~",
    "Route/shop/ingress~one~b.test~prefix~",
    "Service/shop/ingress~one~service~web~80",
  ]);
  apply([ingress("one", { hosts: ["a.test", "c.test"] })]);
  assert.deepEqual(reported(), [
    "Ingress/shop/one",
    "Route/shop/ingress~one~b.test~prefix~",
    "Route/shop/ingress~one~c.test~prefix~",
  ]);
  apply([ingress("one", { hosts: ["a.test", "c.test"] })]);
  assert.deepEqual(reported(), ["Ingress/shop/one"]);
});

test("an alias is served until another Ingress has a rule for it", () => {
  const { apply, derive } = deriveScene();
  const isServed = () => derive.clusterState.Route.has("shop/ingress~one~b.test~prefix~");
  const other = ingress("two", { hosts: ["b.test"] });
  apply([ingress("one", { annotations: ALIAS })]);
  assert.ok(isServed());
  apply([other]);
  assert.ok(!isServed());
  apply([ingress("two", { hosts: ["b.test"], annotations: CANARY })]);
  assert.ok(isServed());
  apply([other], { gone: true });
  assert.ok(isServed());
});

test("a status write derives nothing again", () => {
  const { apply, derive } = deriveScene();
  apply([ingress("one")]);
  const before = derive.clusterState.Route.get("shop/ingress~one~a.test~prefix~");
  apply([{ ...ingress("one", { path: "/other" }), status: {} }], { isMeaningful: false });
  assert.equal(derive.clusterState.Route.get("shop/ingress~one~a.test~prefix~"), before);
});

test("a named port is followed through changes of the core Service", () => {
  const { apply, derive } = deriveScene();
  const backend = () => {
    const route = derive.clusterState.Route.get("shop/ingress~one~a.test~prefix~");
    const service = (route?.spec?.serviceRef as { name: string } | undefined)?.name;
    return derive.clusterState.Service.get(`shop/${service}`)?.spec?.backendRef;
  };
  apply([ingress("one", { port: { name: "http" } })]);
  assert.equal(backend(), undefined);
  apply([service([{ name: "http", port: 80 }])]);
  assert.deepEqual(backend(), { name: "web", port: 80 });
  apply([service([{ name: "http", port: 8080 }])]);
  assert.deepEqual(backend(), { name: "web", port: 8080 });
});

test("one Certificate has the hosts of all Ingresses that name its Secret, and they are its sources", () => {
  const { apply, derive } = deriveScene();
  const owner = { kind: "Certificate", namespace: "shop", name: "ingress-tls~cert" } as const;
  const names = () => {
    const snis = derive.clusterState.Certificate.get("shop/ingress-tls~cert")?.spec?.snis;
    return snis && (snis as readonly { name: string }[]).map(({ name }) => name);
  };
  const [one, two] = [
    ingress("one", { secretName: "cert" }),
    ingress("two", { hosts: ["b.test"], secretName: "cert" }),
  ];
  apply([two, one]);
  assert.deepEqual(names(), ["a.test", "b.test"]);
  assert.deepEqual(
    derive.sourcesOf(owner).map(({ name }) => name),
    ["one", "two"],
  );
  apply([one], { gone: true });
  assert.deepEqual(names(), ["b.test"]);
  apply([two], { gone: true });
  assert.equal(names(), undefined);
});

const HEADERS = { "nginx.ingress.kubernetes.io/custom-headers": "shop/headers" };

test("an object that an annotation names is followed while an Ingress names it", () => {
  const { apply, derive, observers } = deriveScene();
  const watched = "ConfigMap shop metadata.name=headers";
  const configMap = (data: Record<string, string>): Resource => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "headers", namespace: "shop" },
    data,
  });
  const added = () => {
    const config = derive.clusterState.Plugin.get("shop/ingress~one~a.test~prefix~~response-transformer")?.spec?.config;
    return (config as { add: { headers: readonly string[] } } | undefined)?.add.headers;
  };
  const problems = () => derive.ingress.problemsOf("shop/one").map(({ message }) => message);

  apply([ingress("one", { annotations: HEADERS }), ingress("two", { annotations: HEADERS })]);
  assert.deepEqual(derive.unsynced(), ["ConfigMap/shop/headers"]);
  observers.get(watched)?.replaced([configMap({ "X-Frame-Options": "DENY" })]);
  assert.deepEqual([derive.unsynced(), added(), problems()], [[], ["X-Frame-Options:DENY"], []]);

  observers.get(watched)?.changed(configMap({ "X-Frame-Options": "SAMEORIGIN" }));
  assert.deepEqual(added(), ["X-Frame-Options:SAMEORIGIN"]);

  observers.get(watched)?.removed(configMap({}));
  assert.match(problems().join(), /custom-headers\]: the ConfigMap headers of the namespace shop does not exist, or/);

  apply([ingress("one")]);
  assert.equal(observers.has(watched), true, "the other Ingress names it");
  apply([ingress("two")], { gone: true });
  assert.equal(observers.has(watched), false);
});

test("an Ingress whose problems have changed is reported although only an object that it names has changed", () => {
  const { apply, observers, reported } = deriveScene();
  apply([ingress("one", { annotations: HEADERS })]);
  const configMap: Resource = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "headers", namespace: "shop" },
    data: { "X-Frame-Options": "DENY" },
  };
  observers.get("ConfigMap shop metadata.name=headers")?.replaced([configMap]);
  observers.get("ConfigMap shop metadata.name=headers")?.removed(configMap);
  assert.ok(reported()?.includes("Ingress/shop/one"));
});

test("objects are awaited at the start; later an Ingress that names an object stays as it was until this is read", () => {
  const { apply, derive, observers } = deriveScene();
  const route = () => derive.clusterState.Route.get("shop/ingress~one~a.test~prefix~");
  const extras = () => (route() as Partial<DerivedResource> | undefined)?.derived?.extras;
  apply([ingress("one", { annotations: HEADERS })]);
  assert.deepEqual(derive.unsynced(), ["ConfigMap/shop/headers"]);
  observers.get("ConfigMap shop metadata.name=headers")?.replaced([]);
  assert.deepEqual(derive.unsynced(), []);
  assert.match(extras()?.unavailable ?? "", /the ConfigMap headers/);

  apply([ingress("one")]);
  const before = route();
  assert.equal(extras()?.unavailable, undefined);
  apply([ingress("one", { annotations: HEADERS })]);
  assert.deepEqual([derive.unsynced(), route()], [[], before]);
  observers.get("ConfigMap shop metadata.name=headers")?.replaced([]);
  assert.match(extras()?.unavailable ?? "", /the ConfigMap headers/);
});

const AUTHORITIES = "nginx.ingress.kubernetes.io/auth-tls-secret";

test("the Secret for client certificates of one Ingress counts for all Ingresses with the host", () => {
  const { apply, derive, observers } = deriveScene();
  const trusted = () => {
    const config = derive.clusterState.Plugin.get("shop/ingress~two~a.test~prefix~~mtls-auth")?.spec?.config;
    return (config as { trusted_certificates: string } | undefined)?.trusted_certificates;
  };
  const secret = (text: string): Resource => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "clients", namespace: "shop" },
    data: { "ca.crt": Buffer.from(text).toString("base64") },
  });
  apply([ingress("one", { annotations: { [AUTHORITIES]: "clients" } }), ingress("two")]);
  const observer = () => observers.get("Secret shop metadata.name=clients");
  observer()?.replaced([secret("first")]);
  assert.equal(trusted(), "first");
  observer()?.changed(secret("second"));
  assert.equal(trusted(), "second");
  apply([ingress("one")]);
  assert.deepEqual([trusted(), observer()], [undefined, undefined]);
});

test("TLS of one Ingress redirects the plain http requests of all Ingresses with the host", () => {
  const { apply, derive } = deriveScene();
  const protocols = () => derive.clusterState.Route.get("shop/ingress~one~a.test~prefix~")?.spec?.protocols;
  apply([ingress("one")]);
  assert.deepEqual(protocols(), ["http", "https"]);
  for (const host of ["a.test", "*.test"]) {
    const other = ingress("two", { hosts: [host], path: "/other", secretName: "cert" });
    apply([other]);
    assert.deepEqual(protocols(), ["https"], host);
    apply([other], { gone: true });
    assert.deepEqual(protocols(), ["http", "https"], host);
  }
});

test("a deleted IngressClass counts for 30 s, so that it can be replaced without an interruption", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { apply, derive } = deriveScene();
  const isServed = () => derive.clusterState.Route.has("shop/ingress~one~a.test~prefix~");
  const [ours, theirs] = [
    ingressClass("web", "sluice.dev/ingress-controller"),
    ingressClass("web", "example.com/other"),
  ];
  apply([ours, ingress("one", { className: "web" })]);
  apply([ours], { gone: true });
  assert.equal(isServed(), true);
  t.mock.timers.tick(29_999);
  apply([ours]);
  t.mock.timers.tick(30_000);
  assert.equal(isServed(), true, "it was replaced in time");
  apply([ours], { gone: true });
  apply([theirs]);
  assert.equal(isServed(), false, "another controller has the new class");
  apply([ours]);
  apply([ours], { gone: true });
  t.mock.timers.tick(30_000);
  assert.equal(isServed(), false);
});

for (const rules of [[null], [{ host: 5 }], "none", [{ http: { paths: [{ path: 1 }] } }]])
  test(`an Ingress in a directory with the rules ${JSON.stringify(rules)} is left out, and others are served`, () => {
    const { apply, derive } = deriveScene();
    const broken = { ...ingress("broken"), spec: { ingressClassName: "sluice", rules } };
    apply([broken, ingress("one")]);
    assert.deepEqual([...derive.ingress.ingresses.keys()], ["shop/one"]);
    assert.ok(derive.clusterState.Route.has("shop/ingress~one~a.test~prefix~"));
  });

const CANARY = { "nginx.ingress.kubernetes.io/canary": "true", "nginx.ingress.kubernetes.io/canary-weight": "10" };

test("the redirect of a www host ends when the host gets an Ingress, even if a canary had the host before", () => {
  const { apply, derive } = deriveScene();
  const annotations = { "nginx.ingress.kubernetes.io/from-to-www-redirect": "true" };
  apply([ingress("one", { annotations })]);
  apply([ingress("two", { hosts: ["www.a.test"], annotations: CANARY })]);
  apply([ingress("three", { hosts: ["www.a.test"] })]);
  assert.equal(derive.clusterState.Route.has("shop/ingress~one~www.a.test~www"), false);
});

const arbitraryIngress = fc
  .record({
    name: fc.constantFrom("one", "two", "three"),
    hosts: fc.uniqueArray(fc.constantFrom("a.test", "b.test", "www.a.test"), { maxLength: 2 }),
    path: fc.constantFrom("/", "/x", "/y(.*)"),
    port: fc.constantFrom({ number: 80 }, { name: "http" }),
    annotations: fc.constantFrom(
      {},
      REGEX,
      { "nginx.ingress.kubernetes.io/from-to-www-redirect": "true" },
      CANARY,
      ALIAS,
      { ...REGEX, ...ALIAS },
      // The host is closed, for all Ingresses.
      { [AUTHORITIES]: "not/a/name" },
    ),
    secretName: fc.constantFrom(undefined, "cert", "other"),
    className: fc.constantFrom("sluice", "nginx", "web"),
  })
  .map(({ name, secretName, ...options }) => ingress(name, { ...options, ...(secretName && { secretName }) }));

const arbitraryStep = fc.record({
  resource: fc.oneof(
    { weight: 6, arbitrary: arbitraryIngress },
    fc.constantFrom(service([]), service([{ name: "http", port: 80 }])),
    fc.constantFrom(ingressClass("web", "sluice.dev/ingress-controller"), ingressClass("web", "example.com/other")),
  ),
  gone: fc.boolean(),
});

test("after any changes, the derived resources are those of a stage that reads everything at once", () => {
  fc.assert(
    fc.property(fc.array(arbitraryStep, { maxLength: 25 }), (steps) => {
      const { apply, derive, clusterState } = deriveScene();
      // A deleted IngressClass counts for a moment.
      for (const { resource, gone } of steps) apply([resource], { gone: gone && resource.kind !== "IngressClass" });
      const fresh = deriveScene();
      fresh.apply(watchedKinds.flatMap((kind) => [...clusterState[kind].values()]));
      assert.deepEqual(derivedIn(derive.clusterState), derivedIn(fresh.derive.clusterState));
      for (const key of clusterState.Ingress.keys())
        assert.deepEqual(derive.ingress.problemsOf(key), fresh.derive.ingress.problemsOf(key));
    }),
  );
});
