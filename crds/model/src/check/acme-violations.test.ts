import assert from "node:assert/strict";
import { test } from "node:test";
import { ellipticPair, firstKeyPair } from "../../../../tools/programs/pairs.ts";
import { checkEntity } from "./index.ts";

const MISSING = "required field missing";

/** Certificates as given, with `path: message` for every violation. */
const cases: readonly (readonly [raw: object, ...faults: string[]])[] = [
  [{ acme: {}, cert: firstKeyPair.cert }, "@entity: all or none of these fields must be set: 'cert', 'key'"],
  [
    { acme: {}, cert_alt: ellipticPair.cert, key_alt: ellipticPair.key },
    "@entity: acme.key_type must differ from the type of 'key_alt', which is ecdsa too",
  ],
  [{ acme: { challenge: "dns-01" } }, "acme.challenge: expected one of: http-01, tls-alpn-01"],
  [{ acme: { directory: "http://a" } }, "acme.directory: expected a URL that begins with https://"],
  [{ acme: { domains: [] } }, "acme.domains: length must be at least 1"],
  [{ acme: { domains: ["10.0.0.1"] } }, "acme.domains.0: must not be an IP"],
  [
    { acme: { domains: ["a.example", "*.a.example"] } },
    "acme.domains.1: must not have a wildcard: a CA validates wildcard names by the challenge dns-01, which Sluice cannot answer",
  ],
  [
    { acme: {}, _sluice: { challenges: [{ type: "http-01", domain: "a" }] } },
    `_sluice.challenges.0.key_authorization: ${MISSING}`,
    `_sluice.challenges.0.token: ${MISSING}`,
  ],
];

for (const [raw, ...faults] of cases)
  test(`a certificate with acme is refused: ${faults[0]}`, () => {
    const { violations = [] } = checkEntity("certificates", raw);
    assert.deepEqual(violations.map(({ path, message }) => `${path.join(".")}: ${message}`).sort(), faults);
  });
