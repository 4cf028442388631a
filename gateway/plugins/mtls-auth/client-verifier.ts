/** Verifies certificates of clients for listeners that admit only clients with a valid one. */
import type { X509Certificate } from "node:crypto";
import { certificatesIn } from "./schema.ts";
import { verifyChain } from "./verify-chain.ts";

/**
 * Returns a function that returns why certificates that a client sent are not accepted; null: they are.
 *
 * @param trusted Certificates in PEM, each of which is a trust anchor. Without a readable one, no client is accepted.
 */
export function createClientVerifier(trusted: string): (sent: readonly X509Certificate[]) => string | null {
  const authorities = (certificatesIn(trusted) ?? []).map((certificate) => ({ id: "", certificate }));
  return (sent) => {
    const options = { authorities, allowPartialChain: true, maxIntermediates: null, now: Date.now() };
    return verifyChain(sent, options).fault ?? null;
  };
}
