import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterAddressOf, endpointsOf } from "./endpoints.ts";
import type { Resource } from "./resource.ts";

const slice = (endpoints: unknown[], ports: unknown[] = [{ name: "http", port: 8080 }]): Resource => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "s", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
  endpoints,
  ports,
});

const cases: [string, Resource[], string | undefined, unknown][] = [
  ["a ready address", [slice([{ addresses: ["10.0.0.1"], conditions: { ready: true } }])], "http", ["10.0.0.1:8080"]],
  ["an address whose readiness is unknown", [slice([{ addresses: ["10.0.0.1"] }])], "http", ["10.0.0.1:8080"]],
  ["no unready address", [slice([{ addresses: ["10.0.0.1"], conditions: { ready: false } }])], "http", []],
  [
    "a terminating address that still serves, marked as terminating",
    [slice([{ addresses: ["10.0.0.1"], conditions: { ready: false, serving: true, terminating: true } }])],
    "http",
    ["10.0.0.1:8080!"],
  ],
  [
    "no terminating address that does not serve",
    [slice([{ addresses: ["10.0.0.1"], conditions: { ready: false, serving: false, terminating: true } }])],
    "http",
    [],
  ],
  [
    "the zones for which an address is a hint, without invalid ones",
    [
      slice([
        { addresses: ["10.0.0.1"], hints: { forZones: [{ name: "a" }, { name: "b" }, { name: 7 }, null] } },
        { addresses: ["10.0.0.2"], hints: { forZones: "a" } },
        { addresses: ["10.0.0.3"], hints: null },
      ]),
    ],
    "http",
    ["10.0.0.1:8080 for a,b", "10.0.0.2:8080", "10.0.0.3:8080"],
  ],
  [
    "the zones of all slices for an address in two slices",
    [
      slice([{ addresses: ["10.0.0.1"], hints: { forZones: [{ name: "b" }] } }]),
      slice([{ addresses: ["10.0.0.1"] }]),
      slice([{ addresses: ["10.0.0.1"], hints: { forZones: [{ name: "a" }] } }]),
    ],
    "http",
    ["10.0.0.1:8080 for a,b"],
  ],
  [
    "the port with the Service's port name",
    [
      slice(
        [{ addresses: ["10.0.0.1"] }],
        [
          { name: "admin", port: 1 },
          { name: "http", port: 2 },
        ],
      ),
    ],
    "http",
    ["10.0.0.1:2"],
  ],
  ["the only port, whatever its name", [slice([{ addresses: ["10.0.0.1"] }], [{ port: 5 }])], "http", ["10.0.0.1:5"]],
  [
    "each address once, in sorted order, even if two slices contain it",
    [slice([{ addresses: ["10.0.0.2"] }, { addresses: ["10.0.0.1"] }]), slice([{ addresses: ["10.0.0.2"] }])],
    "http",
    ["10.0.0.1:8080", "10.0.0.2:8080"],
  ],
  ["no host names", [slice([{ addresses: ["web.test", 7, "10.0.0.1"] }])], "http", ["10.0.0.1:8080"]],
  [
    "no invalid port",
    [slice([{ addresses: ["10.0.0.1"] }], [{ port: 0 }]), slice([{ addresses: ["10.0.0.1"] }], [{ port: "80" }])],
    "http",
    [],
  ],
  [
    "the addresses of valid entries next to invalid entries",
    [slice([null, 7, { addresses: "10.0.0.1" }, { addresses: ["10.0.0.1"], conditions: null }]), slice([], [null])],
    "http",
    ["10.0.0.1:8080"],
  ],
];

for (const [what, slices, port, expected] of cases)
  test(`endpointsOf returns ${what}`, () => {
    const shown = endpointsOf(slices, port).map(
      (e) => `${e.address}:${e.port}${e.terminating ? "!" : ""}${e.zones ? ` for ${e.zones}` : ""}`,
    );
    assert.deepEqual(shown, expected);
  });

const addresses: readonly (readonly [what: string, spec: object, address: string | undefined])[] = [
  ["its cluster IP", { clusterIP: "10.96.0.9", clusterIPs: ["10.96.0.9", "fd00::9"] }, "10.96.0.9"],
  ["absent for a headless Service", { clusterIP: "None" }, undefined],
  ["absent before a cluster IP is assigned", { clusterIP: "" }, undefined],
  ["absent for an ExternalName", { type: "ExternalName", externalName: "a.example" }, undefined],
];
for (const [what, spec, address] of addresses)
  test(`a core Service's own address is ${what}`, () => {
    const service = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "default" },
      spec,
    } as Resource;
    const expected = address === undefined ? null : { address, port: 80, fallback: true };
    assert.deepEqual(clusterAddressOf(service, 80), expected);
  });
