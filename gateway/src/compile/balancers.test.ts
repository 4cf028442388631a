import assert from "node:assert/strict";
import { test } from "node:test";
import type { CaCertificate, Certificate, Service, Target, Upstream, UpstreamEndpoint } from "@sluice/model";
import { balancingRequest, targetOf, upstreamNamed } from "../balance/testing.ts";
import type { WorkerServices } from "../plugin-services/instance-context.ts";
import { compile } from "./compile.ts";
import type { Runtime } from "./runtime.ts";
import { caCertificateOf, serviceNamed, snapshotOfEntities } from "./testing-entities.ts";

const tools = { plugins: new Map(), services: {} as WorkerServices };
const passive = { unhealthy: { tcp_failures: 1 } };
const pool = upstreamNamed("pool", { healthchecks: { passive } });
const other = upstreamNamed("other");
const [a, b, far] = [targetOf(pool, "10.0.0.1:80"), targetOf(pool, "10.0.0.2:80"), targetOf(other, "10.0.0.9:80")];
const service = serviceNamed("s", { host: "pool" });

interface Content {
  readonly upstreams?: readonly Upstream[];
  readonly targets?: readonly Target[];
  readonly services?: readonly Service[];
  readonly certificates?: readonly Certificate[];
  readonly caCertificates?: readonly CaCertificate[];
}

const full = { upstreams: [pool, other], targets: [a, b, far], services: [service] };
const runtimeOf = (content: Content, previous: Runtime | null = null) =>
  compile(previous, snapshotOfEntities({ ...full, ...content }), tools);
const upstreamOf = (runtime: Runtime) => {
  const upstream = runtime.upstreams.get(service.id);
  assert.ok(upstream);
  return upstream;
};
const hosts = (runtime: Runtime) => upstreamOf(runtime).targets.map(({ host, port }) => `${host}:${port}`);

test("a service whose host is an upstream's name sends requests to the upstream's targets, whatever the service's port", () => {
  assert.deepEqual(hosts(runtimeOf({})), ["10.0.0.1:80", "10.0.0.2:80"]);
  assert.deepEqual(hosts(runtimeOf({ targets: [] })), []);
  assert.deepEqual(hosts(runtimeOf({ upstreams: [] })), ["pool:80"]);
});

test("the endpoints of a core Service take precedence over an upstream with the service's host as its name", () => {
  const endpoints = new Map([[service.id, [{ address: "10.1.1.1", port: 81 }]]]);
  assert.deepEqual(hosts(compile(null, snapshotOfEntities({ ...full, endpoints }), tools)), ["10.1.1.1:81"]);
});

test("services and upstreams use the endpoints with hints for the zone of the node", () => {
  const [near, far] = [
    { address: "10.1.1.1", port: 81, zones: ["x"] },
    { address: "10.1.1.2", port: 81, zones: ["y"] },
  ];
  const balanced = new Map([[pool.id, [near, far].map((endpoint) => ({ ...endpoint, weight: 1 }))]]);
  const contents = [{ endpoints: new Map([[service.id, [near, far]]]) }, { targets: [], upstreamEndpoints: balanced }];
  for (const content of contents) {
    const snapshot = snapshotOfEntities({ ...full, ...content });
    assert.deepEqual(hosts(compile(null, snapshot, { ...tools, zone: "y" })), ["10.1.1.2:81"]);
    assert.deepEqual(hosts(compile(null, snapshot, tools)), ["10.1.1.1:81", "10.1.1.2:81"]);
  }
});

test("an upstream may get the name of another upstream that is renamed in the same change", () => {
  const old = runtimeOf({});
  assert.deepEqual(hosts(old), ["10.0.0.1:80", "10.0.0.2:80"]);
  const renamed = {
    upstreams: [
      { ...pool, name: "former" },
      { ...other, name: "pool" },
    ],
  };
  assert.deepEqual(hosts(runtimeOf(renamed, old)), ["10.0.0.9:80"]);
  assert.deepEqual(hosts(runtimeOf({ upstreams: renamed.upstreams.toReversed() }, old)), ["10.0.0.9:80"]);
});

test("a balancer is the same object as long as its upstream, its targets and its certificate are unchanged", () => {
  const old = runtimeOf({});
  const same = runtimeOf({ services: [service, serviceNamed("t")] }, old);
  assert.equal(same.balancers.get(pool.id), old.balancers.get(pool.id));
  assert.equal(upstreamOf(same), upstreamOf(old));
  const more = runtimeOf({ targets: [a, b, far, targetOf(pool, "10.0.0.3:80")] }, old);
  assert.notEqual(more.balancers.get(pool.id), old.balancers.get(pool.id));
  assert.notEqual(upstreamOf(more), upstreamOf(old));
  assert.equal(more.balancers.get(other.id), old.balancers.get(other.id));
});

test("changed and added targets do not reset the state of the targets that an upstream already has", () => {
  const old = runtimeOf({});
  assert.ok(old.balancers.get(pool.id)?.setHealth(a.id, null, false));
  const held = upstreamOf(old).attempts(balancingRequest());
  assert.equal(held.next()?.host, "10.0.0.2");
  const next = runtimeOf({ targets: [a, { ...b, weight: 7 }, targetOf(pool, "10.0.0.3:80")] }, old);
  const known = next.balancers.get(pool.id)?.entries.map(({ member, weight }) => ({
    fit: member.health.healthy,
    load: member.inFlight,
    weight,
  }));
  assert.deepEqual(known, [
    { fit: false, load: 0, weight: 100 },
    { fit: true, load: 1, weight: 7 },
    { fit: true, load: 0, weight: 100 },
  ]);
  held.endTry();
  assert.equal(next.balancers.get(pool.id)?.entries[1]?.member.inFlight, 0);
});

test("endpoints of an upstream's core Services are targets, and a change of them keeps the state of those that stay", () => {
  const one = { address: "10.1.0.1", port: 80, weight: 1 };
  const two = { address: "10.1.0.2", port: 81, weight: 1 };
  const snapshotWith = (...list: readonly UpstreamEndpoint[]) =>
    snapshotOfEntities({ ...full, targets: [a, far], upstreamEndpoints: new Map([[pool.id, list]]) });
  const old = compile(null, snapshotWith(one, two), tools);
  assert.deepEqual(hosts(old), ["10.0.0.1:80", "10.1.0.1:80", "10.1.0.2:81"]);
  assert.ok(old.balancers.get(pool.id)?.setHealth("10.1.0.2:81", null, false));
  const next = compile(old, snapshotWith({ ...two, weight: 2 }), tools);
  assert.deepEqual(hosts(next), ["10.0.0.1:80", "10.1.0.2:81"]);
  assert.deepEqual(
    next.balancers.get(pool.id)?.entries.map(({ member }) => member.health.healthy),
    [true, false],
  );
  assert.equal(next.balancers.get(other.id), old.balancers.get(other.id));
});

test("an upstream whose id is that of a service does not give the service its endpoints", () => {
  const twin = upstreamNamed("twin", { id: service.id });
  const upstreamEndpoints = new Map([[twin.id, [{ address: "10.1.0.1", port: 80, weight: 1 }]]]);
  const content = { ...full, upstreams: [pool, other, twin], upstreamEndpoints };
  assert.deepEqual(hosts(compile(null, snapshotOfEntities(content), tools)), ["10.0.0.1:80", "10.0.0.2:80"]);
});

for (const [host_header, host, serverName] of [
  [null, "pool", "pool"],
  ["up.example:8443", "up.example:8443", "up.example"],
] as const) {
  test(`the Host header and the TLS server name of an endpoint are its service's host or the host_header ${host_header}`, () => {
    const upstream = upstreamNamed("pool", { host_header });
    const upstreamEndpoints = new Map([[upstream.id, [{ address: "10.1.0.1", port: 8443, weight: 1 }]]]);
    const services = [{ ...service, protocol: "https" as const }];
    const compiled = upstreamOf(
      compile(null, snapshotOfEntities({ upstreams: [upstream], services, upstreamEndpoints }), tools),
    );
    const [target] = compiled.targets;
    assert.deepEqual([target?.hostHeader ?? compiled.host, target?.serverName], [host, serverName]);
  });
}

test("a target has the client certificate of its service, or else that of its upstream, and the target's key depends on the certificate without revealing it", () => {
  const certificate = (id: string, key = "secret"): Certificate => ({
    id,
    created_at: 0,
    updated_at: 0,
    cert: `cert ${id}`,
    key,
    acme: null,
    cert_alt: null,
    key_alt: null,
    tags: null,
  });
  const [own, shared] = [certificate("own"), certificate("shared")];
  const targetFor = (members: Partial<Service>, upstream: Partial<Upstream>, certificates = [own, shared]) => {
    const content = { upstreams: [{ ...pool, ...upstream }], targets: [a], certificates };
    const secure = { ...service, protocol: "https" as const, ...members };
    const target = upstreamOf(runtimeOf({ ...content, services: [secure] })).targets[0];
    assert.ok(target);
    return target;
  };
  const withOwn = { client_certificate: { id: "own" } };
  const withShared = { client_certificate: { id: "shared" } };
  const none = targetFor({}, {});
  assert.equal(none.certificate, null);
  assert.equal(targetFor({}, withShared).certificate, shared);
  assert.equal(targetFor(withOwn, withShared).certificate, own);
  assert.equal(targetFor({ protocol: "http" }, withShared).certificate, null);
  const keys = [
    none.key,
    targetFor({}, withShared).key,
    targetFor(withOwn, {}).key,
    targetFor(withOwn, {}, [certificate("own", "renewed")]).key,
  ];
  assert.equal(new Set(keys).size, keys.length);
  assert.ok(!keys.join().includes("secret") && !keys.join().includes("cert"));
});

test("active checks trust the current CA certificates of all services that use the upstream", () => {
  const [one, two] = [caCertificateOf("one"), caCertificateOf("two")];
  const secure = (name: string, ca_certificates: readonly string[] | null, host = "pool") =>
    serviceNamed(name, { protocol: "https", host, ca_certificates: ca_certificates && [...ca_certificates] });
  const trustOf = (runtime: Runtime) =>
    runtime.balancers
      .get(pool.id)
      ?.authorities?.map(({ cert }) => cert)
      .sort();
  const services = [secure("s", [one.id]), secure("t", [one.id, two.id])];
  const first = runtimeOf({ services, caCertificates: [one, two] });
  assert.deepEqual(trustOf(first), ["one", "two"]);
  const renewed = { ...two, cert: "renewed" };
  const second = runtimeOf({ services, caCertificates: [one, renewed] }, first);
  assert.deepEqual(trustOf(second), ["one", "renewed"]);
  const third = runtimeOf({ services: [secure("s", [one.id])], caCertificates: [one, renewed] }, second);
  assert.deepEqual(trustOf(third), ["one"]);
  assert.deepEqual(trustOf(runtimeOf({ services: [secure("s", [one.id])] }, third)), []);
  const moved = runtimeOf({ services: [secure("s", [one.id], "other")], caCertificates: [one] }, third);
  assert.equal(trustOf(moved), undefined);
  assert.equal(moved.balancers.get(other.id)?.authorities?.[0], one);
});

test("active checks trust the machine's CAs too while a service that uses the upstream names no CA certificates", () => {
  const one = caCertificateOf("one");
  const [naming, plain] = [
    serviceNamed("s", { protocol: "https", host: "pool", ca_certificates: [one.id] }),
    serviceNamed("u", { protocol: "https", host: "pool" }),
  ];
  const trustOf = (runtime: Runtime) => {
    const { authorities, trustsMachine } = runtime.balancers.get(pool.id) ?? {};
    return [authorities?.map(({ cert }) => cert), trustsMachine];
  };
  const caCertificates = [one];
  const first = runtimeOf({ services: [plain], caCertificates });
  assert.deepEqual(trustOf(first), [undefined, true]);
  const second = runtimeOf({ services: [naming, plain], caCertificates }, first);
  assert.deepEqual(trustOf(second), [["one"], true]);
  const third = runtimeOf({ services: [naming], caCertificates }, second);
  assert.deepEqual(trustOf(third), [["one"], false]);
  const fourth = runtimeOf({ services: [naming, { ...plain, ca_certificates: [] }], caCertificates }, third);
  assert.deepEqual(trustOf(fourth), [["one"], true]);
  const fifth = runtimeOf({ services: [naming, { ...plain, host: "other" }], caCertificates }, fourth);
  assert.deepEqual(trustOf(fifth), [["one"], false]);
});

const names: readonly (readonly [
  target: string,
  host_header: string | null,
  protocol: "http" | "https",
  host: string,
  serverName: string | null,
])[] = [
  ["10.0.0.1:80", null, "http", "10.0.0.1", null],
  ["10.0.0.1:8443", null, "https", "10.0.0.1:8443", null],
  ["up.example:443", null, "https", "up.example", "up.example"],
  ["[2001:db8::1]:443", null, "https", "[2001:db8::1]", null],
  ["[2001:db8::1]:8443", "up.example", "https", "up.example:8443", "up.example"],
  ["10.0.0.1:8443", "up.example:9", "https", "up.example:9", "up.example"],
  ["up.example:443", "10.0.0.7", "https", "10.0.0.7", null],
];
for (const [target, host_header, protocol, host, serverName] of names) {
  test(`the Host header of ${protocol} requests to ${target} with host_header ${host_header} is ${host}, and the TLS server name is ${serverName}`, () => {
    const upstream = upstreamNamed("pool", { host_header });
    const content = { upstreams: [upstream], targets: [targetOf(upstream, target)] };
    const [made] = upstreamOf(runtimeOf({ ...content, services: [{ ...service, protocol }] })).targets;
    assert.deepEqual([made?.hostHeader, made?.serverName], [host, serverName]);
  });
}
