import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service } from "@sluice/model";
import { balancingRequest } from "../balance/testing.ts";
import type { UpstreamInputs } from "./runtime.ts";
import { serviceNamed } from "./testing-entities.ts";
import { createUpstream } from "./upstream.ts";

const upstreamFor = (service: Service, parts: Partial<UpstreamInputs> = {}) =>
  createUpstream({ service, endpoints: null, balancer: null, certificate: null, authorities: null, ...parts }, null);

/** The target of the next request; an upstream without a balancer does not read the request. */
const next = (upstream: ReturnType<typeof createUpstream>) => upstream.attempts(balancingRequest()).next();

const hosts: readonly (readonly [protocol: "http" | "https", host: string, port: number, header: string])[] = [
  ["http", "up.example", 80, "up.example"],
  ["https", "up.example", 443, "up.example"],
  ["http", "up.example", 443, "up.example:443"],
  ["https", "up.example", 8443, "up.example:8443"],
  ["http", "::1", 8080, "[::1]:8080"],
];
for (const [protocol, host, port, header] of hosts) {
  test(`the Host header for an ${protocol} service with host ${host} and port ${port} is ${header}`, () => {
    assert.equal(upstreamFor(serviceNamed("s", { protocol, host, port })).host, header);
  });
}

test("a service without a list of endpoints uses its host, and a service with an empty list has no target", () => {
  const service = serviceNamed("s", { host: "up.example", port: 81 });
  assert.equal(next(upstreamFor(service))?.host, "up.example");
  assert.equal(next(upstreamFor(service, { endpoints: [] })), null);
});

test("endpoints are used in turn, and terminating endpoints only if there is no other endpoint", () => {
  const endpoint = (address: string, terminating = false) => ({ address, port: 80, terminating });
  const turns = (...endpoints: readonly ReturnType<typeof endpoint>[]) => {
    const upstream = upstreamFor(serviceNamed("s"), { endpoints });
    return [1, 2, 3, 4].map(() => next(upstream)?.host).join(" ");
  };
  assert.equal(turns(endpoint("a"), endpoint("b", true), endpoint("c")), "a c a c");
  assert.equal(turns(endpoint("a", true), endpoint("b", true)), "a b a b");
});

test("the cluster IP is used while no endpoint can be reached, and an endpoint is tried again every 10 s", (t) => {
  t.mock.method(performance, "now", () => now);
  let now = 0;
  const own = { address: "own", port: 80, fallback: true };
  const endpoints = [{ address: "a", port: 80 }, { address: "b", port: 80 }, own];
  const upstream = upstreamFor(serviceNamed("s"), { endpoints });
  const attempts = upstream.attempts(balancingRequest());
  const tries = (count: number, isReached: (host: string) => boolean) =>
    Array.from({ length: count }, () => {
      const target = attempts.next();
      if (isReached(target?.host ?? "")) attempts.recordResponse(200, target);
      else attempts.unreachable(target);
      return target?.host;
    }).join(" ");
  assert.deepEqual(
    upstream.targets.map(({ host }) => host),
    ["a", "b"],
  );
  assert.equal(upstream.keys.size, 3, "connections to the cluster IP are kept");
  assert.equal(
    tries(4, (host) => host === "b"),
    "a b a b",
  );
  assert.equal(
    tries(5, (host) => host === "own"),
    "a b own own own",
  );
  now += 10_000;
  assert.equal(
    tries(3, (host) => host === "own"),
    "a own own",
  );
  now += 10_000;
  assert.equal(
    tries(4, () => true),
    "b a b a",
  );
});

test("the endpoints of a core Service without a cluster IP are tried in turn, even if they fail", () => {
  const endpoints = ["a", "b"].map((address) => ({ address, port: 80 }));
  const attempts = upstreamFor(serviceNamed("s"), { endpoints }).attempts(balancingRequest());
  const hosts = Array.from({ length: 4 }, () => {
    const target = attempts.next();
    attempts.unreachable(target);
    return target?.host;
  });
  assert.deepEqual(hosts, ["a", "b", "a", "b"]);
});

test("the rotation continues when endpoints change, so that different endpoints are first after successive changes", () => {
  const service = serviceNamed("s");
  const endpoints = ["a", "b", "c"].map((address) => ({ address, port: 80 }));
  const parts = { service, endpoints, balancer: null, certificate: null, authorities: null };
  let upstream = createUpstream(parts, null);
  const taken = [1, 2, 3, 4].map(() => {
    upstream = createUpstream({ ...parts, endpoints: [...endpoints] }, upstream);
    return next(upstream)?.host;
  });
  assert.deepEqual(taken, ["a", "b", "c", "a"]);
});

test("the server name for TLS to an endpoint is the service's host, or none if the host is an address", () => {
  const endpoints = [{ address: "10.0.0.1", port: 443 }];
  const target = (host: string) => next(upstreamFor(serviceNamed("s", { protocol: "https", host }), { endpoints }));
  assert.equal(target("up.example")?.serverName, "up.example");
  assert.equal(target("10.0.0.9")?.serverName, null);
});

test("targets share connections only if all properties of a connection are equal", () => {
  const key = (members: Parameters<typeof serviceNamed>[1]) => next(upstreamFor(serviceNamed("s", members)))?.key;
  assert.equal(key({}), key({ path: "/other", read_timeout: 1, retries: 1 }));
  for (const members of [
    { port: 81 },
    { host: "b" },
    { connect_timeout: 1 },
    { tls_verify: false },
    { tls_verify_depth: 0 },
  ]) {
    assert.notEqual(key({}), key(members));
  }
  assert.notEqual(key({ protocol: "http" }), key({ protocol: "https" }));
});
