/** Client connections of HTTP/1.1 and HTTP/2: their control, their limits, and their peer. */
import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import { canonicalAddress } from "../../outbound/address-set.ts";
import type { MinRateLimits } from "../timers/min-rate-timer.ts";
import { sentCertificates } from "./client-certificates.ts";
import { ClientTlsSocket } from "./client-tls-socket.ts";

/** Facts that are equal for all requests of a connection. After a PROXY header, its addresses replace the socket's. */
export interface ConnectionPeer {
  /** In the form of `canonicalAddress`. */
  readonly peerAddress: string;
  /** The listener's address to which the client connected, in the form of `canonicalAddress`. */
  readonly localAddress: string;
  /** The port to which the client connected. */
  readonly port: number;
  /** The port, if it is one of the document's listeners; null: a listener of the node itself. */
  readonly documentPort: number | null;
  readonly scheme: "http" | "https";
  readonly serverName: string | null;
  /** Such as TLSv1.3; null without TLS. */
  readonly tlsVersion: string | null;
  /** OpenSSL's name of the cipher; null without TLS. */
  readonly tlsCipher: string | null;
  /** See `ClientConnection`. */
  readonly clientCertificates: readonly X509Certificate[] | null;
}

/** Connections to ports of the document's listeners, with these ports. */
const documentPorts = new WeakMap<Socket, number>();

export const markDocumentPort = (socket: Socket, port: number): void => void documentPorts.set(socket, port);

export const documentPortOf = (socket: Socket): number | null => documentPorts.get(socket) ?? null;

/** The ends of the connection between a client and a load balancer, as the load balancer's PROXY header names them. */
export interface ProxiedAddresses {
  /** The client's address, in the form of `canonicalAddress`. */
  readonly client: string;
  readonly clientPort: number;
  /** The address to which the client connected, in the form of `canonicalAddress`. */
  readonly server: string;
  readonly serverPort: number;
}

/** Connections that began with a PROXY header. */
const proxied = new WeakMap<Socket, ProxiedAddresses>();

export const setProxiedAddresses = (socket: Socket, addresses: ProxiedAddresses): void =>
  void proxied.set(socket, addresses);

const carrierOf = (socket: Socket): Socket => (socket instanceof ClientTlsSocket ? socket.carrier : socket);

/** The client's address, in the form of `canonicalAddress`. */
export function peerAddressOf(socket: Socket): string {
  const carrier = carrierOf(socket);
  return proxied.get(carrier)?.client ?? canonicalAddress(carrier.remoteAddress ?? "");
}

/** The client's port; 0: the connection has closed before it was read. */
export const peerPortOf = (socket: Socket): number => proxied.get(socket)?.clientPort ?? socket.remotePort ?? 0;

export function peerOf(socket: Socket): ConnectionPeer {
  const carrier = carrierOf(socket);
  const addresses = proxied.get(carrier);
  const address = {
    peerAddress: peerAddressOf(carrier),
    localAddress: addresses?.server ?? canonicalAddress(carrier.localAddress ?? ""),
    port: addresses?.serverPort ?? carrier.localPort ?? 0,
    documentPort: documentPortOf(socket),
  };
  if (!(socket instanceof ClientTlsSocket)) {
    const noTls = { serverName: null, tlsVersion: null, tlsCipher: null, clientCertificates: null };
    return { ...address, scheme: "http", ...noTls };
  }
  const tlsVersion = socket.getProtocol();
  const tlsCipher = socket.getCipher()?.name ?? null;
  const serverName = socket.requestedName?.toLowerCase() ?? null;
  return {
    ...address,
    scheme: "https",
    serverName,
    tlsVersion,
    tlsCipher,
    get clientCertificates() {
      return sentCertificates(socket);
    },
  };
}

/** A client connection as its listener controls it. */
export interface OpenConnection {
  readonly isAnswering: boolean;
  /** Closes the connection as soon as it has no request under way; see `CloseOptions.keepIdle` for idle connections. */
  drain(keepIdle: boolean): void;
  destroy(): void;
  /** Called periodically with the current time. Absent: the connection has no periodic checks. */
  checkLiveness?(now: number): void;
}

/** Limits of a client connection, for HTTP/1.1 and HTTP/2. */
export interface ClientConnectionLimits {
  /** Milliseconds within which a head, or the first request of HTTP/2, must arrive. */
  readonly headersTimeout: number;
  /** Milliseconds that an idle connection is kept. */
  readonly keepAliveTimeout: number;
  /** Limits for request bodies. */
  readonly bodyPace: MinRateLimits;
  /** Limits for reading responses. */
  readonly sendPace: MinRateLimits;
  /** Milliseconds without traffic after which a client is probed. */
  readonly probeInterval: number;
  /** Maximum requests per connection. */
  readonly maxRequests: number;
  /** Called for every request, before its route is looked up. */
  readonly onRequest: () => void;
}
