/** What the order of certificates needs from the process that runs it. */
import type { Acme, AcmeChallenge, AcmeErrorText } from "@sluice/model";

/** A certificate that is ordered from a CA. */
export interface OrderedCertificate {
  /** Identifies the certificate in the storage, such as the id of the entity. */
  readonly id: string;
  /** For log lines, such as `shop/tls`. */
  readonly name: string;
  readonly acme: Acme;
  /** The names of the SNIs that refer to the certificate: its domains, unless `acme` has others. */
  readonly snis: readonly string[];
  /** The present chain in PEM, whatever its origin; null: there is none. */
  readonly cert: string | null;
}

export const isSameCertificate = (one: OrderedCertificate, other: OrderedCertificate): boolean =>
  one.cert === other.cert &&
  one.name === other.name &&
  JSON.stringify([one.acme, one.snis]) === JSON.stringify([other.acme, other.snis]);

/** An account at a CA. */
export interface AcmeAccount {
  /** The private key in PEM. */
  readonly key: string;
  /** The URL by which the CA knows the account; null: it is not registered yet. */
  readonly url: string | null;
}

/**
 * The state of a certificate between two steps, as JSON. It survives restarts, so that an order is continued and no
 * pause after a failure is forgotten. While an order is under way, it contains a private key.
 */
export interface AcmeState {
  /** The configuration to which the state applies: after a change, failures no longer count. */
  readonly subject: string;
  /** The order that is under way; null: none. */
  readonly order: { readonly url: string; readonly key: string } | null;
  /** Failed attempts since the last success. */
  readonly failures: number;
  readonly error: AcmeErrorText | null;
  /** Unix time in milliseconds before which no order is placed; null: any time. */
  readonly nextAttempt: number | null;
  /** When the certificate with this SHA-256 will be renewed; null: not decided yet. */
  readonly renewal: AcmeRenewal | null;
  /** The SHA-256 of the last certificate that was stored, when, and for how long no other is ordered; null: none. */
  readonly issued: { readonly certificate: string; readonly at: number; readonly pause: number } | null;
}

/** The state of a certificate that was never ordered with this configuration. */
export const freshState = (subject: string): AcmeState => ({
  subject,
  order: null,
  failures: 0,
  error: null,
  nextAttempt: null,
  renewal: null,
  issued: null,
});

/** Times are Unix times in milliseconds. */
export interface AcmeRenewal {
  /** SHA-256 in hex of the certificate. */
  readonly certificate: string;
  readonly at: number;
  /** When the CA is asked again for its window of renewal; null: the CA has none. */
  readonly checkAt: number | null;
  /** The window that the CA suggested, from which `at` was chosen; null: the CA has none. */
  readonly window: readonly [start: number, end: number] | null;
}

/** Every method may reject. The attempt then ends without counting as a failure, and is repeated. */
export interface AcmeStorage {
  account(directory: string): Promise<AcmeAccount | null>;
  putAccount(directory: string, account: AcmeAccount): Promise<void>;
  state(id: string): Promise<AcmeState | null>;
  putState(id: string, state: AcmeState): Promise<void>;
  /** Stores a new pair. `follow` is called with the new `cert` soon. */
  putCertificate(id: string, pair: { readonly cert: string; readonly key: string }): Promise<void>;
  /**
   * Replaces the pending challenges of the certificate; an empty list removes them. Resolves once all nodes that respond
   * answer them. If it rejects, the order fails.
   */
  publishChallenges(id: string, challenges: readonly AcmeChallenge[]): Promise<void>;
}

/** The log of the process, such as a pino logger. */
export interface AcmeLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

export interface AcmeClock {
  /** Unix time in milliseconds. */
  now(): number;
  /** Rejects with the reason of the signal when it is aborted. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}
