/** Certificates for mutual TLS between the operator and the nodes. Keys are on P-256. */
import { KeyObject, randomBytes, webcrypto } from "node:crypto";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

x509.cryptoProvider.set(webcrypto as Crypto);

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const years = 10;

/** PEM texts by the names that operator and gateway read them by. The authority's key is thrown away. */
export type PushCertificates = Readonly<
  Record<"ca.crt" | "operator.crt" | "operator.key" | "gateway.crt" | "gateway.key", string>
>;

/** An authority that nobody else knows, and what it signs for the two sides: good for ten years from now. */
export async function makePushCertificates(now = new Date()): Promise<PushCertificates> {
  // Clocks of nodes differ: nobody should find a certificate that is not valid yet.
  const from = new Date(now.getTime() - 60 * 60 * 1000);
  const until = new Date(now);
  until.setUTCFullYear(until.getUTCFullYear() + years);
  const validity = { notBefore: from, notAfter: until };
  const keys = await keyPair();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: ["sluice-push"] }],
    keys,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const issue = async (name: string, usage: "clientAuth" | "serverAuth") => {
    const own = await keyPair();
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: [{ CN: [name] }],
      issuer: authority.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      ...validity,
      extensions: [
        new x509.BasicConstraintsExtension(false),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage[usage]]),
        await x509.AuthorityKeyIdentifierExtension.create(authority),
        new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }]),
      ],
    });
    return { certificate: certificate.toString("pem"), key: pemOf(own.privateKey) };
  };
  const [operator, gateway] = await Promise.all([
    issue("sluice-operator", "clientAuth"),
    issue("sluice-gateway", "serverAuth"),
  ]);
  return {
    "ca.crt": authority.toString("pem"),
    "operator.crt": operator.certificate,
    "operator.key": operator.key,
    "gateway.crt": gateway.certificate,
    "gateway.key": gateway.key,
  };
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
