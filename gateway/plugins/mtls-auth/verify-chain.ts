/** Verifies a client's certificate: builds a chain from it to a trusted CA certificate (RFC 5280 section 6.1). */
import type { X509Certificate } from "node:crypto";
import { factsOf } from "./constraints.ts";

/** A configured CA certificate. */
export interface TrustedAuthority {
  readonly id: string;
  readonly certificate: X509Certificate;
}

export interface ChainOptions {
  readonly authorities: readonly TrustedAuthority[];
  /** Whether an authority that is not self-signed is trusted. */
  readonly allowPartialChain: boolean;
  /** Maximum certificates between the client's certificate and the trusted one; null: only the search is bounded. */
  readonly maxIntermediates: number | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface VerifiedChain {
  /** Ids of the authorities in the chain, the nearest to the client's certificate first. */
  readonly authorityIds: readonly string[];
  /** The earliest expiry of the chain's certificates, in milliseconds since the epoch. */
  readonly validTo: number;
  readonly fault?: undefined;
}

export interface RefusedChain {
  /** For the node's log. It contains no text from the certificates, which the client controls. */
  readonly fault: string;
  /** Whether the only fault is that no chain leads to a trusted certificate. */
  readonly isUntrusted: boolean;
}

const refused = (fault: string): RefusedChain => ({ fault, isUntrusted: false });
const untrusted: RefusedChain = { fault: "no chain leads to a trusted CA certificate", isUntrusted: true };

/** Maximum certificates of a chain. */
const MAX_LENGTH = 10;
/** Maximum steps of the search for chains: a client can send certificates with equal names, which form many chains. */
const MAX_STEPS = 256;
/** Maximum signatures that are verified in one search. */
const MAX_SIGNATURES = 16;

interface Candidate {
  readonly certificate: X509Certificate;
  /** Null: the client sent it, so it is not trusted. */
  readonly authorityId: string | null;
}

/**
 * Searches for a valid chain from the client's certificate to a trusted authority.
 *
 * @param sent The client's certificate, and other certificates from which the chain may be built
 */
export function verifyChain(
  [leaf, ...others]: readonly X509Certificate[],
  options: ChainOptions,
): VerifiedChain | RefusedChain {
  if (leaf === undefined) return refused("the client sent no certificate");
  const { clientFault } = factsOf(leaf);
  if (clientFault !== null) return refused(`the client's certificate cannot be used: ${clientFault}`);
  return new ChainSearch(others, options).verify(leaf);
}

/**
 * Builds chains by names and key identifiers only. Once a chain reaches a trusted authority, its signatures are
 * verified from this authority down, so that no key is used before a trusted key has signed it. The reason: the client
 * chooses the keys of the certificates that it sends, and some keys make a verification slow.
 */
class ChainSearch {
  readonly #candidates: readonly Candidate[];
  readonly #options: ChainOptions;
  /** Possible issuers of a certificate. */
  readonly #issuers = new Map<X509Certificate, readonly Candidate[]>();
  /** Results of verifying signatures, by the issuer and then by the certificate it may have signed. */
  readonly #verified = new Map<X509Certificate, Map<X509Certificate, boolean>>();
  #steps = 0;
  #signatures = 0;
  /** The first reason why an issuer or a chain was rejected, or the search ended. */
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
    if (time !== null) return refused(`the client's certificate ${time}`);
    const found = this.#search([{ certificate: leaf, authorityId: null }]);
    if (found === null) return this.#fault === null ? untrusted : refused(this.#fault);
    return {
      authorityIds: found.flatMap(({ authorityId }) => authorityId ?? []),
      validTo: Math.min(...found.map(({ certificate }) => factsOf(certificate).validTo)),
    };
  }

  /** The complete chain that begins with this part; null: there is none. */
  #search(chain: readonly Candidate[]): readonly Candidate[] | null {
    const child = chain.at(-1)?.certificate;
    if (child === undefined || chain.length >= MAX_LENGTH) return null;
    for (const candidate of this.#issuersOf(child)) {
      const { certificate, authorityId } = candidate;
      if (chain.some((other) => isSame(other.certificate, certificate))) continue;
      if (this.#verified.get(certificate)?.get(child) === false) continue;
      if (++this.#steps > MAX_STEPS) {
        this.#fault ??= "the certificates form too many chains";
        return null;
      }
      if (exceedsPathLength(chain, certificate)) {
        this.#fault ??= `${UNUSABLE}there are more certificates below it than its path length allows`;
        continue;
      }
      const longer = [...chain, candidate];
      const isTrusted = authorityId !== null && (this.#options.allowPartialChain || isSelfSigned(certificate));
      if (isTrusted && longer.length - 2 > (this.#options.maxIntermediates ?? MAX_LENGTH)) {
        this.#fault ??= "the chain has more intermediate certificates than are allowed";
        continue;
      }
      const complete = isTrusted ? this.#signed(longer) : this.#search(longer);
      if (complete !== null) return complete;
    }
    return null;
  }

  #issuersOf(child: X509Certificate): readonly Candidate[] {
    return this.#issuers.getOrInsertComputed(child, () =>
      this.#candidates.filter(
        ({ certificate }) => child.checkIssued(certificate) && this.#isUsable(child, certificate),
      ),
    );
  }

  #isUsable(child: X509Certificate, issuer: X509Certificate): boolean {
    const { issuerFault } = factsOf(issuer);
    const time = this.#timeFault(issuer);
    const fault = issuerFault ?? (time === null ? null : `it ${time}`);
    if (fault !== null) this.#fault ??= `${UNUSABLE}${fault}`;
    else if (!factsOf(child).isSignatureAccepted)
      this.#fault ??= "a signature of the chain uses an algorithm or digest that is not accepted";
    else return true;
    return false;
  }

  #timeFault(certificate: X509Certificate): string | null {
    const { validFrom, validTo } = factsOf(certificate);
    if (validFrom > this.#options.now) return "is not valid yet";
    return validTo < this.#options.now ? "has expired" : null;
  }

  /**
   * The chain if its signatures, verified from the authority down, are valid; null: a signature is invalid, or too many
   * would have to be verified.
   */
  #signed(chain: readonly Candidate[]): readonly Candidate[] | null {
    for (let at = chain.length - 1; at > 0; at--) {
      const [child, issuer] = [chain[at - 1], chain[at]];
      if (child === undefined || issuer === undefined || !this.#isSigned(child.certificate, issuer.certificate))
        return null;
    }
    return chain;
  }

  #isSigned(child: X509Certificate, issuer: X509Certificate): boolean {
    return this.#verified
      .getOrInsertComputed(issuer, () => new Map())
      .getOrInsertComputed(child, () => {
        if (++this.#signatures <= MAX_SIGNATURES) return hasSigned(child, issuer);
        this.#fault ??= `more than ${MAX_SIGNATURES} signatures would have to be verified`;
        return false;
      });
  }
}

const UNUSABLE = "the certificate of an issuer cannot be used: ";

const isSame = (one: X509Certificate, other: X509Certificate): boolean => one === other || one.raw.equals(other.raw);

/**
 * Whether there are more intermediate certificates below the issuer than its path length allows. Self-issued ones do
 * not count (RFC 5280 section 4.2.1.9).
 */
function exceedsPathLength(chain: readonly Candidate[], issuer: X509Certificate): boolean {
  const below = chain.slice(1).filter((each) => each.certificate.subject !== each.certificate.issuer).length;
  return below > factsOf(issuer).maxPathLength;
}

const selfSigned = new WeakMap<X509Certificate, boolean>();

/** Whether an authority has signed itself; for configured certificates only. */
const isSelfSigned = (certificate: X509Certificate): boolean =>
  selfSigned.getOrInsertComputed(certificate, () => {
    return certificate.checkIssued(certificate) && hasSigned(certificate, certificate);
  });

function hasSigned(child: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return child.verify(issuer.publicKey);
  } catch {
    // The key has another type than the signature.
    return false;
  }
}
