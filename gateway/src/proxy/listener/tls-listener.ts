/**
 * TLS in front of an HTTP engine: it performs handshakes and passes connections on.
 *
 * The certificate is selected for every handshake, so a changed certificate applies to new connections, and existing
 * connections stay open. The listener selects the certificate from the ClientHello before OpenSSL reads this message:
 * for a resumed session OpenSSL does not call SNICallback, and decrypts the ticket with the keys of the connection's
 * initial context. Each certificate has its own context with its own ticket keys, so no session outlives its
 * certificate. Within one context, sessions are separated by server name.
 *
 * A handshake that requests a certificate of the client uses a context without tickets, so it is never resumed: a
 * ticket contains the client's own certificate, but not the intermediate certificates that verify it.
 */
import { constants, hash } from "node:crypto";
import { type AddressInfo, createServer, type ServerOpts, type Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import type { IssuedCertificate } from "@sluice/model";
import type { CertificateRequest } from "../../compile/certificate-requests.ts";
import { ACME_TLS_PROTOCOL, type AcmeChallenges } from "../../compile/listeners/acme-challenges.ts";
import type { ClientTls } from "../../settings/client-tls.ts";
import { markRequesting, sentCertificates } from "../client/client-certificates.ts";
import { setCarrier } from "../client/open-connection.ts";
import type { ListenAddress } from "../settings.ts";
import { separatesSessions, setSessionIdContext } from "../sockets/node-internals.ts";
import { type ClientHello, ClientHelloReader } from "./client-hello.ts";

/** An OCSP response that is sent in the handshakes of a certificate (stapled). */
export interface StapledResponse {
  /** DER. */
  readonly response: Uint8Array;
  /** Unix milliseconds. Later, the response is not sent. */
  readonly expires: number;
}

/** By the SHA-256 hash of the certificate (hexadecimal). */
export type StapledResponses = ReadonlyMap<string, StapledResponse>;

export const noStapledResponses: StapledResponses = new Map();

/** A connection that is not for HTTP. */
export interface TlsStreamHandler {
  /** Whether TLS ends at the gateway. */
  readonly isTerminated: boolean;
  /**
   * Takes the connection over: with the bytes of the ClientHello, or after the handshake if TLS ends at the gateway.
   */
  serve(socket: Socket): void;
}

export interface HandshakeFailure {
  /** The port on which the listener listens. */
  readonly port: number;
  /** Without the server name: clients cause only few different reasons. */
  readonly reason: string;
  /** Null: the client sent none, or its ClientHello is not complete. */
  readonly serverName: string | null;
}

export interface TlsListenerOptions {
  readonly listen: ListenAddress;
  /** See `ProxyOptions`. */
  readonly reusePort: boolean;
  /** Options of client sockets. */
  readonly sockets: ServerOpts;
  /** Protocols offered by ALPN, in order of preference. */
  readonly protocols: readonly ("h2" | "http/1.1")[];
  /** Versions and cipher suites. */
  readonly clientTls: ClientTls;
  /** Called before a handshake begins; false: the listener ignores the connection. Default: all are admitted. */
  readonly admit?: (raw: Socket) => boolean;
  /** Reads the bytes before the ClientHello, and then calls `next`. Default: there are none. */
  readonly readHeader?: (raw: Socket, next: () => void) => void;
  /** Receives connections after their handshake. */
  readonly onConnection: (socket: TLSSocket) => void;
  /** The certificate for a server name (null: no SNI). Undefined: the handshake fails. */
  readonly certificate: (serverName: string | null) => IssuedCertificate | undefined;
  /**
   * Whether challenges of CAs are pending, and the certificate for a handshake that asks for one (RFC 8737); null: there
   * is none for the server name.
   */
  readonly challenges: () => AcmeChallenges | null;
  /** The request for the client's certificate; null: none is requested. */
  readonly certificateRequest: (serverName: string | null) => CertificateRequest | null;
  /** The present OCSP responses. Default: there are none. */
  readonly stapledResponses?: () => StapledResponses;
  /** Called when a connection is closed because of the certificates of its client. */
  readonly onRefused: (fault: string) => void;
  /** Called when a handshake whose ClientHello has begun to arrive fails. */
  readonly onFailed: (failure: HandshakeFailure) => void;
  /** Milliseconds after which an unfinished ClientHello or handshake is aborted. */
  readonly handshakeTimeout: number;
  /** Called once for each connection; null: it is for HTTP. Default: all are. */
  readonly stream?: (raw: Socket, serverName: string | null) => TlsStreamHandler | null;
}

export interface TlsListener {
  readonly address: ListenAddress;
  /**
   * Accepts no more connections. The engine owns the connections whose handshake is complete. Resolves when all
   * connections have ended.
   */
  close(): Promise<void>;
  abortHandshakes(): void;
}

/** Maximum bytes of a ClientHello with its records; usual ones have up to 2 kB. */
const MOST_HELLO = 32_768;
const NOTHING = Buffer.alloc(0);
const TWO_NAMES = "the client sent two server names";
const NO_CERTIFICATE = "no certificate";
/** Disables renegotiation in TLS 1.2: it costs as much as a handshake, and a client could request it without limit. */
const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;
const NO_TICKET = constants.SSL_OP_NO_TICKET;

/** The contexts of one certificate. Creating one parses keys, so each is created on first use. */
interface CertificateContexts {
  /** For handshakes that request no certificate of the client. */
  plain?: SecureContext;
  readonly requesting: WeakMap<CertificateRequest, SecureContext>;
}

/** An entry exists as long as the certificate's entity. All listeners of a proxy have the same `ClientTls`. */
const contexts = new WeakMap<ClientTls, WeakMap<IssuedCertificate, CertificateContexts>>();

interface ContextOptions {
  readonly certificate: IssuedCertificate;
  readonly request: CertificateRequest | null;
  readonly clientTls: ClientTls;
}

function contextOf(options: ContextOptions): SecureContext {
  const { certificate, request, clientTls } = options;
  const ofCertificates = contexts.getOrInsertComputed(clientTls, () => new WeakMap());
  const known = ofCertificates.getOrInsertComputed(certificate, () => ({ requesting: new WeakMap() }));
  if (request !== null) return known.requesting.getOrInsertComputed(request, () => createContext(options));
  known.plain ??= createContext(options);
  return known.plain;
}

function createContext({ certificate, request, clientTls }: ContextOptions): SecureContext {
  const { cert, key, cert_alt, key_alt } = certificate;
  const pair = (main: string, alternative: string | null) => (alternative === null ? [main] : [main, alternative]);
  const pairs = { ...clientTls, cert: pair(cert, cert_alt), key: pair(key, key_alt) };
  const usual = separatesSessions ? secureOptions : secureOptions | NO_TICKET;
  if (request === null) return createSecureContext({ ...pairs, secureOptions: usual });
  // `ca` is the list of names in the request. OpenSSL's own verification is ignored: plugins verify the chain.
  return createSecureContext({ ...pairs, ca: [...request.authorities], secureOptions: secureOptions | NO_TICKET });
}

interface HandshakeOptions {
  readonly serverName: string | null;
  /** Undefined: the handshake fails. */
  readonly certificate: IssuedCertificate | undefined;
  readonly request: CertificateRequest | null;
  /** The protocols for ALPN. Empty: none is selected. */
  readonly offered: readonly string[];
}

/** Rejects when listening fails. */
export async function startTlsListener(options: TlsListenerOptions): Promise<TlsListener> {
  const {
    listen,
    reusePort,
    sockets,
    protocols,
    clientTls,
    onConnection,
    onRefused,
    onFailed,
    certificate,
    challenges,
    certificateRequest,
    handshakeTimeout,
    admit = () => true,
    readHeader = (_raw, next) => next(),
    stream = () => null,
    stapledResponses = () => noStapledResponses,
  } = options;
  /** For server names without a certificate: the handshake fails because the context has no key. */
  const nothing = createSecureContext({ secureOptions });
  /** The sockets in a handshake, each with a function that forgets it. */
  const handshaking = new Map<Socket, () => void>();
  let { port } = listen;

  const front = createServer(sockets, (raw) => {
    if (!admit(raw)) return;
    let timer: NodeJS.Timeout | undefined;
    let serverName: string | null = null;
    /** Load balancers check whether a port is open, and send nothing. */
    let hasBegun = false;
    const end = () => {
      clearTimeout(timer);
      handshaking.delete(raw);
    };
    const fail = (reason: string) => {
      if (!handshaking.has(raw)) return;
      end();
      raw.destroy();
      if (hasBegun) onFailed({ port, reason, serverName });
    };
    handshaking.set(raw, end);
    const ignore = () => raw.destroy();
    raw.once("error", ignore).once("close", () => fail("the client closed the connection"));
    const onHello = (hello: ClientHello) => {
      serverName = hello.serverName;
      const pending = challenges();
      const challenge = pending !== null && isAcme(hello) ? pending.certificate(serverName) : null;
      if (challenge !== null) {
        answerChallenge(raw, challenge).once("secure", end);
        return;
      }
      const handler = stream(raw, serverName);
      if (handler !== null && !handler.isTerminated) {
        end();
        raw.off("error", ignore);
        handler.serve(raw);
        return;
      }
      // The protocols of a stream are unknown, so none is selected.
      const offered = handler === null ? protocols : [];
      const request = certificateRequest(serverName);
      const found = certificate(serverName);
      const socket = secure(raw, { serverName, certificate: found, request, offered });
      const onError = (error: Error) => fail(reasonOf(error, { serverName, certificate: found }));
      socket.once("error", onError);
      socket.once("secure", () => {
        // After a HelloRetryRequest (TLS 1.3), OpenSSL reads the name from the second ClientHello. The certificate and
        // the request for the client's certificate were selected by the name in the first one: the route must be, too.
        if (socket.getProtocol() === "TLSv1.3" && !isSameName(serverNameOf(socket), serverName)) {
          fail(TWO_NAMES);
          return;
        }
        end();
        const fault = request?.faultOf?.(sentCertificates(socket) ?? []) ?? null;
        if (fault !== null) {
          onRefused(fault);
          raw.destroy();
          return;
        }
        socket.off("error", onError);
        if (handler !== null) {
          handler.serve(socket);
          return;
        }
        onConnection(socket);
      });
    };
    readHeader(raw, () => {
      timer = setTimeout(() => fail(`it was not complete within ${handshakeTimeout / 1000} s`), handshakeTimeout);
      raw.once("data", () => {
        hasBegun = true;
      });
      readClientHello(raw, onHello, () => fail("the ClientHello is too long"));
    });
  });

  /** The CA checks only the certificate of the handshake. The connection closes after it. */
  function answerChallenge(raw: Socket, { cert, key }: { readonly cert: string; readonly key: string }): TLSSocket {
    const secureContext = createSecureContext({ cert, key, secureOptions });
    const socket = new TLSSocket(raw, { isServer: true, secureContext, ALPNProtocols: [ACME_TLS_PROTOCOL] });
    return socket.once("error", () => raw.destroy()).once("secure", () => socket.end());
  }

  // Emitted by a TLSSocket with `server` if the client asks for a response (RFC 6066 section 8) and sends a server name.
  front.on("OCSPRequest", (leaf: Buffer, _issuer: Buffer, done: (error: null, response: Uint8Array | null) => void) => {
    const stapled = stapledResponses().get(hash("sha256", leaf));
    done(null, stapled !== undefined && stapled.expires > Date.now() ? stapled.response : null);
  });

  function secure(raw: Socket, { serverName, certificate: found, request, offered }: HandshakeOptions): TLSSocket {
    const context = found === undefined ? nothing : contextOf({ certificate: found, request, clientTls });
    // A TLSSocket copies the session id context of its TLS context at its creation.
    setSessionIdContext(context, hash("sha256", serverName?.toLowerCase() ?? "").slice(0, 32));
    const socket = new TLSSocket(raw, {
      isServer: true,
      secureContext: context,
      requestCert: request !== null,
      rejectUnauthorized: false,
      ...(stapledResponses().size > 0 && { server: front }),
      ...(offered.length > 0 && { ALPNProtocols: [...offered] }),
      SNICallback(asked, done) {
        if (asked !== serverName) done(new Error(TWO_NAMES));
        else if (context === nothing) done(new Error(NO_CERTIFICATE));
        else done(null, context);
      },
    });
    setCarrier(socket, raw);
    if (request !== null) markRequesting(socket);
    return socket;
  }

  await new Promise<void>((resolve, reject) => {
    front.once("error", reject);
    front.listen({ host: listen.host, port: listen.port, reusePort }, resolve);
  });
  ({ port } = front.address() as AddressInfo);
  return {
    address: { host: listen.host, port },
    close: () => new Promise<void>((resolve) => front.close(() => resolve())),
    abortHandshakes() {
      for (const [socket, forget] of handshaking) {
        forget();
        socket.destroy();
      }
    },
  };
}

/** A CA offers no other protocol (RFC 8737 section 3). */
const isAcme = ({ protocols }: ClientHello): boolean => protocols.length === 1 && protocols[0] === ACME_TLS_PROTOCOL;

/** The errors of handshakes with a context that has no key. */
const withoutKey: ReadonlySet<string> = new Set([
  NO_CERTIFICATE,
  "no shared cipher",
  "no suitable signature algorithm",
]);

/** OpenSSL's reason, such as `unsupported protocol`, or the error's message. */
function reasonOf(
  { reason, message }: Error & { readonly reason?: string },
  { serverName, certificate }: Pick<HandshakeOptions, "serverName" | "certificate">,
): string {
  const given = reason ?? message;
  if (certificate !== undefined || !withoutKey.has(given)) return given;
  return serverName === null
    ? `${NO_CERTIFICATE} for clients without a server name`
    : `${NO_CERTIFICATE} for the server name`;
}

/** The server name that OpenSSL has read; null: none. Node's types lack the member. */
const serverNameOf = (socket: TLSSocket): string | null =>
  (socket as { readonly servername?: string | false }).servername || null;

const isSameName = (one: string | null, other: string | null): boolean => one?.toLowerCase() === other?.toLowerCase();

/** Reads the ClientHello, and puts all its bytes back for the TLS socket. */
function readClientHello(raw: Socket, then: (hello: ClientHello) => void, tooLong: () => void): void {
  const reader = new ClientHelloReader();
  let bytes: Buffer = NOTHING;
  const read = (chunk: Buffer) => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    const hello = reader.read(bytes);
    if (hello !== null) {
      raw.off("data", read).pause();
      raw.unshift(bytes);
      then(hello);
    } else if (bytes.length > MOST_HELLO) tooLong();
  };
  raw.on("data", read);
}
