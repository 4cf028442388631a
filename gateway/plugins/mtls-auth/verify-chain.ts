/** Verifies a client's certificate: builds a chain from it to a trusted CA certificate (RFC 5280 section 6.1). */
import type { X509Certificate } from "node:crypto";
import { factsOf } from "./constraints.ts";

/** A configured CA certificate. */
export interface Authority {
  readonly id: string;
  readonly certificate: X509Certificate;
}

export interface ChainOptions {
  readonly authorities: readonly Authority[];
  /** Whether an authority that is not self-signed is trusted. */
  readonly allowPartialChain: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface VerifiedChain {
  /** Ids of the authorities in the chain, the nearest to the client's certificate first. */
  readonly authorityIds: readonly string[];
  /** When the first certificate of the chain expires, in milliseconds since the epoch. */
  readonly validTo: number;
  readonly fault?: undefined;
}

export interface RefusedChain {
  /** For the node's log. It contains no text from the certificates, which the client controls. */
  readonly fault: string;
}

/** Maximum certificates of a chain. */
const MAX_LENGTH = 10;
/** Maximum verifications of signatures: certificates with equal names could require any number of them. */
const MAX_SIGNATURES = 64;

interface Candidate {
  readonly certificate: X509Certificate;
  /** Null: the client sent it, so it is not trusted. */
  readonly authorityId: string | null;
}

/** @param sent The client's certificate, and others from which the chain may be built */
export function verifyChain(
  [leaf, ...others]: readonly X509Certificate[],
  options: ChainOptions,
): VerifiedChain | RefusedChain {
  if (leaf === undefined) return { fault: "the client sent no certificate" };
  const { clientFault } = factsOf(leaf);
  if (clientFault !== null) return { fault: `the client's certificate cannot be used: ${clientFault}` };
  return new ChainSearch(others, options).verify(leaf);
}

class ChainSearch {
  readonly #candidates: readonly Candidate[];
  readonly #options: ChainOptions;
  #signatures = 0;
  /** The first reason why an issuer was rejected. */
  #fault: string | null = null;

  constructor(sent: readonly X509Certificate[], options: ChainOptions) {
    this.#options = options;
    this.#candidates = [
      ...options.authorities.map(({ id, certificate }) => ({ certificate, authorityId: id })),
      ...sent.map((certificate) => ({ certificate, authorityId: null })),
    ];
  }

  verify(leaf: X509Certificate): VerifiedChain | RefusedChain {
    const time = this.#timeFault(leaf);
    if (time !== null) return { fault: `the client's certificate ${time}` };
    const found = this.#search([{ certificate: leaf, authorityId: null }]);
    if (found === null) return { fault: this.#fault ?? "no certificate of `ca_certificates` is its issuer" };
    return {
      authorityIds: found.flatMap(({ authorityId }) => authorityId ?? []),
      validTo: Math.min(...found.map(({ certificate }) => factsOf(certificate).validTo)),
    };
  }

  /** The complete chain that begins with this part; null: there is none. */
  #search(chain: readonly Candidate[]): readonly Candidate[] | null {
    const child = chain.at(-1)?.certificate;
    if (child === undefined || chain.length >= MAX_LENGTH) return null;
    for (const candidate of this.#candidates) {
      const { certificate, authorityId } = candidate;
      if (chain.some((other) => isSame(other.certificate, certificate))) continue;
      if (!child.checkIssued(certificate)) continue;
      const fault = this.#issuerFault(chain, certificate);
      if (fault !== null) {
        this.#fault ??= `a CA certificate cannot be used: ${fault}`;
        continue;
      }
      if (!this.#isSigned(child, certificate)) continue;
      const longer = [...chain, candidate];
      if (authorityId !== null && (this.#options.allowPartialChain || this.#isSelfSigned(certificate))) return longer;
      const complete = this.#search(longer);
      if (complete !== null) return complete;
    }
    return null;
  }

  #issuerFault(chain: readonly Candidate[], certificate: X509Certificate): string | null {
    const { issuerFault, maxPathLength } = factsOf(certificate);
    if (issuerFault !== null) return issuerFault;
    const time = this.#timeFault(certificate);
    if (time !== null) return `it ${time}`;
    // Self-issued certificates do not count (RFC 5280 section 4.2.1.9).
    const below = chain.slice(1).filter((each) => each.certificate.subject !== each.certificate.issuer).length;
    return below > maxPathLength ? "there are more certificates below it than its path length allows" : null;
  }

  #timeFault(certificate: X509Certificate): string | null {
    const { validFrom, validTo } = factsOf(certificate);
    if (validFrom > this.#options.now) return "is not valid yet";
    return validTo < this.#options.now ? "has expired" : null;
  }

  #isSelfSigned(certificate: X509Certificate): boolean {
    return certificate.checkIssued(certificate) && this.#hasSigned(certificate, certificate);
  }

  #isSigned(child: X509Certificate, issuer: X509Certificate): boolean {
    if (factsOf(child).isForgeable) {
      this.#fault ??= "a signature of the chain uses a broken digest";
      return false;
    }
    return this.#hasSigned(child, issuer);
  }

  #hasSigned(child: X509Certificate, issuer: X509Certificate): boolean {
    if (++this.#signatures > MAX_SIGNATURES) {
      this.#fault ??= `more than ${MAX_SIGNATURES} signatures would have to be verified`;
      return false;
    }
    try {
      return child.verify(issuer.publicKey);
    } catch {
      // The key has an unsupported type, or one that differs from the signature's.
      return false;
    }
  }
}

const isSame = (one: X509Certificate, other: X509Certificate): boolean => one === other || one.raw.equals(other.raw);
