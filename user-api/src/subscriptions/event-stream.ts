/** Results as server-sent events: graphql-sse's protocol in distinct connections mode, one response per operation. */
import type { ServerResponse } from "node:http";
import type { GraphQLFormattedError } from "graphql";
import type { Receiver } from "./receiver.ts";

export interface EventStreamOptions {
  /** Bytes that may be buffered for one stream; beyond it the client is too slow and its stream ends with an error. */
  readonly streamBytes: number;
  /**
   * The interval of comments that keep intermediaries from closing an idle stream. After its end, a stream is cut when
   * its client reads nothing of the buffered data for twice that time.
   */
  readonly heartbeatMilliseconds: number;
  readonly slow: () => readonly GraphQLFormattedError[];
}

export interface EventStreams {
  /** Responds with the results of an operation, unless the client has left. Headers set before are kept. */
  open(response: ServerResponse, begin: (receiver: Receiver) => () => void, closed: () => void): void;
  size(): number;
  /** Ends all streams after their buffered data, without the event `complete`, so that clients subscribe again. */
  close(): void;
  terminate(): void;
}

/** JSON contains no raw line breaks, so every result is one line. */
const eventOf = (name: "next" | "complete", data: string): string => `event: ${name}\ndata: ${data}\n\n`;
const errorsOf = (errors: readonly GraphQLFormattedError[]): string => eventOf("next", JSON.stringify({ errors }));
// Browsers ignore events without data.
const COMPLETE = eventOf("complete", "");

export function makeEventStreams({ streamBytes, heartbeatMilliseconds, slow }: EventStreamOptions): EventStreams {
  /** The function that ends each stream, after an optional last text. */
  const open = new Map<ServerResponse, (text?: string) => void>();
  const heartbeat = setInterval(() => {
    for (const response of open.keys()) {
      if (!response.writableEnded && response.writableLength <= streamBytes) response.write(":\n\n");
    }
  }, heartbeatMilliseconds).unref();

  return {
    open(response, begin, closed) {
      const connection = response.req.socket;
      if (connection.destroyed) {
        closed();
        return;
      }
      let stop = (): void => undefined;
      const cut = (): void => void connection.destroy();
      const end = (text?: string): void => {
        if (response.writableEnded) return;
        stop();
        response.end(text);
        // Only the client's reading is awaited now. Node counts data accepted by the kernel as activity, so a slow
        // reader is not cut. The connection is cut, not the response, because a response may wait for earlier ones on
        // the connection.
        connection.setTimeout(2 * heartbeatMilliseconds, cut);
      };
      const gone = (): void => {
        if (!open.delete(response)) return;
        connection.off("close", gone).off("end", end).off("timeout", cut);
        stop();
        closed();
      };
      open.set(response, end);
      response.once("close", gone);
      // A response queued behind others gets no event when its connection closes.
      connection.once("close", gone);
      // When the client half-closes, Node ends our side and each further write would fail; this listener runs before
      // that.
      connection.prependOnceListener("end", end);
      // A client may pipeline any number of requests on a connection.
      connection.setMaxListeners(0);
      // Fastify listens for the first error only, and a second error without a listener would end the process.
      response.on("error", cut);
      response.writeHead(200, {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        // Without it, nginx buffers events.
        "x-accel-buffering": "no",
      });
      // Some browsers report the stream as open only after the first bytes.
      response.write(":\n\n");
      stop = begin({
        next(result) {
          if (response.writableEnded) return;
          if (response.writableLength > streamBytes) end(errorsOf(slow()) + COMPLETE);
          else response.write(eventOf("next", result));
        },
        fail: (errors) => end(errorsOf(errors) + COMPLETE),
        complete: () => end(COMPLETE),
      });
    },
    size: () => open.size,
    close() {
      for (const end of open.values()) end();
    },
    terminate() {
      clearInterval(heartbeat);
      for (const response of open.keys()) response.req.socket.destroy();
    },
  };
}
