/** Violations of services and routes for connections that are not HTTP, with Kong's messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkEntity } from "./index.ts";

const ID = "0d3a1f0e-7c62-4d39-8b42-62a2a0a90001";
const NO_VALUE = "value must be null";
const GIVEN = "failed conditional validation given value of field 'protocol'";
const UDP = "udp is not supported: Sluice forwards HTTP, gRPC, TCP and TLS only";
const EXCLUSIVE_TLS = "these sets are mutually exclusive: ('tcp', 'tls', 'udp'), ('tls_passthrough')";
const MATCH = "must set one of 'sources', 'destinations', 'snis' when 'protocols' is 'tcp', 'tls' or 'udp'";

type Row = readonly [collection: "routes" | "services", raw: object, ...faults: readonly string[]];

const rows: readonly Row[] = [
  ["services", { host: "a", protocol: "udp", path: "/x" }, `protocol: ${UDP}`],
  ...(["tcp", "tls"] as const).map(
    (protocol) => ["services", { host: "a", protocol, path: "/x" }, `path: ${NO_VALUE}`, `@entity: ${GIVEN}`] as const,
  ),
  ...(["tcp", "tls", "tls_passthrough"] as const).map((protocol) => ["services", { host: "a", protocol }] as const),
  ["services", { host: "a", protocol: "tls", tls_verify: false, ca_certificates: [ID] }],
  ["services", { host: "a", protocol: "tcp", tls_verify: false }, `tls_verify: ${NO_VALUE}`, `@entity: ${GIVEN}`],
  ["routes", { sources: [{ ip: "10.0.0.1" }], protocols: ["tcp", "udp"] }, `protocols.1: ${UDP}`],
  ["routes", { protocols: ["tcp"], sources: [{ ip: "10.0.0.0/8", port: 0 }] }],
  ["routes", { protocols: ["tcp", "tls"], destinations: [{ port: 65_535 }], snis: ["a.example"] }],
  ["routes", { protocols: ["tls_passthrough"], snis: ["a.example"], destinations: [{ ip: "::1" }] }],
  ["routes", { protocols: ["tcp"] }, `@entity: ${MATCH}`],
  ["routes", { protocols: ["tls"], sources: [], snis: [] }, `@entity: ${MATCH}`],
  [
    "routes",
    { protocols: ["tls_passthrough"], destinations: [{ port: 1 }] },
    "@entity: must set snis when 'protocols' is 'tls_passthrough'",
  ],
  [
    "routes",
    { protocols: ["tcp"], snis: ["a.example"] },
    "snis: length must be 0",
    "@entity: 'snis' can only be set when 'protocols' is 'grpcs', 'https', 'tls' or 'tls_passthrough'",
  ],
  [
    "routes",
    { protocols: ["tls"], snis: ["a"], methods: ["GET"], hosts: ["a"], paths: ["/"], headers: { a: ["b"] } },
    ...["methods", "hosts", "paths", "headers"].map(
      (name) => `${name}: cannot set '${name}' when 'protocols' is 'tcp', 'tls', 'tls_passthrough' or 'udp'`,
    ),
  ],
  ["routes", { protocols: ["tls", "tls_passthrough"], snis: ["a"] }, `protocols: ${EXCLUSIVE_TLS}`],
];

for (const [collection, raw, ...faults] of rows)
  test(`checkEntity reports ${faults.length === 0 ? "no" : "every"} violation of ${collection} ${JSON.stringify(raw)}`, () => {
    const { violations = [] } = checkEntity(collection, raw);
    assert.deepEqual(violations.map(({ path, message }) => `${path.join(".")}: ${message}`).sort(), faults.toSorted());
  });
