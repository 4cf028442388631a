import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { isAcceptedKey } from "./constraints.ts";
import {
  type CertificateOptions,
  issueAuthority,
  issueTestCertificate,
  KeyUsageFlags,
  malformedNames,
  nameConstraints,
  type SignedCertificate,
  serverAuth,
  unknownExtension,
  VERIFICATION_TIME,
} from "./testing.ts";
import { type ChainOptions, verifyChain } from "./verify-chain.ts";

const HOUR = 3_600_000;
const root = await issueAuthority("CN=root");
const intermediate = await issueAuthority("CN=intermediate", { issuer: root });
const leafOf = (issuer: SignedCertificate, options: Partial<CertificateOptions> = {}) =>
  issueTestCertificate({ subject: "CN=client", issuer, ...options });
const below = (options: Partial<CertificateOptions>) => issueAuthority("CN=intermediate", { issuer: root, ...options });

interface Case {
  readonly sent: readonly SignedCertificate[];
  /** Default: the root. */
  readonly trusted?: readonly SignedCertificate[];
  readonly partial?: boolean;
  readonly maxIntermediates?: number;
  readonly now?: number;
}

const verify = ({ sent, trusted = [root], partial = false, maxIntermediates, now = VERIFICATION_TIME }: Case) =>
  verifyChain(
    sent.map(({ certificate }) => certificate),
    {
      authorities: trusted.map(({ certificate }, at) => ({ id: `ca-${at}`, certificate })),
      allowPartialChain: partial,
      maxIntermediates: maxIntermediates ?? null,
      now,
    } satisfies ChainOptions,
  );

const leaf = await leafOf(root);
const deepLeaf = await leafOf(intermediate);
const otherRoot = await issueAuthority("CN=other");
/** A root with the name of the trusted root, but another key. */
const forgedRoot = await issueAuthority("CN=root");
const forgedIntermediate = await issueAuthority("CN=intermediate", { issuer: forgedRoot });
const expired = { validTo: VERIFICATION_TIME - HOUR };
const future = { validFrom: VERIFICATION_TIME + HOUR };
const limited = await issueAuthority("CN=limited", { pathLength: 0 });
const belowLimited = await issueAuthority("CN=below", { issuer: limited });
const expiredRoot = await issueAuthority("CN=expired", expired);
const constrained = await issueAuthority("CN=constrained", { extensions: [nameConstraints(false)] });

async function chainOf(length: number): Promise<readonly SignedCertificate[]> {
  const chain: SignedCertificate[] = [];
  let issuer = root;
  for (let at = 0; at < length; at++) {
    issuer = await issueAuthority(`CN=level ${at}`, { issuer });
    chain.unshift(issuer);
  }
  return [await leafOf(issuer), ...chain];
}

/** Trusted certificates with equal names, none of which has signed the client's certificate. */
const namesakes = await Promise.all(Array.from({ length: 17 }, () => issueAuthority("CN=namesake")));
const bySameName = await leafOf(await issueAuthority("CN=namesake"));

/** Certificates that all have the same name and key, so that each may have issued every other. */
const mutual = await issueAuthority("CN=mutual");
const oneAnother = await Promise.all(
  Array.from({ length: 19 }, () => issueAuthority("CN=mutual", { issuer: mutual, keyPair: mutual.keys })),
);
const byOneAnother = await leafOf(mutual);
/** A certificate that names the trusted root as its issuer, but is not signed by it. */
const belowNameOfRoot = await issueAuthority("CN=mutual", { issuer: forgedRoot, keyPair: mutual.keys });

const pss = { scheme: "RSA-PSS" } as const;
const pssRoot = await issueAuthority("CN=pss", pss);
const weakPss = { scheme: "RSA-PSS", digest: "SHA-1" } as const;
const weakPssRoot = await issueAuthority("CN=weak pss", weakPss);
/** A public key with an arbitrary odd modulus of this size, because generating a real key takes seconds. */
function rsaKey(bits: number, exponent: readonly number[] = [1, 0, 1]): KeyObject {
  const [n, e] = [Buffer.alloc(bits / 8, 0xff), Buffer.from(exponent)].map((each) => each.toString("base64url"));
  return createPublicKey({ key: { kty: "RSA", n, e }, format: "jwk" });
}

/** An authority with a public exponent that makes verifications slow. */
const unusual = await issueAuthority("CN=unusual", {
  ...pss,
  keyPair: {
    publicKey: rsaKey(2048, [1, 0, 0, 0, 1]).toCryptoKey({ name: "RSA-PSS", hash: "SHA-256" }, true, ["verify"]),
    privateKey: pssRoot.keys.privateKey,
  },
});

const accepted: readonly (readonly [what: string, of: Case, authorities?: readonly string[]])[] = [
  ["a certificate that the root has issued", { sent: [leaf] }],
  ["the last of several authorities as its root", { sent: [leaf], trusted: [otherRoot, forgedRoot, root] }, ["ca-2"]],
  ["an intermediate certificate that the client sends", { sent: [deepLeaf, intermediate] }],
  ["the root that the client sends too", { sent: [deepLeaf, intermediate, root] }],
  ["certificates in another order, and unrelated certificates", { sent: [deepLeaf, root, otherRoot, intermediate] }],
  [
    "an intermediate certificate that is configured beside its root",
    { sent: [deepLeaf], trusted: [root, intermediate] },
    ["ca-1", "ca-0"],
  ],
  [
    "a configured intermediate certificate without its root, with allow_partial_chain",
    { sent: [deepLeaf], trusted: [intermediate], partial: true },
  ],
  ["a certificate without key usages", { sent: [await leafOf(root, { keyUsage: null, extendedKeyUsage: [] })] }],
  ["a key usage of keyAgreement only", { sent: [await leafOf(root, { keyUsage: KeyUsageFlags.keyAgreement })] }],
  [
    "an unknown extension that is not critical",
    { sent: [await leafOf(root, { extensions: [unknownExtension(false)] })] },
  ],
  ["an authority with the path length 0 above a client", { sent: [await leafOf(limited)], trusted: [limited] }],
  ["a signature of RSASSA-PSS with SHA-256", { sent: [await leafOf(pssRoot, pss)], trusted: [pssRoot] }],
  ["a chain of ten certificates", { sent: await chainOf(8) }],
  ["an allowed intermediate certificate", { sent: [deepLeaf, intermediate], maxIntermediates: 1 }],
];

const badIssuer = "the certificate of an issuer cannot be used: ";
const badClient = "the client's certificate cannot be used: ";
const noIssuer = "no chain leads to a trusted CA certificate";
const broken = "a signature of the chain uses an algorithm or digest that is not accepted";

const refused: readonly (readonly [what: string, of: Case, fault: string])[] = [
  ["no certificate", { sent: [] }, "the client sent no certificate"],
  ["a certificate of another authority", { sent: [leaf], trusted: [otherRoot] }, noIssuer],
  [
    "more intermediate certificates than are allowed",
    { sent: [deepLeaf, intermediate], maxIntermediates: 0 },
    "the chain has more intermediate certificates than are allowed",
  ],
  ["no authority", { sent: [leaf], trusted: [] }, noIssuer],
  ["a self-signed certificate", { sent: [await issueTestCertificate({ subject: "CN=client" })] }, noIssuer],
  [
    "a self-signed certificate with the name of the root",
    { sent: [await issueTestCertificate({ subject: "CN=root" })] },
    noIssuer,
  ],
  ["a certificate of a forged root", { sent: [await leafOf(forgedRoot)] }, noIssuer],
  ["a forged root that the client sends", { sent: [await leafOf(forgedRoot), forgedRoot] }, noIssuer],
  [
    "a forged intermediate certificate",
    { sent: [await leafOf(forgedIntermediate), forgedIntermediate, forgedRoot] },
    noIssuer,
  ],
  ["the root itself as the client", { sent: [root] }, `${badClient}its key usage allows no signatures`],
  ["a missing intermediate certificate", { sent: [deepLeaf] }, noIssuer],
  ["a partial chain without allow_partial_chain", { sent: [deepLeaf], trusted: [intermediate] }, noIssuer],
  [
    "an untrusted chain with allow_partial_chain",
    { sent: [deepLeaf, intermediate], trusted: [otherRoot], partial: true },
    noIssuer,
  ],
  ["an expired certificate", { sent: [await leafOf(root, expired)] }, "the client's certificate has expired"],
  ["a certificate not valid yet", { sent: [await leafOf(root, future)] }, "the client's certificate is not valid yet"],
  ["an expired authority", { sent: [await leafOf(expiredRoot)], trusted: [expiredRoot] }, `${badIssuer}it has expired`],
  [
    "an intermediate certificate that is not valid yet",
    await below(future).then(async (issuer) => ({ sent: [await leafOf(issuer), issuer] })),
    `${badIssuer}it is not valid yet`,
  ],
  [
    "a certificate for servers",
    { sent: [await leafOf(root, { extendedKeyUsage: [serverAuth ?? ""] })] },
    `${badClient}its extended key usage does not include clientAuth`,
  ],
  [
    "an intermediate certificate for servers",
    await below({ extendedKeyUsage: [serverAuth ?? ""] }).then(async (issuer) => ({
      sent: [await leafOf(issuer), issuer],
    })),
    `${badIssuer}its extended key usage does not include clientAuth`,
  ],
  [
    "a key that only encrypts",
    { sent: [await leafOf(root, { keyUsage: KeyUsageFlags.keyEncipherment })] },
    `${badClient}its key usage allows no signatures`,
  ],
  [
    "a client's certificate as an issuer",
    await leafOf(root, { keyUsage: null }).then(async (issuer) => ({ sent: [await leafOf(issuer), issuer] })),
    `${badIssuer}it is not a CA certificate`,
  ],
  [
    "an authority whose key must not sign certificates",
    await below({ keyUsage: KeyUsageFlags.digitalSignature }).then(async (issuer) => ({
      sent: [await leafOf(issuer), issuer],
    })),
    noIssuer,
  ],
  [
    "more intermediate certificates than the path length allows",
    { sent: [await leafOf(belowLimited), belowLimited], trusted: [limited] },
    `${badIssuer}there are more certificates below it than its path length allows`,
  ],
  [
    "an authority with name constraints",
    { sent: [await leafOf(constrained)], trusted: [constrained] },
    `${badIssuer}it has name constraints, which Sluice does not support`,
  ],
  [
    "an unknown critical extension",
    { sent: [await leafOf(root, { extensions: [unknownExtension(true)] })] },
    `${badClient}it has a critical extension that Sluice does not support`,
  ],
  [
    "alternative names that cannot be read",
    { sent: [await leafOf(root, { extensions: [malformedNames] })] },
    `${badClient}it is malformed`,
  ],
  ["a signature with SHA-1", { sent: [await leafOf(root, { digest: "SHA-1" })] }, broken],
  [
    "a signature of RSASSA-PSS with SHA-1",
    { sent: [await leafOf(weakPssRoot, weakPss)], trusted: [weakPssRoot] },
    broken,
  ],
  [
    "an authority with an unusual key",
    { sent: [await leafOf(unusual, pss)], trusted: [unusual], partial: true },
    `${badIssuer}its key has a type, curve or size that Sluice does not support`,
  ],
  ["a chain of eleven certificates", { sent: await chainOf(9) }, noIssuer],
  [
    "more signatures than may be verified",
    { sent: [bySameName], trusted: namesakes },
    "more than 16 signatures would have to be verified",
  ],
  [
    "certificates that form more chains than may be searched",
    { sent: [byOneAnother, ...oneAnother] },
    "the certificates form too many chains",
  ],
];

describe("a chain of certificates", () => {
  for (const [what, of, authorities = ["ca-0"]] of accepted) {
    it(`is accepted with ${what}`, () => {
      const result = verify(of);
      assert.deepEqual([result.fault, result.fault === undefined && result.authorityIds], [undefined, authorities]);
    });
  }

  for (const [what, of, fault] of refused) {
    it(`is refused with ${what}`, () => assert.deepEqual(verify(of), { fault, isUntrusted: fault === noIssuer }));
  }

  it("is valid until the earliest expiry of its certificates", async () => {
    const short = await below({ validTo: VERIFICATION_TIME + HOUR });
    const result = verify({ sent: [await leafOf(short), short] });
    assert.equal(result.fault === undefined && result.validTo, VERIFICATION_TIME + HOUR);
  });

  const unverified: readonly (readonly [what: string, sent: readonly SignedCertificate[]])[] = [
    ["that lead to no authority", [byOneAnother, ...oneAnother]],
    ["below a certificate that names an authority as its issuer", [byOneAnother, belowNameOfRoot, ...oneAnother]],
  ];
  for (const [what, sent] of unverified) {
    it(`is refused before a key that the client sent is used, with certificates ${what}`, ({ mock }) => {
      // The first call caches the fact that the root is self-signed, so that the calls counted below do not include the
      // verification of the root.
      verify({ sent: [leaf] });
      const used = mock.method(X509Certificate.prototype, "verify");
      assert.ok(verify({ sent }).fault);
      const ofRoot = used.mock.calls.map(({ arguments: [key] }) => key.equals(root.certificate.publicKey));
      assert.deepEqual(ofRoot, what.startsWith("below") ? [true] : []);
    });
  }
});

describe("a key of an issuer", () => {
  const keys: readonly (readonly [what: string, isAccepted: boolean, make: () => KeyObject])[] = [
    ["RSA with 2048 bits", true, () => generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey],
    ["RSA-PSS", true, () => generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).publicKey],
    ["RSA with 8192 bits", true, () => rsaKey(8192)],
    ["RSA with more than 8192 bits", false, () => rsaKey(8200)],
    ["RSA with an exponent of 4 bytes", true, () => rsaKey(2048, [255, 255, 255, 255])],
    ["RSA with an exponent of 5 bytes", false, () => rsaKey(2048, [1, 0, 0, 0, 1])],
    ["P-256", true, () => generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey],
    ["P-384", true, () => generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey],
    ["P-521", true, () => generateKeyPairSync("ec", { namedCurve: "P-521" }).publicKey],
    ["secp256k1", false, () => generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey],
    ["sect571r1", false, () => generateKeyPairSync("ec", { namedCurve: "sect571r1" }).publicKey],
    ["Ed25519", true, () => generateKeyPairSync("ed25519").publicKey],
    ["Ed448", true, () => generateKeyPairSync("ed448").publicKey],
    ["X25519", false, () => generateKeyPairSync("x25519").publicKey],
    ["DSA", false, () => generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 }).publicKey],
  ];
  for (const [what, isAccepted, make] of keys) {
    it(`${isAccepted ? "may" : "must not"} be ${what}`, () => {
      assert.equal(isAcceptedKey({ publicKey: make() }), isAccepted);
    });
  }

  it("must be readable", () => {
    const certificate = {
      get publicKey(): KeyObject {
        throw new Error("unsupported");
      },
    };
    assert.equal(isAcceptedKey(certificate), false);
  });
});
