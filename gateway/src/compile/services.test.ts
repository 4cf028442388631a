import assert from "node:assert/strict";
import { test } from "node:test";
import { upstreamOf } from "./services.ts";
import { serviceNamed } from "./testing-entities.ts";

const hosts: readonly (readonly [protocol: "http" | "https", host: string, port: number, header: string])[] = [
  ["http", "up.example", 80, "up.example"],
  ["https", "up.example", 443, "up.example"],
  ["http", "up.example", 443, "up.example:443"],
  ["https", "up.example", 8443, "up.example:8443"],
  ["http", "::1", 8080, "[::1]:8080"],
];
for (const [protocol, host, port, header] of hosts) {
  test(`the Host of ${protocol} ${host} ${port} is ${header}`, () => {
    assert.equal(upstreamOf(serviceNamed("s", { protocol, host, port }), null).host, header);
  });
}

test("a service without endpoints goes to its host; with an empty list it goes nowhere", () => {
  const service = serviceNamed("s", { host: "up.example", port: 81 });
  assert.equal(upstreamOf(service, null).next()?.host, "up.example");
  assert.equal(upstreamOf(service, []).next(), null);
});

test("endpoints are taken in turn; terminating ones only when no other is there", () => {
  const endpoint = (address: string, terminating = false) => ({ address, port: 80, terminating });
  const turns = (...endpoints: readonly ReturnType<typeof endpoint>[]) => {
    const upstream = upstreamOf(serviceNamed("s"), endpoints);
    return [1, 2, 3, 4].map(() => upstream.next()?.host).join(" ");
  };
  assert.equal(turns(endpoint("a"), endpoint("b", true), endpoint("c")), "a c a c");
  assert.equal(turns(endpoint("a", true), endpoint("b", true)), "a b a b");
});

test("the name for TLS is the service's, also where the target is an endpoint's address", () => {
  const endpoints = [{ address: "10.0.0.1", port: 443 }];
  const target = (host: string) => upstreamOf(serviceNamed("s", { protocol: "https", host }), endpoints).next();
  assert.equal(target("up.example")?.serverName, "up.example");
  assert.equal(target("10.0.0.9")?.serverName, null);
});

test("targets share connections only when nothing that a connection depends on differs", () => {
  const key = (members: Parameters<typeof serviceNamed>[1]) => upstreamOf(serviceNamed("s", members), null).next()?.key;
  assert.equal(key({}), key({ path: "/other", read_timeout: 1, retries: 1 }));
  for (const members of [{ port: 81 }, { host: "b" }, { connect_timeout: 1 }, { tls_verify: false }]) {
    assert.notEqual(key({}), key(members));
  }
  assert.notEqual(key({ protocol: "http" }), key({ protocol: "https" }));
});
