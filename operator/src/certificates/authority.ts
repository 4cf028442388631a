/** Making certificates: an authority of our own and what it signs. Keys are on P-256. */
import { KeyObject, randomBytes, webcrypto } from "node:crypto";
import { isIP } from "node:net";

/** A certificate and its private key (PKCS #8), both PEM. */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  readonly from: Date;
  readonly until: Date;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/**
 * The library comes with its first use: a process that finds certificates of somebody else's making never needs it, and
 * its decorators want Reflect's metadata to be there first.
 */
async function load() {
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto as Crypto);
  return x509;
}

/** A certificate authority that signs itself. */
export async function makeAuthority(name: string, { from, until }: Validity): Promise<Pair> {
  const x509 = await load();
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

/** What a certificate is for. */
export interface Purpose {
  /** Host names and addresses, at least one; the first is its common name. */
  readonly names: readonly string[];
  /** What it may be shown as: those of the other kind refuse it. */
  readonly usage: "client" | "server";
}

export async function issue(authority: Pair, { names, usage }: Purpose, validity: Validity): Promise<Pair> {
  const x509 = await load();
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
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage[usage === "server" ? "serverAuth" : "clientAuth"]]),
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

/** 128 random bits that are positive in ASN.1 (RFC 5280, 4.1.2.2). */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("hex");
}
