import { webcrypto } from "node:crypto";
import { isIP } from "node:net";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

x509.cryptoProvider.set(webcrypto as Crypto);

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const usages = { client: ["clientAuth"], server: ["serverAuth"], peer: ["serverAuth", "clientAuth"] } as const;
const day = 24 * 60 * 60 * 1000;

/** A certificate and its private key (PKCS #8), both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** The subject, usage and validity of a certificate. */
export interface IssueOptions {
  /** Common name: the user, for a Kubernetes client. */
  readonly name: string;
  /** Organizations: the groups, for a Kubernetes client. */
  readonly organizations?: readonly string[];
  /** Subject alternative names: DNS names, IP addresses, or URIs (with "://"). */
  readonly sans?: readonly string[];
  /** Extended key usage; peer: both. */
  readonly usage: "client" | "server" | "peer";
  /** The start of validity. Default: a day ago, because clocks of test machines differ. */
  readonly notBefore?: Date;
  /** The end of validity. Default: in a day. */
  readonly notAfter?: Date;
}

type AuthorityValidity = Pick<IssueOptions, "notAfter">;

/** A certificate authority of a test, with a key on P-256. */
export interface TestAuthority {
  /** The authority's certificate, PEM. It is self-signed, unless this is an intermediate authority. */
  readonly certificate: string;
  issue(options: IssueOptions): Promise<KeyPair>;
  /** Creates an intermediate authority, whose certificate this authority signs. */
  delegate(name: string): Promise<TestAuthority>;
}

/**
 * Creates a certificate authority for one test.
 *
 * @param validity The end of validity. Default: in a day.
 */
export const makeAuthority = (
  name = "sluice test authority",
  validity: AuthorityValidity = {},
): Promise<TestAuthority> => createAuthority(name, null, validity);

/** @param signer The authority that signs the certificate; null: it is self-signed. */
async function createAuthority(
  name: string,
  signer: { readonly certificate: x509.X509Certificate; readonly key: webcrypto.CryptoKey } | null,
  { notAfter = new Date(Date.now() + day) }: AuthorityValidity = {},
): Promise<TestAuthority> {
  const { publicKey, privateKey } = await keyPair();
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [{ CN: [name] }],
    issuer: signer?.certificate.subject ?? [{ CN: [name] }],
    publicKey,
    signingKey: signer?.key ?? privateKey,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - day),
    notAfter,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
    ],
  });
  return {
    certificate: certificate.toString("pem"),
    issue: (options) => issue({ certificate, signingKey: privateKey, options }),
    delegate: (below) => createAuthority(below, { certificate, key: privateKey }),
  };
}

async function issue(request: {
  certificate: x509.X509Certificate;
  signingKey: webcrypto.CryptoKey;
  options: IssueOptions;
}): Promise<KeyPair> {
  const { name, organizations = [], sans = [], usage, notBefore, notAfter } = request.options;
  const keys = await keyPair();
  const extensions: x509.Extension[] = [
    new x509.BasicConstraintsExtension(false),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension(usages[usage].map((each) => x509.ExtendedKeyUsage[each])),
    await x509.AuthorityKeyIdentifierExtension.create(request.certificate),
  ];
  if (sans.length > 0) extensions.push(new x509.SubjectAlternativeNameExtension(sans.map(generalName)));
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [...organizations.map((organization) => ({ O: [organization] })), { CN: [name] }],
    issuer: request.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: request.signingKey,
    signingAlgorithm: algorithm,
    notBefore: notBefore ?? new Date(Date.now() - day),
    notAfter: notAfter ?? new Date(Date.now() + day),
    extensions,
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { certificate: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
}

function keyPair(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]) as Promise<webcrypto.CryptoKeyPair>;
}

function generalName(san: string): { type: "url" | "ip" | "dns"; value: string } {
  if (san.includes("://")) return { type: "url", value: san };
  return { type: isIP(san) === 0 ? "dns" : "ip", value: san };
}
