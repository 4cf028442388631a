/** What Sluice reports about the certificates that it orders from CAs. */

export interface AcmeErrorText {
  /** The type of the CA's problem document (RFC 8555 section 6.7), without its common prefix; null: another error. */
  readonly type: string | null;
  readonly detail: string;
}

/** What is known about a certificate, without secrets. Times are in ISO 8601. */
export interface AcmeStatus {
  /**
   * `ordering`: an order is under way; `valid`: there is a certificate for all domains; `waiting`: the last attempt
   * failed, and the next one comes later; `refused`: the configuration cannot be ordered.
   */
  readonly state: "ordering" | "valid" | "waiting" | "refused";
  readonly domains: readonly string[];
  readonly directory: string;
  /** When the present certificate expires; null: there is none. */
  readonly not_after: string | null;
  /** When it will be renewed; null: not decided. */
  readonly renew_at: string | null;
  /** When the next attempt after a failure begins; null: the last attempt did not fail. */
  readonly next_attempt: string | null;
  /** Failed attempts since the last success. */
  readonly failures: number;
  readonly error: AcmeErrorText | null;
}

/** What metrics count: an order that has ended with a certificate, or an attempt that has failed. */
export interface EndedOrder {
  /** Renewal: there was a certificate before, whatever its origin. */
  readonly kind: "first" | "renewal";
  readonly result: "issued" | "failed";
}

/** The values of the metrics of a certificate. */
export interface AcmeGauges {
  readonly id: string;
  /** As in log lines, such as `shop/tls`. */
  readonly name: string;
  /** Unix time in seconds at which the certificate expires; 0: there is none. */
  readonly expires: number;
  /** Unix time in seconds of the next renewal; 0: it is not decided yet. */
  readonly renewal: number;
  /** Failed attempts since the last success. */
  readonly failures: number;
}
