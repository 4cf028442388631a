import assert from "node:assert/strict";
import { test } from "node:test";
import { createSecureContext } from "node:tls";
import { clientTlsOf } from "./client-tls.ts";

const read = (...tlsCiphers: readonly string[]) => clientTlsOf({ tlsMinVersion: "TLSv1.2", tlsCiphers });

const refused: readonly (readonly [ciphers: readonly string[], message: RegExp])[] = [
  [["ECDHE-RSA-AES128-GCM-SHA25"], /^SLUICE_PROXY_TLS_CIPHERS: 'ECD.*did you mean ECDHE-RSA-AES128-GCM-SHA256\? Use/],
  [["TLS_AES_128_GCM_SHA257"], /did you mean TLS_AES_128_GCM_SHA256\?/],
  [["HIGH:!aNULL"], /'HIGH' is not a supported cipher suite\. Use modern, .*\n.*'!aNULL' is not a supported/],
  [["ECDHE-RSA-AES128-GCM-SHA256", "DES-CBC3-SHA"], /'DES-CBC3-SHA' is not a supported/],
  [["PSK-AES128-GCM-SHA256"], /'PSK-AES128-GCM-SHA256' is not a supported/],
  [["ADH-AES128-SHA"], /'ADH-AES128-SHA' is not a supported/],
  [["@SECLEVEL=0"], /'@SECLEVEL=0' is not a supported/],
  [["DHE-RSA-AES128-GCM-SHA256"], /is not supported, because DHE .*: use ECDHE suites/],
  [["fips"], /'fips' is not supported, because Sluice has no FIPS-validated OpenSSL: use intermediate/],
  [["custom"], /instead of 'custom', list the names/],
  [["modern", "ECDHE-RSA-AES128-GCM-SHA256"], /'modern' cannot be combined/],
  [["constructor"], /'constructor' is not a supported/],
];

for (const [ciphers, message] of refused) {
  test(`cipher suites are refused: ${ciphers.join(", ")}`, () => {
    assert.throws(() => read(...ciphers), { name: "SettingsError", message });
  });
}

test("OpenSSL accepts the suites of every word, and none is unknown", () => {
  for (const word of ["modern", "intermediate", "old"]) {
    const { ciphers } = read(word);
    createSecureContext(read(word));
    // Names of a list are checked one by one.
    assert.equal(read(ciphers).ciphers, ciphers, word);
  }
});
