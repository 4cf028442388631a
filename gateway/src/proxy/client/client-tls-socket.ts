/** A TLS connection of a client. */
import type { Socket } from "node:net";
import { TLSSocket, type TLSSocketOptions } from "node:tls";

export class ClientTlsSocket extends TLSSocket {
  /** The TCP connection below. It knows the addresses, which a TLS socket would ask the kernel for. */
  readonly carrier: Socket;
  /**
   * The server name in the ClientHello; null: none. OpenSSL's `servername` lacks it if the client resumes a session of
   * TLS 1.2.
   */
  readonly requestedName: string | null;

  constructor(carrier: Socket, requestedName: string | null, options: TLSSocketOptions) {
    super(carrier, options);
    this.carrier = carrier;
    this.requestedName = requestedName;
    for (const socket of [this, carrier]) socket.on("close", dropListeners);
  }
}

/**
 * V8 frees closed TLS sockets only in full garbage collections. Without listeners, they do not keep the objects of the
 * HTTP connection alive until then. Either of the two sockets may emit "close" first, so each drops only its own.
 */
function dropListeners(this: Socket): void {
  this.removeAllListeners().on("error", ignoreError);
}

const ignoreError = (): void => undefined;
