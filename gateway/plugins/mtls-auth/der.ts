/**
 * Reads extensions and signature algorithms of certificates from their DER (X.690), because node:crypto shows only some
 * of them.
 */
import type { X509Certificate } from "node:crypto";

/** Tags of ASN.1 types; 0xa3 is the context-specific tag of the extensions (RFC 5280 section 4.1). */
export const BOOLEAN = 0x01;
export const INTEGER = 0x02;
const EXTENSIONS = 0xa3;
const LONG_LENGTH = 0x80;
/** Maximum bytes of an encoded length: enough, because OpenSSL limits all certificates of a handshake to 100 kB. */
const MOST_LENGTH_BYTES = 3;
const MULTI_BYTE_TAG = 0x1f;

export interface DerElement {
  readonly tag: number;
  readonly content: Buffer;
}

/**
 * The elements that follow one another in these bytes.
 *
 * @throws RangeError if they are malformed
 */
export function derElements(bytes: Buffer): readonly DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt8(at);
    if ((tag & MULTI_BYTE_TAG) === MULTI_BYTE_TAG) throw new RangeError("a tag has several bytes");
    const first = bytes.readUInt8(at + 1);
    const count = first < LONG_LENGTH ? 0 : first - LONG_LENGTH;
    if (first === LONG_LENGTH || count > MOST_LENGTH_BYTES) throw new RangeError("a length is not valid");
    const start = at + 2 + count;
    const end = start + (count === 0 ? first : bytes.readUIntBE(at + 2, count));
    if (end > bytes.length) throw new RangeError("an element ends too early");
    elements.push({ tag, content: bytes.subarray(start, end) });
    at = end;
  }
  return elements;
}

/** The content of the only element in these bytes. */
export function derContent(bytes: Buffer): Buffer {
  const [element, ...others] = derElements(bytes);
  if (element === undefined || others.length > 0) throw new RangeError("expected one element");
  return element.content;
}

/** The elements that the only element in these bytes contains. */
export const derMembers = (bytes: Buffer): readonly DerElement[] => derElements(derContent(bytes));

export interface Extension {
  readonly isCritical: boolean;
  /** The value of the extension in DER. */
  readonly value: Buffer;
}

/** OIDs of extensions (RFC 5280 section 4.2.1), encoded and in hex. */
export const extensionIds = {
  subjectKeyIdentifier: "551d0e",
  keyUsage: "551d0f",
  subjectAltName: "551d11",
  basicConstraints: "551d13",
  nameConstraints: "551d1e",
  certificatePolicies: "551d20",
  authorityKeyIdentifier: "551d23",
  extKeyUsage: "551d25",
} as const;

/**
 * The extensions of a certificate by their OIDs (`extensionIds`).
 *
 * @throws RangeError if the certificate is malformed
 */
export function extensionsOf({ raw }: X509Certificate): ReadonlyMap<string, Extension> {
  const [tbsCertificate] = derMembers(raw);
  const fields = derElements(tbsCertificate?.content ?? Buffer.alloc(0));
  const found = fields.find(({ tag }) => tag === EXTENSIONS);
  const extensions = new Map<string, Extension>();
  if (found === undefined) return extensions;
  for (const { content } of derMembers(found.content)) {
    const [id, ...rest] = derElements(content);
    const [first] = rest;
    const value = rest.at(-1);
    if (id === undefined || value === undefined) throw new RangeError("an extension has no value");
    const oid = id.content.toString("hex");
    // RFC 5280 section 4.2: a certificate has at most one instance of an extension.
    if (extensions.has(oid)) throw new RangeError("an extension is repeated");
    const isCritical = first?.tag === BOOLEAN && first.content[0] !== 0;
    extensions.set(oid, { isCritical, value: value.content });
  }
  return extensions;
}

/**
 * The algorithm of a certificate's signature (AlgorithmIdentifier, RFC 5280 section 4.1.1.2). OpenSSL verifies a
 * signature only if the signed part of the certificate names the same algorithm.
 *
 * @throws RangeError if the certificate is malformed
 */
export function signatureAlgorithmOf({ raw }: X509Certificate): {
  /** Encoded and in hex. */
  readonly oid: string;
  readonly parameters: readonly DerElement[];
} {
  const [, algorithm] = derMembers(raw);
  const [id, ...parameters] = derElements(algorithm?.content ?? Buffer.alloc(0));
  if (id === undefined) throw new RangeError("the signature has no algorithm");
  return { oid: id.content.toString("hex"), parameters };
}
