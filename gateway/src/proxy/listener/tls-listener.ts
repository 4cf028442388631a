/**
 * TLS in front of an HTTP engine: it performs handshakes and passes connections on.
 *
 * The certificate is selected for every handshake, so a changed certificate applies to new connections, and existing
 * connections stay open. The listener selects the certificate from the ClientHello before OpenSSL reads this message:
 * for a resumed session OpenSSL does not call SNICallback, and decrypts the ticket with the keys of the connection's
 * initial context. So the initial context is the final one, and SNICallback is used only for stapling: the callback
 * interrupts the handshake, and OpenSSL then sets and checks the certificate again, which takes a tenth of a handshake.
 */
import { hash } from "node:crypto";
import { type AddressInfo, createServer, type ServerOpts, type Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket, type TLSSocketOptions } from "node:tls";
import type { IssuedCertificate } from "@sluice/model";
import type { CertificateRequest } from "../../compile/certificate-requests.ts";
import { ACME_TLS_PROTOCOL, type AcmeChallenges } from "../../compile/listeners/acme-challenges.ts";
import type { ClientTls } from "../../settings/client-tls.ts";
import { markRequesting, sentCertificates } from "../client/client-certificates.ts";
import { ClientTlsSocket } from "../client/client-tls-socket.ts";
import type { ListenAddress } from "../settings.ts";
import { attachReadBuffer, emitAsData } from "../sockets/accepted-socket.ts";
import { receiveEncrypted } from "../sockets/node-internals.ts";
import { type ClientHello, ClientHelloReader } from "./client-hello.ts";
import { contextFor, NO_RENEGOTIATION } from "./tls-contexts.ts";

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
  /** Does not contain the server name, so that clients can cause only a few different reasons. */
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

/** A complete ClientHello. */
interface ReceivedHello {
  readonly hello: ClientHello;
  /** All bytes that have arrived. They are valid only during the call that passes them. */
  readonly bytes: Buffer;
  /** Lets the TCP socket pass the bytes on again, with those that follow. */
  readonly putBack: () => void;
}

interface HelloListener {
  /** Called with each read, before the others. */
  readonly onBytes: () => void;
  readonly onHello: (received: ReceivedHello) => void;
  readonly onTooLong: () => void;
}

interface HandshakeOptions {
  readonly serverName: string | null;
  /** Undefined: the handshake fails. */
  readonly certificate: IssuedCertificate | undefined;
  readonly request: CertificateRequest | null;
  /** The protocols for ALPN in the form of TLS (RFC 7301 section 3.1); null: none is selected. */
  readonly offered: Buffer | null;
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
  const nothing = createSecureContext({ secureOptions: NO_RENEGOTIATION });
  const alpn = protocolList(protocols);
  /** The sockets in a handshake, each with a function that forgets it. */
  const handshaking = new Map<Socket, () => void>();
  let { port } = listen;

  const front = createServer(sockets, (raw) => {
    if (!admit(raw)) return;
    let timer: NodeJS.Timeout | undefined;
    let serverName: string | null = null;
    /** Whether a failure is reported: not if the client has sent nothing, as load balancers that check the port. */
    let isReported = false;
    const end = () => {
      clearTimeout(timer);
      handshaking.delete(raw);
    };
    const fail = (reason: string) => {
      if (!handshaking.has(raw)) return;
      end();
      raw.destroy();
      if (isReported) onFailed({ port, reason, serverName });
    };
    const onBytes = () => {
      isReported = true;
    };
    handshaking.set(raw, end);
    const ignore = () => raw.destroy();
    raw.on("error", ignore).on("close", () => fail("the client closed the connection"));
    const onHello = ({ hello, bytes, putBack }: ReceivedHello) => {
      serverName = hello.serverName;
      const pending = challenges();
      const challenge = pending !== null && isAcme(hello) ? pending.certificate(serverName) : null;
      if (challenge !== null) {
        // The timeout of handshakes ends the connection if the client does not.
        answerChallenge(raw, challenge).once("secure", () => {
          isReported = false;
        });
        putBack();
        return;
      }
      const handler = stream(raw, serverName);
      if (handler !== null && !handler.isTerminated) {
        end();
        raw.off("error", ignore);
        putBack();
        handler.serve(raw);
        return;
      }
      // The protocols of a stream are unknown, so none is selected.
      const offered = handler === null && hello.protocols.length > 0 ? alpn : null;
      const request = certificateRequest(serverName);
      const found = certificate(serverName);
      const socket = secure(raw, { serverName, certificate: found, request, offered });
      const onError = (error: Error) => fail(reasonOf(error, { serverName, certificate: found }));
      socket.once("error", onError);
      socket.once("secure", () => {
        if (!hasSameName(socket)) {
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
      if (!receiveEncrypted(socket, bytes)) putBack();
    };
    readHeader(raw, () => {
      timer = setTimeout(
        () => fail(`the handshake was not complete within ${handshakeTimeout / 1000} s`),
        handshakeTimeout,
      );
      readClientHello(raw, { onBytes, onHello, onTooLong: () => fail("the ClientHello is too long") });
    });
  });

  /** The CA checks only the certificate of the handshake. The connection closes after it. */
  function answerChallenge(raw: Socket, { cert, key }: { readonly cert: string; readonly key: string }): TLSSocket {
    const secureContext = createSecureContext({ cert, key, secureOptions: NO_RENEGOTIATION });
    const socket = new TLSSocket(raw, { isServer: true, secureContext, ALPNProtocols: [ACME_TLS_PROTOCOL] });
    return socket.once("error", () => raw.destroy()).once("secure", () => socket.end());
  }

  // Emitted by a TLSSocket with `server` if the client asks for a response (RFC 6066 section 8) and sends a server name.
  front.on("OCSPRequest", (leaf: Buffer, _issuer: Buffer, done: (error: null, response: Uint8Array | null) => void) => {
    const stapled = stapledResponses().get(hash("sha256", leaf));
    done(null, stapled !== undefined && stapled.expires > Date.now() ? stapled.response : null);
  });

  function secure(
    raw: Socket,
    { serverName, certificate: found, request, offered }: HandshakeOptions,
  ): ClientTlsSocket {
    const secureContext = found && contextFor(serverName, { certificate: found, request, clientTls });
    const socket = new ClientTlsSocket(raw, serverName, {
      isServer: true,
      secureContext: secureContext ?? nothing,
      requestCert: request !== null,
      rejectUnauthorized: false,
      ...(secureContext && stapledResponses().size > 0 && stapling(secureContext)),
      ...(offered !== null && { ALPNProtocols: offered }),
    });
    if (request !== null) markRequesting(socket);
    return socket;
  }

  /** `front` gets the event "OCSPRequest" for sockets whose context comes from SNICallback. */
  const stapling = (context: SecureContext): Pick<TLSSocketOptions, "server" | "SNICallback"> => ({
    server: front,
    SNICallback: (_asked, done) => done(null, context),
  });

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
const withoutKey: ReadonlySet<string> = new Set(["no shared cipher", "no suitable signature algorithm"]);

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

/**
 * Whether OpenSSL has read the same server name. After a HelloRetryRequest (TLS 1.3), it reads the name from the second
 * ClientHello. The certificate and the request for the client's certificate were selected by the name in the first one:
 * the route must be, too. OpenSSL reads no name if a session of TLS 1.2 is resumed, which needs the same name.
 */
function hasSameName(socket: ClientTlsSocket): boolean {
  // Node's types lack the member; false: no name.
  const { servername } = socket as { readonly servername?: string | false };
  const read = servername || null;
  if (read === socket.requestedName || read?.toLowerCase() === socket.requestedName?.toLowerCase()) return true;
  return read === null && socket.getProtocol() !== "TLSv1.3" && socket.isSessionReused();
}

/**
 * Encodes the names as in the ALPN extension (RFC 7301 section 3.1), without the length of the list. Given a list of
 * names, Node would encode it for every connection.
 */
const protocolList = (protocols: readonly string[]): Buffer | null =>
  protocols.length === 0
    ? null
    : Buffer.concat(protocols.map((name) => Buffer.from(`${String.fromCharCode(name.length)}${name}`, "latin1")));

/** Reads until the ClientHello is complete. */
function readClientHello(raw: Socket, { onBytes, onHello, onTooLong }: HelloListener): void {
  const reader = new ClientHelloReader();
  /** Copies of the bytes before the last read. */
  let before: Buffer = NOTHING;
  // After a PROXY header the first bytes may have been put back into the socket, which passes them on only as "data".
  const inlet = raw.bytesRead === 0 ? attachReadBuffer(raw, { isTls: false }) : null;
  const read = (piece: Buffer) => {
    onBytes();
    const bytes = before.length === 0 ? piece : Buffer.concat([before, piece]);
    const hello = reader.read(bytes);
    if (hello === null) {
      if (bytes.length > MOST_HELLO) onTooLong();
      else before = bytes === piece ? Buffer.from(piece) : bytes;
      return;
    }
    if (inlet === null) raw.off("data", read).pause();
    const putBack = () => {
      if (inlet !== null) emitAsData(inlet, raw);
      raw.pause().unshift(Buffer.from(bytes));
    };
    onHello({ hello, bytes, putBack });
  };
  if (inlet === null) raw.on("data", read);
  else inlet.read = ({ bytes, start, end }) => read(bytes.subarray(start, end));
}
