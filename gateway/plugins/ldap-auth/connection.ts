/** A connection to an LDAP server. */
import type { Socket } from "node:net";
import type { PluginNetwork } from "@sluice/plugin-sdk";
import { type LdapRequest, type LdapResult, messageLength, readResult, startTlsRequest } from "./messages.ts";
import type { LdapAuthConfig } from "./schema.ts";

/** The connection ended or failed before any byte of a response: the server may have closed it while it was idle. */
export class ConnectionEnded extends Error {
  override readonly name = "ConnectionEnded";
}

interface Expected {
  readonly request: LdapRequest;
  readonly id: number;
  resolve(result: LdapResult): void;
  reject(error: Error): void;
}

const nothing = Buffer.alloc(0);

/** Sends one request at a time, because a server may refuse further requests during a bind (RFC 4511 section 4.2.1). */
export class LdapConnection {
  readonly #socket: Socket;
  #id = 0;
  #expected: Expected | null = null;
  #received: Buffer = nothing;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket
      .on("data", (bytes: Buffer) => this.#receive(bytes))
      .on("error", (error) => this.#fail(new ConnectionEnded(error.message)))
      .on("close", () => this.#fail(new ConnectionEnded("the server has closed the connection")));
  }

  /**
   * Opens a connection, with TLS if the config demands it.
   *
   * @param signal When it aborts, a connection that is not open yet is closed, and the promise rejects
   */
  static async open(config: LdapAuthConfig, network: PluginNetwork, signal: AbortSignal): Promise<LdapConnection> {
    const { ldap_host: host, ldap_port: port, ldaps, start_tls, verify_ldap_host: verify } = config;
    const tls = { serverName: null, verify };
    const socket = network.connect({ host, port, ...(ldaps && { tls }) });
    await isOpen(socket, ldaps ? "secureConnect" : "connect", signal);
    if (!start_tls) return new LdapConnection(socket);
    const plain = new LdapConnection(socket);
    const { code, diagnostic } = await plain.send(startTlsRequest, signal);
    if (code !== 0) {
      plain.close();
      throw new Error(`it refused StartTLS with the code ${code}: ${diagnostic}`);
    }
    // Clear text after the response may come from an attacker (response injection). `#receive` has refused clear text
    // that arrived together with the response; bytes that arrive from now on belong to TLS.
    socket.removeAllListeners("data");
    const secure = network.startTls(socket, { host, tls });
    await isOpen(secure, "secureConnect", signal);
    return new LdapConnection(secure);
  }

  /** Whether a request can be sent. */
  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /**
   * Sends a request, and resolves with the result in the response. Closes the connection and rejects if the response is
   * invalid, or if the connection ends or the signal aborts before the response.
   */
  async send(request: LdapRequest, signal: AbortSignal): Promise<LdapResult> {
    this.#id = (this.#id % 127) + 1;
    const { promise, resolve, reject } = Promise.withResolvers<LdapResult>();
    this.#expected = { request, id: this.#id, resolve, reject };
    const abort = () => this.#fail(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    this.#socket.setTimeout(0).write(request.encode(this.#id));
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Closes the connection once it has been idle for this time. The next request switches the limit off. */
  closeAfter(milliseconds: number): void {
    this.#socket.setTimeout(milliseconds, () => this.close());
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    const expected = this.#expected;
    if (expected === null) {
      this.#fail(new Error("it sent bytes without a request"));
      return;
    }
    this.#received = Buffer.concat([this.#received, bytes]);
    try {
      const length = messageLength(this.#received);
      if (length === null || this.#received.length < length) return;
      if (this.#received.length > length) throw new Error("it sent more than one message");
      const result = readResult(this.#received, expected.id, expected.request);
      this.#received = nothing;
      this.#expected = null;
      expected.resolve(result);
    } catch (error) {
      this.#fail(new Error(`its response is invalid: ${(error as Error).message}`));
    }
  }

  #fail(error: Error): void {
    const expected = this.#expected;
    this.#expected = null;
    this.close();
    expected?.reject(this.#received.length > 0 && error instanceof ConnectionEnded ? new Error(error.message) : error);
  }
}

/** Waits until a socket is open. Destroys the socket and rejects if it fails or closes, or the signal aborts first. */
async function isOpen(socket: Socket, event: "connect" | "secureConnect", signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onClose = () => reject(new Error("the connection was closed before it was open"));
  const onAbort = () => reject(signal.reason);
  socket.once(event, resolve).on("error", reject).once("close", onClose);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    socket.off(event, resolve).off("close", onClose);
  }
}
