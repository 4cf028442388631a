/** Creates a certificate authority and the certificates that it signs. Keys are on P-256. */
import { KeyObject, randomBytes, webcrypto } from "node:crypto";
import { isIP } from "node:net";

/** A certificate and its private key (PKCS #8), both PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  readonly from: Date;
  readonly until: Date;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/**
 * Loads the X.509 library on first use: a process whose certificates come from elsewhere never needs it. The library's
 * decorators require that reflect-metadata is loaded first.
 */
async function loadX509() {
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto as Crypto);
  return x509;
}

export async function createAuthority(name: string, { from, until }: Validity): Promise<CertificatePair> {
  const x509 = await loadX509();
  const keys = await keyPair();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [name] }],
    keys,
    signingAlgorithm: algorithm,
    notBefore: from,
    notAfter: until,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: certificate.toString("pem"), key: pemOf(keys.privateKey) };
}

export interface CertificatePurpose {
  /** Host names and addresses, at least one. The common name is the first 64 characters of the first name. */
  readonly names: readonly string[];
  /** The roles in which peers accept the certificate; `peer`: both. */
  readonly usage: CertificateUsage;
}

export type CertificateUsage = keyof typeof usagePurposes;

/** The object identifiers of extended key usages (RFC 5280, 4.2.1.12). */
const [SERVER_AUTH, CLIENT_AUTH] = ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"];

/** The extended key usages of certificates. */
export const usagePurposes = {
  client: [CLIENT_AUTH],
  server: [SERVER_AUTH],
  peer: [SERVER_AUTH, CLIENT_AUTH],
} as const;

export async function issueCertificate(
  authority: CertificatePair,
  { names, usage }: CertificatePurpose,
  validity: Validity,
): Promise<CertificatePair> {
  const x509 = await loadX509();
  const issuer = new x509.X509Certificate(authority.certificate);
  const der = x509.PemConverter.decodeFirst(authority.key);
  const signingKey = await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]);
  const keys = await keyPair();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [(names[0] ?? "").slice(0, 64)] }],
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    notBefore: validity.from,
    notAfter: validity.until,
    extensions: [
      new x509.BasicConstraintsExtension(false),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([...usagePurposes[usage]]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value }) as const),
      ),
    ],
  });
  return { certificate: certificate.toString("pem"), key: pemOf(keys.privateKey) };
}

const keyPair = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]) as Promise<webcrypto.CryptoKeyPair>;

const pemOf = (key: webcrypto.CryptoKey): string =>
  KeyObject.from(key).export({ type: "pkcs8", format: "pem" }).toString();

/** 16 bytes, positive in ASN.1 (RFC 5280, 4.1.2.2); 126 of the bits are random. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("hex");
}
