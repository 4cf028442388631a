/** Decides what a certificate may be used for (RFC 5280 section 4.2.1), without verifying its signature. */
import type { KeyObject, X509Certificate } from "node:crypto";
import {
  derContent,
  derElements,
  derMembers,
  type Extension,
  extensionIds,
  extensionsOf,
  INTEGER,
  signatureAlgorithmOf,
} from "./der.ts";

const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
/** Bits of the extension keyUsage, in its first byte. */
const DIGITAL_SIGNATURE = 0x80;
const KEY_AGREEMENT = 0x08;
const KEY_CERT_SIGN = 0x04;

/**
 * Extensions that may be critical. A certificate with any other critical extension must be rejected (RFC 5280 section
 * 4.2), except for name constraints, which `issuerFault` checks.
 */
const supported: ReadonlySet<string> = new Set([
  extensionIds.subjectKeyIdentifier,
  extensionIds.keyUsage,
  extensionIds.subjectAltName,
  extensionIds.basicConstraints,
  extensionIds.certificatePolicies,
  extensionIds.authorityKeyIdentifier,
  extensionIds.extKeyUsage,
]);

/**
 * OIDs of accepted signature algorithms other than RSASSA-PSS, encoded and in hex. Signatures with weaker digests, such
 * as SHA-1, can be forged. The trust anchor's own signature may have any algorithm.
 */
const acceptedAlgorithms: ReadonlySet<string> = new Set([
  // RSASSA-PKCS1-v1_5 with SHA-256, SHA-384 and SHA-512 (RFC 8017).
  ...["2a864886f70d01010b", "2a864886f70d01010c", "2a864886f70d01010d"],
  // ECDSA with SHA-256, SHA-384 and SHA-512 (RFC 5758).
  ...["2a8648ce3d040302", "2a8648ce3d040303", "2a8648ce3d040304"],
  // Ed25519 and Ed448 (RFC 8410).
  ...["2b6570", "2b6571"],
]);
const RSASSA_PSS = "2a864886f70d01010a";
/** OIDs of SHA-256, SHA-384 and SHA-512. */
const acceptedDigests: ReadonlySet<string> = new Set(["01", "02", "03"].map((last) => `6086480165030402${last}`));
/** Tag of hashAlgorithm in the parameters of RSASSA-PSS (RFC 4055 section 3.1); without it the digest is SHA-1. */
const HASH_ALGORITHM = 0xa0;

/** Maximum size of RSA keys: verifying with larger keys takes long. */
const MAX_RSA_BITS = 8192;
const MAX_RSA_EXPONENT = 2n ** 32n;
/** OpenSSL's names of the accepted curves. Verifying with other curves can take milliseconds. */
const acceptedCurves: ReadonlySet<string> = new Set(["prime256v1", "secp384r1", "secp521r1"]);

export interface CertificateFacts {
  readonly validFrom: number;
  readonly validTo: number;
  /** Why the certificate cannot be used by a client, whatever its issuer; null: it can be used. */
  readonly clientFault: string | null;
  /** Why the certificate cannot issue other certificates; null: it can. */
  readonly issuerFault: string | null;
  /** Maximum number of intermediate certificates below this one; Infinity: no limit. */
  readonly maxPathLength: number;
  /** Whether the certificate's signature has an accepted algorithm and digest. */
  readonly isSignatureAccepted: boolean;
}

/** Cached, because certificates of authorities and of open connections are used repeatedly. */
const known = new WeakMap<X509Certificate, CertificateFacts>();

export const factsOf = (certificate: X509Certificate): CertificateFacts =>
  known.getOrInsertComputed(certificate, readFacts);

function readFacts(certificate: X509Certificate): CertificateFacts {
  const times = { validFrom: certificate.validFromDate.getTime(), validTo: certificate.validToDate.getTime() };
  try {
    const extensions = extensionsOf(certificate);
    const common = commonFault(certificate, extensions);
    const usage = keyUsageOf(extensions);
    const names = extensions.get(extensionIds.subjectAltName);
    // Throws for malformed names, which `subjectOf` could not read.
    if (names !== undefined) derMembers(names.value);
    return {
      ...times,
      isSignatureAccepted: hasAcceptedSignature(certificate),
      clientFault:
        common ?? ((usage & (DIGITAL_SIGNATURE | KEY_AGREEMENT)) === 0 ? "its key usage allows no signatures" : null),
      issuerFault: common ?? issuerFault(certificate, usage, extensions),
      maxPathLength: maxPathLengthOf(extensions),
    };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const fault = "it is malformed";
    return { ...times, isSignatureAccepted: false, clientFault: fault, issuerFault: fault, maxPathLength: 0 };
  }
}

type Extensions = ReadonlyMap<string, Extension>;

/**
 * Why a certificate can be used neither by a client nor as an issuer; null: neither is ruled out. Node's `keyUsage` is
 * the extended key usage. As in OpenSSL, a CA's extended key usage also limits the certificates that it issues.
 */
function commonFault({ keyUsage }: X509Certificate, extensions: Extensions): string | null {
  for (const [id, { isCritical }] of extensions) {
    if (isCritical && !supported.has(id) && id !== extensionIds.nameConstraints)
      return "it has a critical extension that Sluice does not support";
  }
  if (extensions.has(extensionIds.extKeyUsage) && !keyUsage?.includes(CLIENT_AUTH))
    return "its extended key usage does not include clientAuth";
  return null;
}

function issuerFault(certificate: X509Certificate, usage: number, extensions: Extensions): string | null {
  if (!certificate.ca) return "it is not a CA certificate";
  if ((usage & KEY_CERT_SIGN) === 0) return "its key usage does not allow signing certificates";
  // Ignoring name constraints would admit names that the CA must not certify.
  if (extensions.has(extensionIds.nameConstraints)) return "it has name constraints, which Sluice does not support";
  return isAcceptedKey(certificate) ? null : "its key has a type, curve or size that Sluice does not support";
}

/** Whether signatures may be verified with the certificate's key. */
export function isAcceptedKey(certificate: Pick<X509Certificate, "publicKey">): boolean {
  let key: KeyObject;
  try {
    key = certificate.publicKey;
  } catch {
    // OpenSSL does not know the algorithm, or cannot read the key.
    return false;
  }
  const { modulusLength, publicExponent, namedCurve } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case "rsa":
    case "rsa-pss":
      return (modulusLength ?? Infinity) <= MAX_RSA_BITS && (publicExponent ?? MAX_RSA_EXPONENT) < MAX_RSA_EXPONENT;
    case "ec":
      return acceptedCurves.has(namedCurve ?? "");
    default:
      return key.asymmetricKeyType === "ed25519" || key.asymmetricKeyType === "ed448";
  }
}

function hasAcceptedSignature(certificate: X509Certificate): boolean {
  const { oid, parameters } = signatureAlgorithmOf(certificate);
  if (oid !== RSASSA_PSS) return acceptedAlgorithms.has(oid);
  const digest = parameters.flatMap(({ content }) => derElements(content)).find(({ tag }) => tag === HASH_ALGORITHM);
  const [id] = digest === undefined ? [] : derMembers(digest.content);
  return acceptedDigests.has(id?.content.toString("hex") ?? "");
}

/** The bits in the first byte of keyUsage. Without the extension, every use is allowed. */
function keyUsageOf(extensions: Extensions): number {
  const extension = extensions.get(extensionIds.keyUsage);
  // The first byte of a BIT STRING is the number of unused bits.
  return extension === undefined ? 0xff : (derContent(extension.value)[1] ?? 0);
}

function maxPathLengthOf(extensions: Extensions): number {
  const extension = extensions.get(extensionIds.basicConstraints);
  const members = extension === undefined ? [] : derMembers(extension.value);
  const length = members.find(({ tag }) => tag === INTEGER)?.content;
  if (length === undefined) return Number.POSITIVE_INFINITY;
  return length.length === 1 ? length.readInt8(0) : 0;
}
