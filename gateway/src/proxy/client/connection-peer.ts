/** Facts about the peer of a client connection, equal for all its requests. */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { canonicalAddress } from "../../outbound/address-set.ts";

export interface ConnectionPeer {
  /** In the form of `canonicalAddress`. */
  readonly peerAddress: string;
  /** The listener's port. */
  readonly port: number;
  readonly scheme: "http" | "https";
  readonly serverName: string | null;
  /** Such as TLSv1.3; null without TLS. */
  readonly tlsVersion: string | null;
}

export const peerAddressOf = ({ remoteAddress }: Pick<Socket, "remoteAddress">): string =>
  canonicalAddress(remoteAddress ?? "");

export function peerOf(socket: Socket): ConnectionPeer {
  const address = { peerAddress: peerAddressOf(socket), port: socket.localPort ?? 0 };
  if (!(socket instanceof TLSSocket)) return { ...address, scheme: "http", serverName: null, tlsVersion: null };
  // False when the client sent no SNI; Node's types declare `servername` for server sockets only as `any`.
  const { servername } = socket as { readonly servername?: string | false };
  const tlsVersion = socket.getProtocol();
  return { ...address, scheme: "https", serverName: servername ? servername.toLowerCase() : null, tlsVersion };
}
