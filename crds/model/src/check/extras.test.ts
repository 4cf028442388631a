import assert from "node:assert/strict";
import { test } from "node:test";
import { firstKeyPair } from "../../../../tools/programs/pairs.ts";
import type { Collection } from "../entities/index.ts";
import { checkEntity } from "./index.ts";

const rows: readonly (readonly [Collection, object, ...expected: string[]])[] = [
  ["routes", { paths: ["/a"], _sluice: { listeners: "a/b/c" } }, "_sluice.listeners: expected an array"],
  ["routes", { paths: ["/a"], _sluice: { listeners: [""] } }, "_sluice.listeners.0: length must be at least 1"],
  [
    "routes",
    {
      paths: ["/a"],
      _sluice: {
        match: {
          cookies: [],
          headers: [{ name: "a b", value: "1" }, { name: "x" }, { name: "x", value: "(", type: "regex" }],
          query: [{ name: "", value: "(", type: "prefix", also: 1 }],
        },
      },
    },
    "_sluice.match.headers.1.value: required field missing",
    "_sluice.match.cookies: unknown field",
    "_sluice.match.query.0.also: unknown field",
    "_sluice.match.query.0.type: expected one of: exact, regex",
    "_sluice.match.query.0.name: length must be at least 1",
    "_sluice.match.headers.0.name: invalid name of a header: 'a b'",
    "_sluice.match.headers.2.value: not a valid regex: ( (missing closing ): `(`)",
  ],
  [
    "services",
    {
      host: "a.test",
      _sluice: {
        tls: { trusted_certificates: "none", names: [{ type: "email", value: "a" }] },
        retry: { codes: [200] },
        timeouts: { request: 0 },
      },
    },
    "_sluice.tls.server_name: required field missing",
    "_sluice.retry.backoff: required field missing",
    "_sluice.tls.names.0.type: expected one of: dns, uri",
    "_sluice.retry.codes.0: value should be between 400 and 599",
    "_sluice.timeouts.request: value should be between 1 and 2147483646",
    "_sluice.tls.trusted_certificates: invalid certificate: expected certificates in PEM",
  ],
  [
    "upstreams",
    { name: "a.test", _sluice: { cookie: { same_site: "lax", domain: "a;b", max_age: 2 ** 31, path: "/" } } },
    "_sluice.cookie.path: unknown field",
    "_sluice.cookie.same_site: expected one of: Strict, Lax, None",
    "_sluice.cookie.max_age: value should be between -2147483648 and 2147483647",
    "_sluice.cookie.domain: invalid value: a;b",
  ],
  [
    "routes",
    { paths: ["/a"], _sluice: { refused_percentage: 101 } },
    "_sluice.refused_percentage: value should be between 0 and 100",
  ],
  [
    "routes",
    { protocols: ["tls"], hosts: ["a"], paths: ["/a"], snis: ["a"], _sluice: { listeners: ["l"] } },
    "paths: cannot set 'paths' when 'protocols' is 'tls'",
    "snis: cannot set 'snis' when 'protocols' is 'tls'",
  ],
  [
    "routes",
    { protocols: ["tls", "https"], snis: ["a"], _sluice: { listeners: ["l"] } },
    "protocols: these sets are mutually exclusive: ('tcp', 'tls', 'udp'), ('http', 'https')",
  ],
  [
    "routes",
    { protocols: ["tls"], hosts: ["a"], snis: ["a"], _sluice: { namespace: "team" } },
    "hosts: cannot set 'hosts' when 'protocols' is 'tcp', 'tls', 'tls_passthrough' or 'udp'",
  ],
  [
    "routes",
    { paths: ["/a"], _sluice: { match: { share: { from: -1 } } } },
    "_sluice.match.share.to: required field missing",
    "_sluice.match.share.from: value should be between 0 and 100",
  ],
  [
    "certificates",
    { cert: firstKeyPair.cert, key: firstKeyPair.key, _sluice: { match: {} } },
    "_sluice.match: unknown field",
  ],
];

for (const [collection, raw, ...expected] of rows) {
  test(`${collection} with the members ${JSON.stringify(Object(raw)._sluice)} are refused`, () =>
    assert.deepEqual(
      checkEntity(collection, raw).violations?.map(({ path, message }) => `${path.join(".")}: ${message}`),
      expected,
    ));
}

for (const members of [{ hosts: ["*.a.example"] }, {}])
  test(`a route of listeners for TLS connections is accepted with ${JSON.stringify(members)}`, () => {
    const { value } = checkEntity("routes", { protocols: ["tls"], ...members, _sluice: { listeners: ["l"] } });
    assert.deepEqual([value?.protocols, value?.paths], [["tls"], null]);
  });
