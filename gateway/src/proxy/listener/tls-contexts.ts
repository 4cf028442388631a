/**
 * The TLS contexts of certificates. Each certificate has its own context with its own ticket keys, so no session
 * outlives its certificate. Within one context, sessions are separated by server name.
 *
 * A handshake that requests a certificate of the client uses a context without tickets, so it is never resumed: a
 * ticket contains the client's own certificate, but not the intermediate certificates that verify it.
 */
import { constants, hash } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import type { IssuedCertificate } from "@sluice/model";
import type { CertificateRequest } from "../../compile/certificate-requests.ts";
import type { ClientTls } from "../../settings/client-tls.ts";
import { separatesSessions, setSessionIdContext } from "../sockets/node-internals.ts";

/** Disables renegotiation in TLS 1.2: it costs as much as a handshake, and a client could request it without limit. */
export const NO_RENEGOTIATION = constants.SSL_OP_NO_RENEGOTIATION;
const NO_TICKET = constants.SSL_OP_NO_TICKET;

interface SessionContext {
  readonly secureContext: SecureContext;
  /** The server name of the next TLS sockets; undefined: there were none yet. */
  serverName: string | null | undefined;
}

/** The contexts of one certificate. Creating one parses keys, so each is created on first use. */
interface CertificateContexts {
  /** For handshakes that request no certificate of the client. */
  plain?: SessionContext;
  readonly requesting: WeakMap<CertificateRequest, SessionContext>;
}

/** An entry exists as long as the certificate's entity. All listeners of a proxy have the same `ClientTls`. */
const contexts = new WeakMap<ClientTls, WeakMap<IssuedCertificate, CertificateContexts>>();

export interface ContextOptions {
  readonly certificate: IssuedCertificate;
  /** Null: no certificate of the client is requested. */
  readonly request: CertificateRequest | null;
  readonly clientTls: ClientTls;
}

/**
 * The context for a TLS socket that is created at once. A TLS socket copies the session id context at its creation.
 *
 * @param serverName Null: no SNI
 */
export function contextFor(serverName: string | null, options: ContextOptions): SecureContext {
  const known = knownContext(options);
  if (known.serverName !== serverName) {
    setSessionIdContext(known.secureContext, hash("sha256", serverName?.toLowerCase() ?? "").slice(0, 32));
    known.serverName = serverName;
  }
  return known.secureContext;
}

function knownContext(options: ContextOptions): SessionContext {
  const { certificate, request, clientTls } = options;
  const ofCertificates = contexts.getOrInsertComputed(clientTls, () => new WeakMap());
  const known = ofCertificates.getOrInsertComputed(certificate, () => ({ requesting: new WeakMap() }));
  if (request !== null) return known.requesting.getOrInsertComputed(request, () => createContext(options));
  known.plain ??= createContext(options);
  return known.plain;
}

function createContext({ certificate, request, clientTls }: ContextOptions): SessionContext {
  const { cert, key, cert_alt, key_alt } = certificate;
  const pair = (main: string, alternative: string | null) => (alternative === null ? [main] : [main, alternative]);
  const pairs = { ...clientTls, cert: pair(cert, cert_alt), key: pair(key, key_alt) };
  const usual = separatesSessions ? NO_RENEGOTIATION : NO_RENEGOTIATION | NO_TICKET;
  const secureContext =
    request === null
      ? createSecureContext({ ...pairs, secureOptions: usual })
      : // `ca` is the list of names in the request. OpenSSL's own verification is ignored: plugins verify the chain.
        createSecureContext({ ...pairs, ca: [...request.authorities], secureOptions: NO_RENEGOTIATION | NO_TICKET });
  return { secureContext, serverName: undefined };
}
