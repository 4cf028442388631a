/** Calls to mirrors: a message is sent to one target, and the response is discarded. */
import type {
  ConnectionWaiter,
  Http1ResponseListener,
  UpstreamConnection,
} from "../http1/upstream/upstream-connection.ts";
import type { UpstreamSession } from "../http2/upstream/upstream-session.ts";
import type { SessionWaiter } from "../http2/upstream/upstream-sessions.ts";
import type { UpstreamStream, UpstreamStreamListener } from "../http2/upstream/upstream-stream.ts";
import { ByteView } from "../sockets/byte-view.ts";
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

export class Http2MirrorCall implements SessionWaiter, UpstreamStreamListener {
  readonly #message: MirrorMessage;
  readonly #listener: MirrorCallListener;
  #stream: UpstreamStream | null = null;

  constructor(message: MirrorMessage, listener: MirrorCallListener) {
    this.#message = message;
    this.#listener = listener;
  }

  opened(upstream: UpstreamSession): void {
    const { body } = this.#message;
    const stream = upstream.request({ parts: this.#message, ended: body.length === 0, listener: this });
    this.#stream = stream;
    for (const piece of body) stream.writer.data(ByteView.of(piece));
    stream.writer.end(null);
  }

  refused(error: Error): void {
    this.#listener.ended(error);
  }

  /** The listener is not called any more. */
  abort(): void {
    this.#stream?.cancel();
  }

  interim(): void {}

  head(): void {}

  data(): void {}

  flush(): boolean {
    return true;
  }

  end(): void {
    this.#listener.ended(null);
  }

  failed(error: Error): void {
    this.#listener.ended(error);
  }

  drained(): void {}
}
