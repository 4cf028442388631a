/** Verifies the certificates of clients, for the plugin and for listeners. */
import { X509Certificate } from "node:crypto";
import type { ClientConnection, DirectResponse, Exchange, ExchangeCaCertificate } from "@sluice/plugin-sdk";
import { certificatesIn, type MtlsAuthConfig } from "./schema.ts";
import { type RefusedChain, type TrustedAuthority, type VerifiedChain, verifyChain } from "./verify-chain.ts";

/** @param sent The certificates that the client sent, its own first; not empty */
export type Verify = (exchange: Exchange, sent: readonly X509Certificate[]) => VerifiedChain | RefusedChain;

/** The result of verifying the certificates of a connection. */
interface Verification {
  readonly result: VerifiedChain | RefusedChain;
  /** The CA certificates on which the result depends. */
  readonly authorities: readonly ExchangeCaCertificate[];
  /** When the verification must be repeated, in milliseconds since the epoch. */
  readonly until: number;
}

/** RFC 9110 section 15.5.20: the client may repeat the request on another connection. */
export const misdirectedResponse: DirectResponse = {
  status: 421,
  message: "Misdirected request",
  reason: "mtls-auth: the connection was opened when no plugin required a certificate for its server name",
};

const parsed = new WeakMap<ExchangeCaCertificate, X509Certificate>();
const parse = ({ cert }: ExchangeCaCertificate): X509Certificate => new X509Certificate(cert);

/** Verifies the certificates of a connection once, and remembers the result for its further requests. */
export function createVerifier(config: MtlsAuthConfig, now: () => number): Verify {
  const verifications = new WeakMap<ClientConnection, Verification>();
  const fixed = certificatesIn(config.trusted_certificates ?? "") ?? [];
  // Only the ids of CA certificates have credentials, so that these ids need not be unique.
  const trusted: readonly TrustedAuthority[] = fixed.map((certificate) => ({ id: "", certificate }));

  return ({ identities, request }, sent) => {
    const authorities = (config.ca_certificates ?? []).flatMap((id) => identities.caCertificate(id) ?? []);
    const known = verifications.get(request.connection);
    const isKnown = known?.authorities.length === authorities.length && known.until > now();
    if (isKnown && authorities.every((authority, at) => authority === known.authorities[at])) return known.result;
    const configured = authorities.map((authority) => ({
      id: authority.id,
      certificate: parsed.getOrInsertComputed(authority, parse),
    }));
    const result = verifyChain(sent, {
      authorities: [...configured, ...trusted],
      allowPartialChain: config.allow_partial_chain,
      maxIntermediates: config.max_intermediates,
      now: now(),
    });
    const kept = now() + config.cache_ttl * 1000;
    const until = result.fault === undefined ? Math.min(kept, result.validTo) : kept;
    verifications.set(request.connection, { result, authorities, until });
    return result;
  };
}

/**
 * For listeners that admit only clients with a valid certificate. Returns a function that returns why certificates that
 * a client sent are not accepted; null: they are.
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
