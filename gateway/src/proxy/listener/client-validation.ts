/** Listeners of the document that admit only clients with a valid certificate (Gateway API, GEP-91). */
import type { X509Certificate } from "node:crypto";
import type { DocumentListener } from "@sluice/model";
import type { CertificateRequest } from "../../compile/certificate-requests.ts";

/**
 * Returns a function that returns why certificates that a client sent are not accepted; null: they are.
 *
 * @param trusted Certificates in PEM.
 */
export type CreateClientVerifier = (trusted: string) => (sent: readonly X509Certificate[]) => string | null;

/** For a proxy without a verifier. */
export const acceptsNoClient: CreateClientVerifier = () => () => "certificates of clients cannot be verified";

/** The requests for certificates in handshakes with the listeners of the document. */
export class ListenerRequests {
  readonly #createVerifier: CreateClientVerifier;
  /** An entry exists as long as the listener's entity. */
  readonly #requests = new WeakMap<DocumentListener, CertificateRequest>();

  constructor(createVerifier: CreateClientVerifier) {
    this.#createVerifier = createVerifier;
  }

  /** Null: the listener requests no certificate. */
  of(listener: DocumentListener | null): CertificateRequest | null {
    if (listener?.client_validation === undefined) return null;
    const { mode, trusted_certificates: trusted } = listener.client_validation;
    return this.#requests.getOrInsertComputed(listener, () => ({
      authorities: [trusted],
      ...(mode === "required" && { faultOf: this.#createVerifier(trusted) }),
    }));
  }
}
