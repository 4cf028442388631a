/** Rules of credentials. */
import { createPublicKey } from "node:crypto";
import { conditionalViolations, type RecordRule } from "@sluice/plugin-sdk";
import type { TextRule } from "./rule.ts";

/**
 * Requires a public key or a certificate that contains one; Kong's message does not quote the value. A private key is
 * refused, because the member is not secret.
 */
export const publicKeyRule: TextRule = (pem) => {
  if (/PRIVATE KEY/.test(pem)) return "invalid key";
  try {
    createPublicKey(pem);
    return undefined;
  } catch {
    return "invalid key";
  }
};

/**
 * Requires the key that verifies tokens of the algorithm. Kong 3.9 requires no public key for ES256, ES384 and ES512,
 * but rejects all tokens of a credential without one. If a credential in a declarative file lacks its secret, Kong
 * generates one that no client can know.
 */
export const jwtSecretRule: RecordRule = (members) => {
  const { algorithm } = members;
  if (typeof algorithm !== "string") return [];
  const member = algorithm.startsWith("HS") ? "secret" : "rsa_public_key";
  return members[member] === null ? conditionalViolations("algorithm", [member], "required field missing") : [];
};
