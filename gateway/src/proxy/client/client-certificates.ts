/** Certificates that clients send in their TLS handshakes, for plugins that authenticate clients by them. */
import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/**
 * Maximum number of certificates that are read from a chain; chains from public CAs have three or four. OpenSSL limits
 * the total size of a chain to 100 kB.
 */
const MAX_CERTIFICATES = 20;

/**
 * Connections whose handshake requests a certificate, with the certificates that the client sent; undefined: not parsed
 * yet.
 */
const requesting = new WeakMap<Socket, readonly X509Certificate[] | undefined>();

/** Marks a connection whose handshake will request a certificate. Called before the handshake. */
export const markRequesting = (socket: TLSSocket): void => void requesting.set(socket, undefined);

/** See `ClientConnection.clientCertificates`. Parsed on the first call, because most requests need no certificates. */
export function sentCertificates(socket: TLSSocket): readonly X509Certificate[] | null {
  if (!requesting.has(socket)) return null;
  const known = requesting.get(socket);
  if (known !== undefined) return known;
  const chain = readChain(socket);
  requesting.set(socket, chain);
  return chain;
}

function readChain(socket: TLSSocket): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  // On the server's side `issuerCertificate` is the next certificate that was sent, whether or not it is the issuer.
  let next = socket.getPeerX509Certificate();
  while (next !== undefined && chain.length < MAX_CERTIFICATES) {
    chain.push(next);
    next = next.issuerCertificate;
  }
  return chain;
}
