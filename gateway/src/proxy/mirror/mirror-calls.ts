/** Calls to mirrors: a message is sent to one target, and the response is discarded. */
import { type ClientHttp2Stream, constants } from "node:http2";
import type {
  ConnectionWaiter,
  Http1ResponseListener,
  UpstreamConnection,
} from "../http1/upstream/upstream-connection.ts";
import { requestFields } from "../http2/fields.ts";
import type { SessionWaiter, UpstreamSession } from "../http2/upstream/upstream-sessions.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { closedEarly } from "../upstream/failure.ts";
import { type MirrorMessage, mirrorHeadText } from "./mirror-message.ts";

/** Receives the result of a call, once. */
export interface MirrorCallListener {
  /** @param error Null: the response is complete. */
  ended(error: Error | null): void;
}

export class Http1MirrorCall implements ConnectionWaiter, Http1ResponseListener {
  readonly #message: MirrorMessage;
  readonly #listener: MirrorCallListener;
  #connection: UpstreamConnection | null = null;

  constructor(message: MirrorMessage, listener: MirrorCallListener) {
    this.#message = message;
    this.#listener = listener;
  }

  connected(connection: UpstreamConnection): void {
    this.#connection = connection;
    const { method, body } = this.#message;
    connection.begin(mirrorHeadText(this.#message), { method, protocol: null, listener: this });
    for (const piece of body) connection.write(ByteView.of(piece));
    connection.sent();
    connection.flush();
  }

  connectFailed(error: Error): void {
    this.#listener.ended(error);
  }

  /** The listener is not called any more. */
  abort(): void {
    this.#connection?.destroy();
  }

  interim(): void {}

  head(): void {}

  data(): void {}

  flush(): boolean {
    return true;
  }

  end(): void {
    this.#connection = null;
    this.#listener.ended(null);
  }

  failed(error: Error): void {
    this.#connection = null;
    this.#listener.ended(error);
  }

  upgraded(): void {
    // No protocol is requested, so the connection reports a failure instead.
  }

  drained(): void {}

  silent(): void {
    // The timers of the connection are not started: a deadline limits the whole call.
  }

  stalled(): void {}
}

export class Http2MirrorCall implements SessionWaiter {
  readonly #message: MirrorMessage;
  readonly #listener: MirrorCallListener;
  #stream: ClientHttp2Stream | null = null;

  constructor(message: MirrorMessage, listener: MirrorCallListener) {
    this.#message = message;
    this.#listener = listener;
  }

  opened(upstream: UpstreamSession): void {
    const { body } = this.#message;
    const stream = this.#request(upstream);
    if (stream === null) return;
    this.#stream = stream;
    upstream.begin();
    let error: Error | null = null;
    stream
      .on("error", (cause) => {
        error = cause;
      })
      .once("close", () => {
        upstream.end();
        if (this.#stream !== stream) return;
        const isComplete = stream.rstCode === constants.NGHTTP2_NO_ERROR && stream.readableEnded;
        this.#listener.ended(isComplete ? null : (error ?? closedEarly()));
      })
      .resume();
    for (const piece of body) stream.write(piece);
    if (body.length > 0) stream.end();
  }

  refused(error: Error): void {
    this.#listener.ended(error);
  }

  /** The listener is not called any more. */
  abort(): void {
    const stream = this.#stream;
    this.#stream = null;
    stream?.close(constants.NGHTTP2_CANCEL);
  }

  #request({ session }: UpstreamSession): ClientHttp2Stream | null {
    try {
      return session.request(requestFields(this.#message), { endStream: this.#message.body.length === 0 });
    } catch (error) {
      // A plugin has set an invalid header.
      this.#listener.ended(error as Error);
      return null;
    }
  }
}
