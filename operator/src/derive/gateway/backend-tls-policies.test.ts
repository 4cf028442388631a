import assert from "node:assert/strict";
import { test } from "node:test";
import { backendTlsStatus, type DerivedResource, type Resource, routeStatus } from "@sluice/crds";
import { firstKeyPair } from "../../../../tools/programs/pairs.ts";
import { deriveScene } from "../testing-derive-stage.ts";
import { backendTlsPolicy, policyStatus } from "./testing-policies.ts";

const resource = (apiVersion: string, kind: string, name: string, more: Partial<Resource>): Resource => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "shop", uid: `${kind} ${name}`, creationTimestamp: "2026-01-01T00:00:00Z" },
  ...more,
});

const API = "gateway.networking.k8s.io/v1";

const gateway = resource(API, "Gateway", "one", {
  spec: { gatewayClassName: "sluice", listeners: [{ name: "web", port: 80, protocol: "HTTP" }] },
});

/** An HTTPRoute with one backend. */
const routeTo = (name: string): Resource =>
  resource(API, "HTTPRoute", "a", {
    spec: { parentRefs: [{ name: "one" }], rules: [{ backendRefs: [{ name, port: 80 }] }] },
  });

const web = resource("v1", "Service", "web", { spec: { ports: [{ name: "http", port: 80 }] } });

/** The protocol and the server name of the Service for the first rule of the route `a`. */
function tlsOf({ clusterState }: ReturnType<typeof deriveScene>["derive"]): readonly unknown[] {
  const { spec, derived } = (clusterState.Service.get("shop/http-route~a~000") ?? {}) as Partial<DerivedResource>;
  return [spec?.protocol, derived?.extras?.tls?.server_name];
}

test("the oldest BackendTLSPolicy applies to a backend, before it one for the port, and the status names the Gateways", () => {
  const { apply, derive, reported } = deriveScene();
  apply([gateway, routeTo("web"), web]);
  assert.deepEqual(tlsOf(derive), ["http", undefined]);
  const younger = backendTlsPolicy("a-younger", { created: "2026-02-01T00:00:00Z" });
  apply([younger]);
  assert.deepEqual(tlsOf(derive), ["https", "a-younger.test"]);
  assert.deepEqual(policyStatus(derive, "a-younger"), ["one, True Accepted, True ResolvedRefs"]);
  apply([backendTlsPolicy("older")]);
  assert.deepEqual(tlsOf(derive), ["https", "older.test"]);
  assert.ok(reported()?.includes("BackendTLSPolicy/shop/a-younger"));
  assert.deepEqual(policyStatus(derive, "a-younger"), ["one, False Conflicted, True ResolvedRefs"]);
  apply([backendTlsPolicy("port", { sectionName: "http", created: "2026-03-01T00:00:00Z" })]);
  assert.deepEqual(tlsOf(derive), ["https", "port.test"]);
  assert.deepEqual(policyStatus(derive, "port"), ["one, True Accepted, True ResolvedRefs"]);
  apply([backendTlsPolicy("other", { sectionName: "none" })]);
  assert.deepEqual(policyStatus(derive, "other"), ["one, False TargetNotFound, True ResolvedRefs"]);
  apply([routeTo("other")]);
  assert.ok(reported()?.includes("BackendTLSPolicy/shop/port"));
  assert.deepEqual(policyStatus(derive, "port"), []);
});

const validation = { hostname: "bad.test", wellKnownCACertificates: "System" };
const toWeb = { group: "", kind: "Service", name: "web" };
const NONE = ["https", "good.test"];
const CLOSED = [undefined, undefined];

/** Specs that no CRD validates, and the resulting protocol and server name of the core Service `web`. */
const malformed: readonly (readonly [spec: object, expected: readonly unknown[]])[] = [
  [{ targetRefs: null, validation }, NONE],
  [{ targetRefs: {}, validation }, NONE],
  [{ targetRefs: [null], validation }, NONE],
  [{ targetRefs: toWeb, validation }, CLOSED],
  [{ targetRefs: [null, { ...toWeb, group: null, sectionName: null }], validation }, CLOSED],
  [{ targetRefs: [toWeb], validation: null }, CLOSED],
  [{ targetRefs: [toWeb], validation: { ...validation, hostname: 5 } }, CLOSED],
  [{ targetRefs: [toWeb], validation: { ...validation, subjectAltNames: [null] } }, CLOSED],
  [{ targetRefs: [toWeb], validation: { ...validation, caCertificateRefs: {} } }, CLOSED],
];

test("a BackendTLSPolicy of an unexpected shape closes its targets, and the others of its batch apply", () => {
  for (const [spec, expected] of malformed) {
    const { apply, derive } = deriveScene();
    const good = backendTlsPolicy("good", { created: "2026-02-01T00:00:00Z" });
    apply([gateway, routeTo("web"), web, { ...backendTlsPolicy("bad"), spec: { ...spec } }, good]);
    assert.deepEqual(tlsOf(derive), expected, JSON.stringify(spec));
    const isClosed = expected === CLOSED;
    assert.deepEqual(policyStatus(derive, "bad"), isClosed ? ["one, False Invalid, True ResolvedRefs"] : []);
    const reason = isClosed ? "False Conflicted" : "True Accepted";
    assert.deepEqual(policyStatus(derive, "good"), [`one, ${reason}, True ResolvedRefs`]);
  }
});

test("a UDP port with the number of a TCP port has no part in the choice of policies and protocols", () => {
  const { apply, derive } = deriveScene();
  const ports = [
    { name: "h3", port: 80, protocol: "UDP", appProtocol: "kubernetes.io/wss" },
    { name: "https", port: 80, protocol: "TCP" },
  ];
  apply([gateway, routeTo("web"), { ...web, spec: { ports } }]);
  assert.deepEqual(tlsOf(derive), ["http", undefined]);
  apply([backendTlsPolicy("p", { sectionName: "https" }), backendTlsPolicy("udp", { sectionName: "h3" })]);
  assert.deepEqual(tlsOf(derive), ["https", "p.test"]);
  assert.deepEqual(policyStatus(derive, "udp"), ["one, False TargetNotFound, True ResolvedRefs"]);
});

test("the status of a BackendTLSPolicy names the Gateways of routes that only mirror requests to its Service", () => {
  const { apply, derive, reported } = deriveScene();
  const mirror = [{ type: "RequestMirror", requestMirror: { backendRef: { name: "web", port: 80 } } }];
  const rules = {
    "of a rule": { filters: mirror, backendRefs: [{ name: "other", port: 80 }] },
    "of a backend": { backendRefs: [{ name: "other", port: 80, filters: mirror }] },
  };
  const other = resource("v1", "Service", "other", { spec: web.spec });
  apply([gateway, web, other, backendTlsPolicy("p")]);
  for (const [what, rule] of Object.entries(rules)) {
    const route = resource(API, "HTTPRoute", "a", { spec: { parentRefs: [{ name: "one" }], rules: [rule] } });
    apply([route]);
    assert.ok(reported()?.includes("BackendTLSPolicy/shop/p"), what);
    assert.deepEqual(policyStatus(derive, "p"), ["one, True Accepted, True ResolvedRefs"], what);
    apply([route], { gone: true });
    assert.ok(reported()?.includes("BackendTLSPolicy/shop/p"), what);
    assert.deepEqual(policyStatus(derive, "p"), [], what);
  }
});

/** The first line of a certificate that has no end. */
const LINE = "-----BEGIN CERTIFICATE-----\n";

test("a backend whose certificate authorities cannot be read gets no requests, and those of a changed policy are awaited", () => {
  const { apply, derive, observers, reported } = deriveScene();
  const certificates = (data: object): Resource => resource("v1", "ConfigMap", "ca", { data: { ...data } });
  apply([gateway, routeTo("web"), web, backendTlsPolicy("p", { authorities: "ca" })]);
  assert.deepEqual([tlsOf(derive), policyStatus(derive, "p")], [[undefined, undefined], []]);
  assert.deepEqual(derive.unsynced(), ["ConfigMap/shop/ca"]);
  const observer = observers.get("ConfigMap shop metadata.name=ca");
  observer?.replaced([]);
  assert.deepEqual(derive.unsynced(), []);
  assert.deepEqual(tlsOf(derive), [undefined, undefined]);
  assert.deepEqual(policyStatus(derive, "p"), ["one, False NoValidCACertificate, False InvalidCACertificateRef"]);
  assert.ok(reported()?.includes("BackendTLSPolicy/shop/p"));
  observer?.changed(certificates({ "ca.crt": `A root:\n${firstKeyPair.cert}` }));
  assert.deepEqual(tlsOf(derive), ["https", "p.test"]);
  for (const text of [LINE.repeat(2 ** 18 / LINE.length), `${"#".repeat(2 ** 18)}\n${firstKeyPair.cert}`]) {
    observer?.changed(certificates({ "ca.crt": text }));
    assert.deepEqual(policyStatus(derive, "p"), ["one, False NoValidCACertificate, False InvalidCACertificateRef"]);
  }
  observer?.changed(certificates({ "ca.crt": firstKeyPair.cert }));
  apply([backendTlsPolicy("p", { authorities: "other" })]);
  assert.deepEqual(tlsOf(derive), ["https", "p.test"], "the new ConfigMap has not been read");
  observers.get("ConfigMap shop metadata.name=other")?.replaced([certificates({ "ca.crt": "none" })]);
  assert.deepEqual(tlsOf(derive), [undefined, undefined]);
  assert.equal(observers.has("ConfigMap shop metadata.name=ca"), false);
});

test("the statuses that two installations write alternately stay the same after one write of each", () => {
  const { apply, derive } = deriveScene();
  const policy = backendTlsPolicy("p");
  apply([gateway, routeTo("web"), web, policy]);
  const facts = derive.gateway.backendTls.get("shop/p");
  const route = derive.gateway.routes.get("HTTPRoute/shop/a");
  assert.ok(facts && route);
  for (const statusOf of [
    (current: Resource, name: string) => backendTlsStatus(facts, current, { class: name }),
    (current: Resource, name: string) => routeStatus(route, current, { class: name, problems: [] }),
  ]) {
    const writes: object[] = [];
    for (const name of ["sluice", "other", "sluice", "other"])
      writes.push(statusOf({ ...policy, status: { ...writes.at(-1) } }, name));
    assert.deepEqual(writes.slice(2), [writes[1], writes[1]]);
    assert.equal(Object.values(writes[1] ?? {})[0].length, 2);
  }
});

test("of the entries of a status, an installation replaces its own in place, adds new ones at the end, and removes old ones", () => {
  const { apply, derive } = deriveScene();
  const ancestor = (name: string, controllerName = "sluice.dev/gateway-controller") => ({
    ancestorRef: { group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "shop", name },
    controllerName,
    conditions: [],
  });
  const status = { ancestors: [ancestor("gone"), ancestor("one"), ancestor("one", "example.com/other")] };
  const two = { ...gateway, metadata: { ...gateway.metadata, name: "two", uid: "two" } };
  const route = routeTo("web");
  const parentRefs = [{ name: "two" }, { name: "one" }];
  apply([gateway, two, { ...route, spec: { ...route.spec, parentRefs } }, web, { ...backendTlsPolicy("p"), status }]);
  assert.deepEqual(policyStatus(derive, "p"), [
    "one, True Accepted, True ResolvedRefs",
    "one",
    "two, True Accepted, True ResolvedRefs",
  ]);
});
