/** The keys with which a provider signs tokens (JSON Web Key Set, RFC 7517). */
import { isRecord, type JsonWebToken, publicKeyVerifier, type TokenVerifier } from "@sluice/plugin-sdk";

/** Maximum keys of a set; further keys are ignored. */
const MAX_KEYS = 64;
/** Maximum keys that are tried for one token. Several keys fit if the token names no key, or if keys share an id. */
const MAX_TRIED = 4;
/** Minimum size of RSA keys (RFC 7518 section 3.3). */
const MIN_RSA_BITS = 2048;

export interface VerificationKey {
  readonly id: string | null;
  /** The JWK as JSON. */
  readonly text: string;
  /** The verifier for an algorithm, created at its first use; null: the key is not for this algorithm. */
  verifier(algorithm: string): TokenVerifier | null;
}

/** The keys of a set, without those that cannot verify signatures; null: the value is not a key set. */
export function readKeySet(value: unknown): KeySet | null {
  if (!isRecord(value) || !Array.isArray(value.keys)) return null;
  const keys = value.keys.slice(0, MAX_KEYS).filter(isRecord).filter(isForSignatures);
  return new KeySet(keys.map(verificationKey));
}

export class KeySet {
  readonly #keys: readonly VerificationKey[];

  constructor(keys: readonly VerificationKey[]) {
    this.#keys = keys;
  }

  /**
   * The keys that may have signed the token: those for its algorithm and, if the token has a `kid`, with this id. At
   * most `MAX_TRIED` keys are returned.
   */
  candidates({ header: { alg, kid } }: JsonWebToken): readonly VerificationKey[] {
    const algorithm = String(alg);
    const named = kid === undefined ? this.#keys : this.#keys.filter(({ id }) => id === kid);
    return named.filter((key) => key.verifier(algorithm) !== null).slice(0, MAX_TRIED);
  }

  /** Whether the set still has the key. */
  has({ text }: VerificationKey): boolean {
    return this.#keys.some((key) => key.text === text);
  }

  get size(): number {
    return this.#keys.length;
  }
}

/** Whether a key may verify signatures. Private and symmetric keys may not: they do not belong in a public set. */
function isForSignatures({ kty, use, key_ops, d, k, n }: Readonly<Record<string, unknown>>): boolean {
  if (d !== undefined || k !== undefined || (kty !== "RSA" && kty !== "EC" && kty !== "OKP")) return false;
  if (use !== undefined && use !== "sig") return false;
  if (Array.isArray(key_ops) && !key_ops.includes("verify")) return false;
  return kty !== "RSA" || (typeof n === "string" && Buffer.from(n, "base64url").length * 8 >= MIN_RSA_BITS);
}

function verificationKey(jwk: Readonly<Record<string, unknown>>): VerificationKey {
  const verifiers = new Map<string, TokenVerifier | null>();
  return {
    id: typeof jwk.kid === "string" ? jwk.kid : null,
    text: JSON.stringify(jwk),
    verifier: (algorithm) =>
      jwk.alg !== undefined && jwk.alg !== algorithm
        ? null
        : verifiers.getOrInsertComputed(algorithm, () => publicKeyVerifier(algorithm, jwk)),
  };
}
