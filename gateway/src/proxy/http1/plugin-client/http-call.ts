/** One request of a plugin's HTTP client, and its response. */
import type { HttpRequest, HttpResponse } from "@sluice/plugin-sdk";
import { ByteView } from "../../sockets/byte-view.ts";
import { errorCodeOf } from "../../upstream/failure.ts";
import { headerOf, plainLines, rawHeaders } from "../parse/fields.ts";
import type { ResponseHeadParser } from "../parse/response-head.ts";
import type { ConnectionWaiter, Http1ResponseListener, UpstreamConnection } from "../upstream/upstream-connection.ts";
import type { OriginConnections } from "./origin-connections.ts";
import { joinedHeaders } from "./request-text.ts";

/** Maximum bytes of a response's body by default. */
const MAX_RESPONSE = 1024 * 1024;
/** The highest valid status code. */
const LAST_STATUS = 599;
/** Milliseconds by which a connection is closed before the server's keep-alive time ends, as in node:http. */
const KEEP_ALIVE_MARGIN = 1000;

const NOTHING = Buffer.alloc(0);

/** The server closed a kept connection before it answered, probably without having read the request. */
export class StaleConnectionError extends Error {
  override readonly name = "StaleConnectionError";
}

export interface PluginHttpCallOptions {
  readonly connections: OriginConnections;
  readonly request: Pick<HttpRequest, "method" | "timeout" | "maxResponse">;
  /** The request's head. */
  readonly head: string;
  readonly body: Buffer;
  /** The time (`performance.now()`) by which the response must have arrived completely. */
  readonly deadline: number;
}

export class PluginHttpCall implements ConnectionWaiter, Http1ResponseListener {
  readonly response: Promise<HttpResponse>;
  readonly #options: PluginHttpCallOptions;
  readonly #settle: Pick<PromiseWithResolvers<HttpResponse>, "resolve" | "reject">;
  #connection: UpstreamConnection | null = null;
  /** Ends the wait for a connection; null: the call does not wait. */
  #stopWaiting: (() => void) | null = null;
  /** Limits the wait for a connection. */
  #late: NodeJS.Timeout | undefined;
  #status = 0;
  /** Lines as `plainLines` returns them, or a flat list. */
  #headers: string | readonly string[] = [];
  #chunks: Buffer[] | null = null;
  #length = 0;

  constructor(options: PluginHttpCallOptions) {
    const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
    this.response = promise;
    this.#settle = { resolve, reject };
    this.#options = options;
    this.#stopWaiting = options.connections.request(this);
    if (this.#stopWaiting !== null) this.#late = setTimeout(() => this.silent(), this.#left);
  }

  /** Milliseconds until the deadline. */
  get #left(): number {
    return Math.max(1, this.#options.deadline - performance.now());
  }

  /** Fails the call, and closes its connection. */
  abort(error: Error): void {
    this.#stopWaiting?.();
    this.#connection?.destroy();
    this.#end();
    this.#settle.reject(error);
  }

  connected(connection: UpstreamConnection): void {
    this.#end();
    this.#connection = connection;
    const { request, head, body } = this.#options;
    connection.begin(head, { method: request.method, protocol: null, listener: this });
    if (body.length > 0) connection.write(ByteView.of(body));
    connection.sent();
    connection.silence.start(this.#left);
    connection.flush();
  }

  connectFailed(error: Error): void {
    this.failed(error);
  }

  interim(): void {
    // Interim responses (RFC 9110 section 15.2) are ignored.
  }

  head(head: ResponseHeadParser): void {
    this.#status = head.status;
    // An invalid status (RFC 9110 section 15). A plugin that answered a client with it would fail over HTTP/2.
    if (head.status > LAST_STATUS) {
      this.abort(new Error(`the server answered with the invalid status ${head.status}`));
      return;
    }
    this.#headers = plainLines(head.fields) ?? rawHeaders(head.fields);
    const keepAlive = headerOf(head.fields, "keep-alive");
    if (this.#connection !== null)
      this.#connection.maxIdleTime = keepAlive === undefined ? Number.POSITIVE_INFINITY : maxIdleTimeOf(keepAlive);
  }

  data(view: ByteView): void {
    const { maxResponse = MAX_RESPONSE } = this.#options.request;
    this.#length += view.length;
    if (this.#length > maxResponse) {
      this.abort(new Error(`the response has more than ${maxResponse} bytes`));
      return;
    }
    this.#chunks ??= [];
    view.keepIn(this.#chunks);
  }

  flush(): boolean {
    return true;
  }

  end(): void {
    const chunks = this.#chunks ?? [];
    const [first = NOTHING] = chunks;
    this.#end();
    this.#settle.resolve(
      new ReceivedResponse(this.#status, this.#headers, chunks.length > 1 ? Buffer.concat(chunks) : first),
    );
  }

  failed(error: Error): void {
    const isReused = this.#connection !== null && !this.#connection.isFresh;
    const isStale = isReused && this.#status === 0 && errorCodeOf(error) === "ECONNRESET";
    this.#end();
    this.#settle.reject(isStale ? new StaleConnectionError(error.message) : error);
  }

  upgraded(): void {
    // No protocol is requested, so the connection reports a failure instead.
  }

  drained(): void {
    // Nothing is left to write: the request is written as a whole.
  }

  silent(): void {
    this.abort(new Error(`no complete response within ${this.#options.request.timeout} ms`));
  }

  stalled(): void {
    // `stall` is not started: the timeout limits the whole request.
  }

  /** Forgets the connection or the wait for one, and stops the time limit of the wait. */
  #end(): void {
    this.#connection = null;
    this.#stopWaiting = null;
    clearTimeout(this.#late);
  }
}

/** Milliseconds for which a connection may stay idle, by the Keep-Alive header of the server. */
function maxIdleTimeOf(keepAlive: string): number {
  const [, seconds] = /(?:^|[\s,])timeout=(\d+)/i.exec(keepAlive) ?? [];
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000 - KEEP_ALIVE_MARGIN;
}

/** The headers are converted to an object only when they are first read: many plugins read only the status. */
class ReceivedResponse implements HttpResponse {
  readonly status: number;
  readonly body: Buffer;
  readonly #received: string | readonly string[];
  #headers: HttpResponse["headers"] | null = null;

  /** @param received Lines as `plainLines` returns them, or a flat list */
  constructor(status: number, received: string | readonly string[], body: Buffer) {
    this.status = status;
    this.body = body;
    this.#received = received;
  }

  get headers(): HttpResponse["headers"] {
    const received = this.#received;
    this.#headers ??= joinedHeaders(typeof received === "string" ? listOf(received) : received);
    return this.#headers;
  }
}

/** The headers of lines that each have one space after the colon, as a flat list. */
const listOf = (lines: string): readonly string[] =>
  lines
    .split("\r\n")
    .slice(0, -1)
    .flatMap((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 2)];
    });
