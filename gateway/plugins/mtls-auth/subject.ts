/** The names of a client in its certificate. */
import type { X509Certificate } from "node:crypto";
import { isIPv4 } from "node:net";
import { type DerElement, derMembers, extensionIds, extensionsOf } from "./der.ts";

/** Context-specific tags of GeneralName (RFC 5280 section 4.2.1.6). */
const RFC822_NAME = 0x81;
const DNS_NAME = 0x82;
const URI = 0x86;
const IP_ADDRESS = 0x87;

export interface CertificateSubject {
  /** In the form of RFC 4514: the most specific part first. Empty: the certificate has alternative names only. */
  readonly distinguishedName: string;
  /** The most specific common name; null: the subject has none. */
  readonly commonName: string | null;
  /**
   * The subject alternative names that are e-mail addresses, DNS names, URIs or IP addresses, or the common name of a
   * certificate without this extension, as in Kong.
   */
  readonly names: readonly string[];
}

const known = new WeakMap<X509Certificate, CertificateSubject>();

/** @param certificate A verified certificate, whose extensions can be read */
export const subjectOf = (certificate: X509Certificate): CertificateSubject =>
  known.getOrInsertComputed(certificate, readSubject);

function readSubject(certificate: X509Certificate): CertificateSubject {
  const commonName = [certificate.toLegacyObject().subject?.CN ?? []].flat().at(-1) ?? null;
  const extension = extensionsOf(certificate).get(extensionIds.subjectAltName);
  const fallback = commonName === null ? [] : [commonName];
  return {
    distinguishedName: distinguishedNameOf(certificate.subject),
    commonName,
    names: extension === undefined ? fallback : derMembers(extension.value).flatMap(alternativeName),
  };
}

/**
 * A name in the form of RFC 4514. Node's text has one line for each part, with special characters of values
 * escaped; a part may join values by " + ". An empty name is undefined, which Node's types do not declare.
 */
const distinguishedNameOf = (name: string | undefined): string =>
  (name ?? "")
    .split("\n")
    .reverse()
    .map((part) => part.replaceAll(/ \+ (?=[\w.]+=)/g, "+"))
    .join(",");

/** The names of a certificate's subject and issuer in the form of RFC 4514. Its extensions are not read. */
export const distinguishedNamesOf = ({ subject, issuer }: X509Certificate) => ({
  subject: distinguishedNameOf(subject),
  issuer: distinguishedNameOf(issuer),
});

function alternativeName({ tag, content }: DerElement): string | readonly string[] {
  if (tag === RFC822_NAME || tag === DNS_NAME || tag === URI) return content.toString("latin1");
  return tag === IP_ADDRESS ? addressOf(content) : [];
}

function addressOf(bytes: Buffer): string | readonly string[] {
  const ipv4 = bytes.join(".");
  if (isIPv4(ipv4)) return ipv4;
  if (bytes.length !== 16) return [];
  const groups = bytes.toString("hex").match(/.{4}/g) ?? [];
  // The URL parser compresses zeros (RFC 5952).
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}
