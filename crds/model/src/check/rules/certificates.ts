/** Rules for certificates and their keys. */
import { createPrivateKey, hash, type KeyObject, X509Certificate } from "node:crypto";
import { isEmptyValue, type RecordMembers, type RecordRule, recordViolation } from "@sluice/plugin-sdk";
import { certificateBlocksIn } from "../../certificate-details.ts";
import { hostRules } from "./hosts.ts";
import type { TextRule } from "./rule.ts";

/** The first certificate of a chain; undefined when there is none, or when any of them cannot be read. */
function leafOf(chain: string): X509Certificate | undefined {
  try {
    const [leaf] = certificateBlocksIn(chain).map((block) => new X509Certificate(block));
    return leaf;
  } catch {
    return undefined;
  }
}

function keyOf(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

/** Whether certificate and key belong together, and the key's type; undefined if either is missing or unreadable. */
function pairOf(members: RecordMembers, suffix: "" | "_alt") {
  const [cert, key] = [members[`cert${suffix}`], members[`key${suffix}`]];
  if (typeof cert !== "string" || typeof key !== "string") return undefined;
  const [leaf, secret] = [leafOf(cert), keyOf(key)];
  return leaf && secret && { fits: leaf.checkPrivateKey(secret), type: secret.asymmetricKeyType };
}

const MISSING = "required field missing";

/** OpenSSL's names of the types of keys that Sluice orders certificates for, by `acme.key_type`. */
const orderedTypes: Readonly<Record<string, string>> = { ecdsa: "ec", rsa: "rsa" };

/** Without `acme`, `cert` and `key` are required, with Kong's message. With `acme`, they may be missing together. */
function missingMembers(members: RecordMembers) {
  const missing = ["cert", "key"].filter((name) => isEmptyValue(members[name]));
  if (isEmptyValue(members.acme)) return missing.map((name) => ({ path: [name], message: MISSING }));
  return missing.length === 1 ? [recordViolation("all or none of these fields must be set: 'cert', 'key'")] : [];
}

export const certificateRule: RecordRule = (members) => {
  const missing = missingMembers(members);
  if (missing.length > 0) return missing;
  if (isEmptyValue(members.cert_alt) !== isEmptyValue(members.key_alt)) {
    return [recordViolation("all or none of these fields must be set: 'cert_alt', 'key_alt'")];
  }
  const [main, alternative] = [pairOf(members, ""), pairOf(members, "_alt")];
  if (main?.fits === false) return [recordViolation("certificate does not match key")];
  if (alternative?.fits === false) return [recordViolation("alternative certificate does not match key")];
  const { key_type } = Object(members.acme) as { readonly key_type?: string };
  if (alternative !== undefined && alternative.type === orderedTypes[key_type ?? ""]) {
    return [recordViolation(`acme.key_type must differ from the type of 'key_alt', which is ${key_type} too`)];
  }
  return main && alternative && main.type === alternative.type
    ? [
        recordViolation(
          "certificate and alternative certificate need to have different type (e.g. RSA and ECDSA), the provided " +
            "certificates were both of the same type",
        ),
      ]
    : [];
};

/** The members that each type of a pending challenge needs. */
const challengeMembers: Readonly<Record<string, readonly string[]>> = {
  "http-01": ["token", "key_authorization"],
  "tls-alpn-01": ["cert", "key"],
};

export const acmeChallengeRule: RecordRule = (members) =>
  (challengeMembers[String(members.type)] ?? [])
    .filter((name) => members[name] === undefined)
    .map((name) => ({ path: [name], message: MISSING }));

/**
 * Requires one certificate of a CA, with Kong's messages. Expiry is not checked here, because the check of an entity
 * must not depend on the time: a stored configuration must stay valid after one of its CA certificates has expired. The
 * admin API refuses expired CA certificates.
 */
export const caCertificateRule: RecordRule = ({ cert }) => {
  if (typeof cert !== "string") return [];
  if (certificateBlocksIn(cert).length > 1) return [recordViolation("please submit only one certificate at a time")];
  // OpenSSL also reads blocks such as X509 CERTIFICATE, so it could trust a certificate that is not checked here.
  if (cert.split("-----BEGIN").length > 2)
    return [recordViolation("expected one block that begins with -----BEGIN CERTIFICATE-----, and no others")];
  return leafOf(cert)?.ca === false
    ? [recordViolation('certificate does not appear to be a CA because it is missing the "CA" basic constraint')]
    : [];
};

/** SHA-256 of the first certificate (DER) in hex; null if there is none, or if any certificate is unreadable. */
export function certificateDigest(pem: string): string | null {
  const leaf = leafOf(pem);
  return leaf === undefined ? null : hash("sha256", leaf.raw);
}

/** Kong's message for a CA certificate that has expired at `now`. Undefined: not expired, or other checks refuse it. */
export function expiredMessage(pem: string, now: Date): string | undefined {
  const leaf = certificateBlocksIn(pem).length > 1 ? undefined : leafOf(pem);
  return leaf !== undefined && leaf.validToDate < now
    ? 'certificate expired, "Not After" time is in the past'
    : undefined;
}

const WILDCARD =
  "must not have a wildcard: a CA validates wildcard names by the challenge dns-01, which Sluice cannot answer";

export const certificateTextRules = {
  "acme-domain": (value) => (value.includes("*") ? WILDCARD : hostRules.sni(value)),
  "https-url": (value) =>
    URL.canParse(value) && new URL(value).protocol === "https:"
      ? undefined
      : "expected a URL that begins with https://",
  "certificate-chain": (value) =>
    leafOf(value) === undefined ? "invalid certificate: expected certificates in PEM" : undefined,
  /** The message never quotes the key. */
  "private-key": (value) =>
    keyOf(value) === undefined ? "invalid key: expected a private key in PEM, not encrypted" : undefined,
} satisfies Readonly<Record<string, TextRule>>;
