/** Certificates of clients and authorities with any extensions, for the tests of mtls-auth. */
import { webcrypto, X509Certificate } from "node:crypto";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

x509.cryptoProvider.set(webcrypto as Crypto);

export const VERIFICATION_TIME = Date.parse("2026-06-01T00:00:00Z");
const DAY = 86_400_000;

export interface CertificateOptions {
  /** In the form of RFC 4514, but the least specific part first. */
  readonly subject: string;
  /** Default: self-signed. */
  readonly issuer?: SignedCertificate;
  readonly isAuthority?: boolean;
  readonly pathLength?: number;
  /** Default: digitalSignature; keyCertSign for an authority. Null: no extension. */
  readonly keyUsage?: x509.KeyUsageFlags | null;
  /** Default: clientAuth; none for an authority. */
  readonly extendedKeyUsage?: readonly string[];
  readonly names?: x509.JsonGeneralNames;
  readonly validFrom?: number;
  readonly validTo?: number;
  readonly extensions?: readonly x509.Extension[];
  readonly digest?: "SHA-1" | "SHA-256";
  /** The scheme of the key and of the signature. It must be the scheme of the issuer's key. Default: ECDSA. */
  readonly scheme?: "ECDSA" | "RSA-PSS";
  /** Default: a new key pair. */
  readonly keyPair?: webcrypto.CryptoKeyPair;
}

export interface SignedCertificate {
  /** The certificate as `TLSSocket` returns it. */
  readonly certificate: X509Certificate;
  readonly pem: string;
  /** The private key, PKCS #8 in PEM. */
  readonly key: string;
  readonly keys: webcrypto.CryptoKeyPair;
}

export async function issueTestCertificate(options: CertificateOptions): Promise<SignedCertificate> {
  const { subject, issuer, isAuthority = false, names, extendedKeyUsage, digest = "SHA-256" } = options;
  const { scheme = "ECDSA" } = options;
  const rsa = { modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), saltLength: 20 };
  const algorithm = { name: scheme, hash: digest, ...(scheme === "ECDSA" ? { namedCurve: "P-256" } : rsa) };
  const generated = () => webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const keys = options.keyPair ?? ((await generated()) as webcrypto.CryptoKeyPair);
  const signs = isAuthority ? x509.KeyUsageFlags.keyCertSign : x509.KeyUsageFlags.digitalSignature;
  const keyUsage = options.keyUsage === undefined ? signs : options.keyUsage;
  const purposes = extendedKeyUsage ?? (isAuthority ? [] : [x509.ExtendedKeyUsage.clientAuth]);
  const made = await x509.X509CertificateGenerator.create({
    subject,
    issuer: issuer === undefined ? subject : new x509.X509Certificate(issuer.pem).subjectName.toString(),
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    signingAlgorithm: algorithm,
    notBefore: new Date(options.validFrom ?? VERIFICATION_TIME - DAY),
    notAfter: new Date(options.validTo ?? VERIFICATION_TIME + DAY),
    extensions: [
      new x509.BasicConstraintsExtension(isAuthority, options.pathLength, true),
      ...(keyUsage === null ? [] : [new x509.KeyUsagesExtension(keyUsage, true)]),
      ...(purposes.length > 0 ? [new x509.ExtendedKeyUsageExtension([...purposes])] : []),
      ...(names === undefined ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
      ...(options.extensions ?? []),
    ],
  });
  const pem = made.toString("pem");
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  const key = x509.PemConverter.encode(pkcs8, "PRIVATE KEY");
  return { certificate: new X509Certificate(pem), pem, key, keys };
}

export const issueAuthority = (
  subject: string,
  options: Partial<CertificateOptions> = {},
): Promise<SignedCertificate> => issueTestCertificate({ subject, isAuthority: true, ...options });

export { KeyUsageFlags } from "@peculiar/x509";
export const { serverAuth, clientAuth } = x509.ExtendedKeyUsage as unknown as Record<string, string>;

/** An extension that no verifier knows. */
export const unknownExtension = (isCritical: boolean) =>
  new x509.Extension("1.3.6.1.4.1.99999.1", isCritical, new Uint8Array([5, 0]).buffer);

/** Subject alternative names that are shorter than their encoded length. */
export const malformedNames = new x509.Extension("2.5.29.17", false, new Uint8Array([0x30, 9, 0x82, 1, 97]).buffer);

/** An extension that permits only DNS names below example.com. */
export const nameConstraints = (isCritical: boolean): x509.Extension => {
  const name = Buffer.from("example.com");
  const value = Buffer.concat([
    Buffer.from([0x30, name.length + 6, 0xa0, name.length + 4, 0x30, name.length + 2, 0x82, name.length]),
    name,
  ]);
  return new x509.Extension("2.5.29.30", isCritical, new Uint8Array(value).buffer);
};
