/** Keys, credentials and tokens of all algorithms, for the tests of jwt. */
import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { ExchangeCredentials } from "@sluice/plugin-sdk";
import { fakeConsumer } from "../../../test/plugins/fake-exchange.ts";

export const tokenConsumer = fakeConsumer({ username: "bob", custom_id: "crm-7" });
export const TOKEN_TIME = 1_700_000_000;

export const keyPairs = {
  rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  /** A key pair whose parameters allow SHA-256 only. */
  pss256: generateKeyPairSync("rsa-pss", { modulusLength: 2048, hashAlgorithm: "sha256", mgf1HashAlgorithm: "sha256" }),
  es256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  es384: generateKeyPairSync("ec", { namedCurve: "P-384" }),
  es512: generateKeyPairSync("ec", { namedCurve: "P-521" }),
  ed: generateKeyPairSync("ed25519"),
  ed448: generateKeyPairSync("ed448"),
};
export const pemOf = (key: KeyObject) => key.export({ type: "spki", format: "pem" }).toString();

export type Credential = ExchangeCredentials["jwt_secrets"];

export function jwtCredential(
  key: string,
  algorithm: string,
  { secret = null, pem = null }: { secret?: string | null; pem?: string | null },
): Credential {
  return { id: `id-${key}`, consumer: { id: tokenConsumer.id }, key, secret, rsa_public_key: pem, algorithm };
}

const privateKeys: Readonly<Record<string, KeyObject>> = {
  RS: keyPairs.rsa.privateKey,
  PS: keyPairs.rsa.privateKey,
  ES256: keyPairs.es256.privateKey,
  ES384: keyPairs.es384.privateKey,
  ES512: keyPairs.es512.privateKey,
  EdDSA: keyPairs.ed.privateKey,
};
export const HMAC_SECRET = "a shared secret";
export const testedAlgorithms = [
  ...["HS", "RS", "ES", "PS"].flatMap((family) => [256, 384, 512].map((bits) => `${family}${bits}`)),
  "EdDSA",
];
const keyFor = (algorithm: string) =>
  privateKeys[algorithm] ?? privateKeys[algorithm.slice(0, 2)] ?? keyPairs.rsa.privateKey;
export const publicPem = (algorithm: string) => {
  const pair = Object.values(keyPairs).find(({ privateKey }) => privateKey === keyFor(algorithm));
  return pemOf((pair ?? keyPairs.rsa).publicKey);
};
export const jwtCredentials = Object.fromEntries(
  testedAlgorithms.map((algorithm) => [
    algorithm,
    jwtCredential(
      algorithm,
      algorithm,
      algorithm.startsWith("HS") ? { secret: HMAC_SECRET } : { pem: publicPem(algorithm) },
    ),
  ]),
);

export const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

function signatureOf(algorithm: string, text: string, secret: string | Buffer = HMAC_SECRET): Buffer {
  if (algorithm.startsWith("HS"))
    return createHmac(`sha${algorithm.slice(2)}`, secret)
      .update(text)
      .digest();
  const key = keyFor(algorithm);
  const bytes = Buffer.from(text);
  if (algorithm === "EdDSA") return sign(null, bytes, key);
  const digest = `sha${algorithm.slice(2)}`;
  if (algorithm.startsWith("RS")) return sign(digest, bytes, key);
  if (algorithm.startsWith("ES")) return sign(digest, bytes, { key, dsaEncoding: "ieee-p1363" });
  return sign(digest, bytes, {
    key,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  });
}

interface Making {
  readonly algorithm?: string;
  readonly header?: object;
  readonly claims?: unknown;
  readonly secret?: string | Buffer;
}

export function tokenOf({
  algorithm = "HS256",
  header = {},
  claims = { iss: algorithm },
  secret = HMAC_SECRET,
}: Making = {}): string {
  const signed = `${base64url({ typ: "JWT", alg: algorithm, ...header })}.${base64url(claims)}`;
  return `${signed}.${signatureOf(algorithm, signed, secret).toString("base64url")}`;
}

export function signedWithEd448(): string {
  const signed = `${base64url({ typ: "JWT", alg: "EdDSA" })}.${base64url({ iss: "ed448" })}`;
  return `${signed}.${sign(null, Buffer.from(signed), keyPairs.ed448.privateKey).toString("base64url")}`;
}
