/** The node's own listeners for connections that are not HTTP (`SLUICE_STREAM_LISTEN`). */
import { type AddressInfo, createServer, type Server, type ServerOpts, type Socket } from "node:net";
import type { ListenAddress, StreamListenAddress } from "../settings.ts";
import type { Streams } from "../streams/streams.ts";
import type { ClientAdmission } from "./client-admission.ts";
import type { TlsListener, TlsListenerOptions } from "./tls-listener.ts";

export interface StreamListenerOptions {
  readonly reusePort: boolean;
  /** Options of client sockets. */
  readonly sockets: ServerOpts;
  readonly streams: Streams;
  /** Admits a connection. Returns false if the connection was reset instead. */
  readonly admit: (socket: Socket) => boolean;
  readonly admission: Pick<ClientAdmission, "readHeader">;
  readonly openTls: (own: Pick<TlsListenerOptions, "listen" | "onConnection" | "stream">) => Promise<TlsListener>;
}

export interface StreamListeners {
  readonly addresses: readonly StreamListenAddress[];
  /** Ends the connections whose handshake is not complete. */
  abortHandshakes(): void;
  /** Accepts no more connections. Resolves when all have ended. */
  close(): Promise<unknown>;
}

interface StreamListener {
  readonly address: ListenAddress;
  readonly close: () => Promise<void>;
  readonly abortHandshakes?: () => void;
}

/** Rejects when listening fails; in that case no listener stays open. */
export async function openStreamListeners(
  addresses: readonly StreamListenAddress[],
  options: StreamListenerOptions,
): Promise<StreamListeners> {
  const opened: (StreamListener & Pick<StreamListenAddress, "tls">)[] = [];
  const close = () => Promise.all(opened.map((listener) => listener.close()));
  for (const { host, port, tls } of addresses)
    try {
      opened.push({ ...(await (tls ? openSecure : openPlain)({ host, port }, options)), tls });
    } catch (error) {
      await close();
      throw error;
    }
  return {
    addresses: opened.map(({ address, tls }) => ({ ...address, tls })),
    abortHandshakes() {
      for (const listener of opened) listener.abortHandshakes?.();
    },
    close,
  };
}

async function openPlain(
  { host, port }: ListenAddress,
  { reusePort, sockets, streams, admit, admission }: StreamListenerOptions,
): Promise<StreamListener> {
  const server: Server = createServer({ ...sockets, allowHalfOpen: true }, (raw) => {
    if (!admit(raw)) return;
    // The bytes of the client wait until a target has been found.
    const serve = () => streams.ownHandlerFor({ raw, isTls: false, serverName: null }).serve(raw);
    admission.readHeader(raw, serve, true);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, reusePort }, resolve);
  });
  return {
    address: { host, port: (server.address() as AddressInfo).port },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

const openSecure = (listen: ListenAddress, { streams, openTls }: StreamListenerOptions): Promise<StreamListener> =>
  openTls({
    listen,
    // Every connection has a handler.
    onConnection: (socket) => socket.destroy(),
    stream: (raw, serverName) => streams.ownHandlerFor({ raw, isTls: true, serverName }),
  });
