/** What a certificate may be used for (RFC 5280 section 4.2.1), apart from its signature. */
import type { X509Certificate } from "node:crypto";
import { derContent, derMembers, type Extension, extensionIds, extensionsOf, INTEGER } from "./der.ts";

const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
/** Bits of the extension keyUsage, in its first byte. */
const DIGITAL_SIGNATURE = 0x80;
const KEY_AGREEMENT = 0x08;
const KEY_CERT_SIGN = 0x04;

/** A certificate with another critical extension must be rejected (RFC 5280 section 4.2). */
const supported: ReadonlySet<string> = new Set([
  extensionIds.subjectKeyIdentifier,
  extensionIds.keyUsage,
  extensionIds.subjectAltName,
  extensionIds.basicConstraints,
  extensionIds.certificatePolicies,
  extensionIds.authorityKeyIdentifier,
  extensionIds.extKeyUsage,
]);

/** Signatures with these digests can be forged. The trust anchor's own signature is not verified. */
const BROKEN_DIGEST = /md[245]|sha-?1(?!\d)/i;

export interface CertificateFacts {
  readonly validFrom: number;
  readonly validTo: number;
  /** Why the certificate cannot be that of a client, whatever its issuer; null: it can. */
  readonly clientFault: string | null;
  /** Why the certificate cannot issue others; null: it can. */
  readonly issuerFault: string | null;
  /** Maximum number of intermediate certificates below; Infinity: any. */
  readonly maxPathLength: number;
  /** Whether the digest of the certificate's signature is broken. */
  readonly isForgeable: boolean;
}

/** Certificates of authorities, and those of a connection, are used repeatedly. */
const known = new WeakMap<X509Certificate, CertificateFacts>();

export const factsOf = (certificate: X509Certificate): CertificateFacts =>
  known.getOrInsertComputed(certificate, readFacts);

function readFacts(certificate: X509Certificate): CertificateFacts {
  const times = { validFrom: certificate.validFromDate.getTime(), validTo: certificate.validToDate.getTime() };
  const isForgeable = BROKEN_DIGEST.test(certificate.signatureAlgorithm ?? "");
  try {
    const extensions = extensionsOf(certificate);
    const common = commonFault(certificate, extensions);
    const usage = keyUsageOf(extensions);
    const names = extensions.get(extensionIds.subjectAltName);
    // `subjectOf` relies on readable names.
    if (names !== undefined) derMembers(names.value);
    return {
      ...times,
      isForgeable,
      clientFault: common ?? ((usage & (DIGITAL_SIGNATURE | KEY_AGREEMENT)) === 0 ? "its key must not sign" : null),
      issuerFault: common ?? issuerFault(certificate, usage, extensions),
      maxPathLength: maxPathLengthOf(extensions),
    };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const fault = "it is malformed";
    return { ...times, isForgeable, clientFault: fault, issuerFault: fault, maxPathLength: 0 };
  }
}

type Extensions = ReadonlyMap<string, Extension>;

/** `X509Certificate.keyUsage` is the extended key usage, which limits that of issued certificates too, as in OpenSSL. */
function commonFault({ keyUsage }: X509Certificate, extensions: Extensions): string | null {
  for (const [id, { isCritical }] of extensions) {
    if (isCritical && !supported.has(id) && id !== extensionIds.nameConstraints)
      return "it has a critical extension that Sluice does not support";
  }
  if (extensions.has(extensionIds.extKeyUsage) && !keyUsage?.includes(CLIENT_AUTH))
    return "its extended key usage does not include clientAuth";
  return null;
}

function issuerFault({ ca }: X509Certificate, usage: number, extensions: Extensions): string | null {
  if (!ca) return "it is not that of a CA";
  if ((usage & KEY_CERT_SIGN) === 0) return "its key must not sign certificates";
  // Ignoring them would admit names that the CA must not certify.
  if (extensions.has(extensionIds.nameConstraints)) return "it has name constraints, which Sluice does not support";
  return null;
}

/** Without the extension every use is allowed. */
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
