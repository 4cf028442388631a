/**
 * Connections of plugins. The node refuses addresses that configuration must not reach, such as those of its own
 * machine, unless SLUICE_ALLOWED_UPSTREAMS names them. It refuses certificates that it does not trust, unless `verify`
 * is false.
 */
import type { Socket } from "node:net";

export interface HttpRequest {
  readonly method: string;
  /** A URL with the scheme http or https, without user information. Redirects are not followed. */
  readonly url: string;
  /**
   * Values have one character per byte. The HTTP client itself writes Content-Length and headers about the connection,
   * such as Connection, TE and Expect; if they are given here, they are left out. If the object is frozen, its headers
   * are checked and written only for the first request.
   */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Milliseconds within which the complete response must arrive. */
  readonly timeout: number;
  /** Milliseconds that an idle connection is kept. Default: one minute. */
  readonly keepAlive?: number;
  /** Maximum bytes of the response's body. Default: 1 MiB. */
  readonly maxResponse?: number;
  /** Whether the certificate of an https server is verified. Default: true. */
  readonly verify?: boolean;
}

export interface HttpResponse {
  readonly status: number;
  /** The headers by lower-case name. Several values are joined as in Node's `message.headers`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

/** A client with a pool of connections. */
export interface HttpClient {
  /**
   * Rejects if no complete response arrives, or the body of the response is too long. The error names the server but no
   * path, query, header or body, which may contain secrets.
   */
  send(request: HttpRequest): Promise<HttpResponse>;
}

export interface Destination {
  /** Name or address. */
  readonly host: string;
  readonly port: number;
}

export interface StreamDestination extends Destination {
  /** Absent: without TLS. */
  readonly tls?: {
    /** Name for SNI, which the certificate must have. Null: the host. */
    readonly serverName: string | null;
    /** Whether the certificate is verified. Default: true. */
    readonly verify?: boolean;
  };
}

/** The TLS server that an open connection leads to. */
export type SecureDestination = Pick<StreamDestination, "host"> & Required<Pick<StreamDestination, "tls">>;

/** Sends datagrams to one destination. The address found for its name is used for 30 seconds. */
export interface Datagrams {
  /**
   * Rejects if the name cannot be resolved, the address is refused, the datagram is too long, or too many datagrams
   * wait to be sent.
   */
  send(data: Buffer): Promise<void>;
  close(): void;
}

export interface PluginNetwork {
  readonly http: HttpClient;
  /**
   * Opens a TCP connection, with TLS if the destination has `tls`. Returns a connecting socket; a refused address
   * results in an "error" event.
   */
  connect(destination: StreamDestination): Socket;
  /**
   * Starts TLS on an open connection, for protocols in which a message asks for it (STARTTLS). Returns a socket that
   * emits "secureConnect"; the given one must no longer be used.
   */
  startTls(socket: Socket, destination: SecureDestination): Socket;
  /** Returns a sender of datagrams, which opens a UDP socket when it is first used. */
  datagrams(destination: Destination): Datagrams;
}
