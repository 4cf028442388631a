/**
 * TLS in front of an HTTP engine: handshakes here, requests there.
 *
 * The certificate is chosen anew for every handshake, so a changed one shows to new connections and drops none. It is
 * chosen by the client's first message before OpenSSL sees it: a session that is resumed asks for no certificate
 * (SNICallback is not called), and is taken by the keys of the context that the connection begins with. Each certificate
 * has a context with keys of its own, so that its sessions end with it; within one the server's name tells sessions apart.
 */
import { constants, hash } from "node:crypto";
import { type AddressInfo, createServer, type ServerOpts, type Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import type { Certificate } from "@sluice/model";
import type { ListenAddress } from "../settings.ts";
import { type ClientHello, ClientHelloReader } from "./client-hello.ts";

export interface TlsListenerOptions {
  readonly listen: ListenAddress;
  /** As in `ProxyOptions`. */
  readonly reusePort: boolean;
  /** Options of the sockets of clients. */
  readonly sockets: ServerOpts;
  /** What clients may choose to speak (ALPN), the best first. */
  readonly protocols: readonly ("h2" | "http/1.1")[];
  /** Asked before a handshake begins; false: nothing more is done with the connection. Default: all may come. */
  readonly admit?: (raw: Socket) => boolean;
  /** Gets the connections whose handshake is done. */
  readonly onConnection: (socket: TLSSocket) => void;
  /** What to show to clients that ask for a name (null: for none); undefined ends the handshake. */
  readonly certificate: (serverName: string | null) => Certificate | undefined;
  /** Milliseconds in which a handshake must be done. */
  readonly handshakeTimeout: number;
}

export interface TlsListener {
  readonly address: ListenAddress;
  /** Takes no more connections, and ends handshakes. Established connections are the engine's. */
  close(): Promise<void>;
}

/** Bytes that a client's first message may have, with its records: usual ones have up to 2 kB. */
const MOST_HELLO = 32_768;
const NOTHING = Buffer.alloc(0);
/** Of TLS 1.2: each costs as much as a handshake, and clients may ask for any number of them. */
const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;

/** Making one parses keys: it is made when the certificate is first asked for, and kept as long as the entity. */
const contexts = new WeakMap<Certificate, SecureContext>();

function contextOf(certificate: Certificate): SecureContext {
  const known = contexts.get(certificate);
  if (known) return known;
  const { cert, key, cert_alt, key_alt } = certificate;
  const pair = (main: string, alternative: string | null) => (alternative === null ? [main] : [main, alternative]);
  const pairs = { cert: pair(cert, cert_alt), key: pair(key, key_alt) };
  const context = createSecureContext({ ...pairs, minVersion: "TLSv1.2", secureOptions });
  contexts.set(certificate, context);
  return context;
}

/** Rejects when the address cannot be listened on. */
export async function startTlsListener(options: TlsListenerOptions): Promise<TlsListener> {
  const {
    listen,
    reusePort,
    sockets,
    protocols,
    onConnection,
    certificate,
    handshakeTimeout,
    admit = () => true,
  } = options;
  /** For clients that name no server where nothing stands for every name: the handshake fails for want of a key. */
  const nothing = createSecureContext({ secureOptions });
  const handshaking = new Set<Socket>();

  const front = createServer(sockets, (raw) => {
    if (!admit(raw)) return;
    const timer = setTimeout(() => raw.destroy(), handshakeTimeout);
    const end = () => {
      clearTimeout(timer);
      handshaking.delete(raw);
    };
    handshaking.add(raw);
    const ignore = () => raw.destroy();
    raw.once("error", ignore).once("close", end);
    readClientHello(raw, ({ serverName }) => {
      const socket = secure(raw, serverName);
      socket.once("error", ignore);
      socket.once("secure", () => {
        end();
        socket.off("error", ignore);
        // As tls.Server does it: HTTP/2 would else wait for a handshake that is done.
        Object.assign(socket, { secureConnecting: false });
        onConnection(socket);
      });
    });
  });

  function secure(raw: Socket, serverName: string | null): TLSSocket {
    const found = certificate(serverName);
    const context = found === undefined ? nothing : contextOf(found);
    // The connection takes it over as it is now.
    context.context.setSessionIdContext(hash("sha256", serverName?.toLowerCase() ?? "").slice(0, 32));
    return new TLSSocket(raw, {
      isServer: true,
      secureContext: context,
      ALPNProtocols: [...protocols],
      SNICallback(asked, done) {
        if (asked !== serverName) done(new Error("the client names two servers"));
        else if (context === nothing) done(new Error(`no certificate for '${asked}'`));
        else done(null, context);
      },
    });
  }

  await new Promise<void>((resolve, reject) => {
    front.once("error", reject);
    front.listen({ host: listen.host, port: listen.port, reusePort }, resolve);
  });
  return {
    address: { host: listen.host, port: (front.address() as AddressInfo).port },
    close() {
      const closed = new Promise<void>((resolve) => front.close(() => resolve()));
      for (const socket of handshaking) socket.destroy();
      return closed;
    },
  };
}

/** Nothing of what the client has sent is taken away. */
function readClientHello(raw: Socket, then: (hello: ClientHello) => void): void {
  const reader = new ClientHelloReader();
  let bytes: Buffer = NOTHING;
  const read = (chunk: Buffer) => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    const hello = reader.read(bytes);
    if (hello !== null) {
      raw.off("data", read).pause();
      raw.unshift(bytes);
      then(hello);
    } else if (bytes.length > MOST_HELLO) raw.destroy();
  };
  raw.on("data", read);
}
