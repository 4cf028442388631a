/** Connections to targets: subject to the guard, with a connect timeout, and with TLS for https targets. */
import type { OnReadOpts, Socket } from "node:net";
import { createSecureContext, type PeerCertificate, type SecureContext, TLSSocket } from "node:tls";
import { LruCache } from "@sluice/model/serving";
import type { UpstreamTarget } from "../../compile/runtime.ts";
import type { Connect } from "../../outbound/connect.ts";
import { missingName } from "./certificate-names.ts";
import { chainTooLong, closedEarly, connectTimeout, withCertificate } from "./failure.ts";

/** Callbacks of a dial. Unless it is cancelled, exactly one is called, and never before `dialTarget` has returned. */
export interface DialListener {
  connected(socket: Socket | TLSSocket): void;
  failed(error: Error): void;
}

export interface DialOptions {
  readonly connect: Connect;
  /** Protocol requested from an https target (ALPN); null: none. */
  readonly protocol: "http/1.1" | "h2" | null;
  /** Sessions of targets with that protocol. */
  readonly sessions: TlsSessionCache;
  /** Read buffer. Default: the socket emits "data" events. */
  readonly onread?: OnReadOpts;
}

/** Opens a connection. Returns a function that cancels the attempt. */
export function dialTarget(target: UpstreamTarget, dialListener: DialListener, options: DialOptions): () => void {
  const { connect, sessions, onread } = options;
  const { host, port, scheme, key } = target;
  let over = false;
  let socket: Socket | null = null;
  const end = (error: Error | null) => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    if (error === null) return;
    sessions.delete(key);
    socket?.destroy();
    dialListener.failed(error);
  };
  const timer = setTimeout(() => end(connectTimeout(target.connectTimeout)), target.connectTimeout);
  socket =
    scheme === "https"
      ? dialTls(target, options)
      : connect({ host, port, allowHalfOpen: true, ...(onread !== undefined && { onread }) });
  const opened = socket;
  /** The server's certificate. Once the socket has failed, it can no longer be read. */
  let certificate: PeerCertificate | null = null;
  // Node emits "secure" before it verifies the certificate and "secureConnect" after it.
  opened.prependOnceListener("secure", () => {
    certificate = target.verify && opened instanceof TLSSocket ? opened.getPeerCertificate() : null;
  });
  const failed = (error: Error) => end(withCertificate(error, certificate));
  const closed = () => end(closedEarly());
  opened.once("error", failed).once("close", closed);
  opened.once(scheme === "https" ? "secureConnect" : "connect", () => {
    if (over) {
      opened.destroy();
      return;
    }
    if (target.verifyDepth !== null && exceedsDepth(opened as TLSSocket, target)) {
      end(chainTooLong());
      return;
    }
    over = true;
    clearTimeout(timer);
    opened.off("error", failed).off("close", closed);
    dialListener.connected(opened);
  });
  return () => {
    over = true;
    clearTimeout(timer);
    opened.destroy();
  };
}

/**
 * Whether the chain has more intermediate CAs than the target allows: neither the server's certificate nor the trusted
 * root counts, as in OpenSSL's SSL_set_verify_depth. Node has no option for this limit. A resumed session has no chain;
 * it was saved by a connection to the same target, whose chain was checked.
 */
function exceedsDepth(socket: TLSSocket, { scheme, verify, verifyDepth }: UpstreamTarget): boolean {
  if (scheme !== "https" || !verify || verifyDepth === null || socket.isSessionReused()) return false;
  let intermediates = 0;
  let certificate = socket.getPeerCertificate(true);
  for (
    let issuer = certificate.issuerCertificate;
    issuer && issuer !== certificate;
    issuer = issuer.issuerCertificate
  ) {
    if (issuer !== issuer.issuerCertificate) intermediates++;
    certificate = issuer;
  }
  return intermediates > verifyDepth;
}

function dialTls(target: UpstreamTarget, { connect, protocol, sessions, onread }: DialOptions): Socket | TLSSocket {
  const { host, port, certificate, authorities, serverName, names, key } = target;
  const session = sessions.get(key);
  const socket = connect({
    host,
    port,
    allowHalfOpen: true,
    ...(onread !== undefined && { onread }),
    tls: {
      ...(protocol !== null && { ALPNProtocols: [protocol] }),
      rejectUnauthorized: target.verify,
      servername: serverName ?? "",
      ...(names !== null && { checkServerIdentity: (_: string, peer: PeerCertificate) => missingName(peer, names) }),
      ...(authorities !== null
        ? { secureContext: contextOf(target, authorities) }
        : certificate !== null && { cert: certificate.cert, key: certificate.key }),
      ...(session !== undefined && { session }),
    },
  });
  sessions.saveFrom(key, socket);
  return socket;
}

const contexts = new WeakMap<UpstreamTarget, SecureContext>();

/** A TLS context that trusts only these authorities. Created once per target: reading certificates takes time. */
function contextOf(target: UpstreamTarget, authorities: readonly string[]): SecureContext {
  const { certificate } = target;
  const pair = certificate !== null && { cert: certificate.cert, key: certificate.key };
  const context = contexts.get(target) ?? createSecureContext({ ca: [...authorities], ...pair });
  contexts.set(target, context);
  return context;
}

/** Maximum number of targets with a session; the least recently used are evicted. */
const MAX_SESSIONS = 1024;

/**
 * TLS sessions of https targets for resumption (RFC 8446 section 2.2), which avoids sending certificates and computing
 * signatures. Resumption does not verify the server name again, so a session serves only targets with the same key.
 */
export class TlsSessionCache {
  /** Keyed by the target's key. */
  readonly #sessions = new LruCache<Buffer>(MAX_SESSIONS / 2);

  /** The session to resume; undefined: a full handshake is required. */
  get(key: string): Buffer | undefined {
    return this.#sessions.get(key);
  }

  /** Stores the sessions that the server issues on this connection. */
  saveFrom(key: string, socket: Socket): void {
    socket.on("session", (session: Buffer) => this.#sessions.set(key, session));
  }

  /** Removes a session, such as one that the target did not accept. */
  delete(key: string): void {
    this.#sessions.delete(key);
  }
}
