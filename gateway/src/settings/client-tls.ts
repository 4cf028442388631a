/** Start-up settings of TLS with clients: the oldest version, the cipher suites, and the certificates with OCSP responses. */
import { getCiphers } from "node:tls";
import { defineSettings, SettingsError, type SettingsOf, suggestionFor } from "@sluice/model/serving";

export const clientTlsSettings = defineSettings({
  tlsMinVersion: {
    variable: "SLUICE_PROXY_TLS_MIN_VERSION",
    kind: "choice",
    words: ["TLSv1.2", "TLSv1.3"],
    default: "TLSv1.2",
    description:
      "Oldest version of TLS that clients may use, on SLUICE_PROXY_TLS_LISTEN and on the ports of Gateways. " +
      "TLS 1.0 and 1.1 are not supported (RFC 8996). Corresponds to Kong's `ssl_protocols`.",
  },
  tlsCiphers: {
    variable: "SLUICE_PROXY_TLS_CIPHERS",
    kind: "list",
    default: ["intermediate"],
    description:
      "Cipher suites that clients may use, on SLUICE_PROXY_TLS_LISTEN and on the ports of Gateways. " +
      "`intermediate`: forward secrecy and authenticated encryption only. `modern`: TLS 1.3 only. `old`: also CBC and " +
      "the RSA key exchange, for old clients of TLS 1.2. Or a list of suites by OpenSSL's names, the preferred ones " +
      "first, separated by commas or colons, such as `ECDHE-RSA-AES128-GCM-SHA256` for TLS 1.2 and " +
      "`TLS_AES_128_GCM_SHA256` for TLS 1.3. A list without suites of TLS 1.3 keeps the default suites of TLS 1.3; a " +
      "list without suites of TLS 1.2 disables TLS 1.2. Corresponds to Kong's `ssl_cipher_suite` and `ssl_ciphers`.",
  },
  ocspStapling: {
    variable: "SLUICE_OCSP_STAPLING",
    kind: "choice",
    words: ["must-staple", "on", "off"],
    default: "must-staple",
    description:
      "The certificates for which a node gets OCSP responses, and sends them in TLS handshakes. `must-staple`: " +
      "certificates with the TLS feature extension, which clients refuse without a response. `on`: all certificates " +
      "that name an OCSP responder.",
  },
});

/** Options of Node's `createSecureContext`. */
export interface ClientTls {
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  /** Names of suites for TLS 1.2 and 1.3, separated by colons. */
  readonly ciphers: string;
  /** Whether the server's order of the suites decides, and not the client's. */
  readonly honorCipherOrder: boolean;
}

const TLS13_PREFIX = "TLS_";
const TLS13 = ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"];
const FORWARD_SECRET = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
];
const CBC_OR_STATIC = [
  "ECDHE-ECDSA-AES128-SHA256",
  "ECDHE-RSA-AES128-SHA256",
  "ECDHE-ECDSA-AES128-SHA",
  "ECDHE-RSA-AES128-SHA",
  "ECDHE-ECDSA-AES256-SHA384",
  "ECDHE-RSA-AES256-SHA384",
  "ECDHE-ECDSA-AES256-SHA",
  "ECDHE-RSA-AES256-SHA",
  "AES128-GCM-SHA256",
  "AES256-GCM-SHA384",
  "AES128-SHA256",
  "AES256-SHA256",
  "AES128-SHA",
  "AES256-SHA",
];

interface CipherPreset extends Pick<ClientTls, "honorCipherOrder"> {
  readonly suites: readonly string[];
}

/**
 * The suites of Kong's settings with the same names, which follow Mozilla's guidelines for server-side TLS (version
 * 5.7), without those of finite-field Diffie-Hellman (DHE), which let a client cause expensive handshakes, and without
 * 3DES.
 */
const presets: Readonly<Record<string, CipherPreset>> = {
  modern: { suites: TLS13, honorCipherOrder: false },
  intermediate: { suites: [...TLS13, ...FORWARD_SECRET], honorCipherOrder: false },
  old: { suites: [...TLS13, ...FORWARD_SECRET, ...CBC_OR_STATIC], honorCipherOrder: true },
};

/** @throws SettingsError with all faults. OpenSSL itself ignores names that it does not know. */
export function clientTlsOf({
  tlsMinVersion,
  tlsCiphers,
}: Pick<SettingsOf<typeof clientTlsSettings>, "tlsMinVersion" | "tlsCiphers">): ClientTls {
  const given = tlsCiphers.flatMap((item) => item.split(":")).filter((item) => item !== "");
  const [first = "intermediate"] = given;
  const preset = given.length > 1 || !Object.hasOwn(presets, first) ? undefined : presets[first];
  const { suites, honorCipherOrder } = preset ?? { suites: listedSuites(given), honorCipherOrder: true };
  const isModern = suites.every((suite) => suite.startsWith(TLS13_PREFIX));
  return { minVersion: isModern ? "TLSv1.3" : tlsMinVersion, ciphers: suites.join(":"), honorCipherOrder };
}

function listedSuites(given: readonly string[]): readonly string[] {
  const known = getCiphers().map((name) => name.toUpperCase());
  const usable = new Set(known.filter((name) => !/^DHE-|PSK|SRP/.test(name)));
  const faults = given.flatMap((name) => (usable.has(name) ? [] : [faultOf(name, usable)]));
  if (faults.length > 0) {
    const { variable } = clientTlsSettings.tlsCiphers;
    throw new SettingsError(faults.map((fault) => `${variable}: ${fault}`).join("\n"));
  }
  return given.some((name) => name.startsWith(TLS13_PREFIX)) ? given : [...TLS13, ...given];
}

function faultOf(name: string, usable: ReadonlySet<string>): string {
  if (Object.hasOwn(presets, name))
    return `'${name}' cannot be combined with other values: use it alone, or list suites`;
  if (name === "custom") return "instead of 'custom', list the names of the suites";
  if (name === "fips")
    return "'fips' is not supported, because Sluice has no FIPS-validated OpenSSL: use intermediate, or list suites";
  if (name.startsWith("DHE-"))
    return `'${name}' is not supported, because DHE lets clients cause expensive handshakes: use ECDHE suites`;
  const hint = suggestionFor(name, usable) || ".";
  const example = "OpenSSL's names of single suites, such as ECDHE-RSA-AES128-GCM-SHA256";
  return `'${name}' is not a supported cipher suite${hint} Use modern, intermediate or old, or ${example}`;
}
