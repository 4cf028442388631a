/** Rules for certificates and their keys. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { isEmptyValue, ofWhole, type RecordMembers, type RecordRule } from "@sluice/plugin-sdk";
import type { TextRule } from "./rule.ts";

const BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** The first certificate of a chain; undefined when there is none, or when any of them cannot be read. */
function leafOf(chain: string): X509Certificate | undefined {
  const blocks = chain.match(BLOCK) ?? [];
  try {
    const [leaf] = blocks.map((block) => new X509Certificate(block));
    return leaf;
  } catch {
    return undefined;
  }
}

function keyOf(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

/** Whether certificate and key belong together, and the key's type; undefined if either is missing or unreadable. */
function pairOf(members: RecordMembers, suffix: "" | "_alt") {
  const [cert, key] = [members[`cert${suffix}`], members[`key${suffix}`]];
  if (typeof cert !== "string" || typeof key !== "string") return undefined;
  const [leaf, secret] = [leafOf(cert), keyOf(key)];
  return leaf && secret && { fits: leaf.checkPrivateKey(secret), type: secret.asymmetricKeyType };
}

export const certificateRule: RecordRule = (members) => {
  if (isEmptyValue(members.cert_alt) !== isEmptyValue(members.key_alt)) {
    return [ofWhole("all or none of these fields must be set: 'cert_alt', 'key_alt'")];
  }
  const [main, alternative] = [pairOf(members, ""), pairOf(members, "_alt")];
  if (main?.fits === false) return [ofWhole("certificate does not match key")];
  if (alternative?.fits === false) return [ofWhole("alternative certificate does not match key")];
  return main && alternative && main.type === alternative.type
    ? [
        ofWhole(
          "certificate and alternative certificate need to have different type (e.g. RSA and ECDSA), the provided " +
            "certificates were both of the same type",
        ),
      ]
    : [];
};

export const certificateTextRules = {
  "certificate-chain": (value) =>
    leafOf(value) === undefined ? "invalid certificate: expected certificates in PEM" : undefined,
  /** The message never quotes the key. */
  "private-key": (value) =>
    keyOf(value) === undefined ? "invalid key: expected a private key in PEM, not encrypted" : undefined,
} satisfies Readonly<Record<string, TextRule>>;
