/**
 * TLS in front of an HTTP engine: handshakes here, requests there.
 *
 * The certificate is chosen anew for every handshake, so a changed one shows to new connections and drops none.
 */
import { type AddressInfo, createServer, type ServerOpts, type Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import type { Certificate } from "@sluice/model";
import type { ListenAddress } from "./settings.ts";

export interface TlsOptions {
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

/** Making one parses keys: it is made when the certificate is first asked for, and kept as long as the entity. */
const contexts = new WeakMap<Certificate, SecureContext>();

function contextOf(certificate: Certificate): SecureContext {
  const known = contexts.get(certificate);
  if (known) return known;
  const { cert, key, cert_alt, key_alt } = certificate;
  const pair = (main: string, alternative: string | null) => (alternative === null ? [main] : [main, alternative]);
  const context = createSecureContext({ cert: pair(cert, cert_alt), key: pair(key, key_alt), minVersion: "TLSv1.2" });
  contexts.set(certificate, context);
  return context;
}

/** Rejects when the address cannot be listened on. */
export async function startTls(options: TlsOptions): Promise<TlsListener> {
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
  const context = (serverName: string | null) => {
    const found = certificate(serverName);
    return found && contextOf(found);
  };
  /** For clients that name no server where nothing stands for every name: the handshake fails for want of a key. */
  const nothing = createSecureContext();
  const handshaking = new Set<Socket>();

  const front = createServer(sockets, (raw) => {
    if (!admit(raw)) return;
    const socket = new TLSSocket(raw, {
      isServer: true,
      secureContext: context(null) ?? nothing,
      ALPNProtocols: [...protocols],
      SNICallback(serverName, done) {
        const found = context(serverName);
        if (found) done(null, found);
        else done(new Error(`no certificate for '${serverName}'`));
      },
    });
    const timer = setTimeout(() => raw.destroy(), handshakeTimeout);
    const end = () => {
      clearTimeout(timer);
      handshaking.delete(raw);
    };
    handshaking.add(raw);
    const ignore = () => raw.destroy();
    socket.once("error", ignore);
    socket.once("secure", () => {
      end();
      socket.off("error", ignore);
      // As tls.Server does it: HTTP/2 would else wait for a handshake that is done.
      Object.assign(socket, { secureConnecting: false });
      onConnection(socket);
    });
    raw.once("close", end);
  });
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
