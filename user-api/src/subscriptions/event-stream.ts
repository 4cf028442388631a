/** Results as server-sent events: graphql-sse's protocol in distinct connections mode, one response per operation. */
import type { ServerResponse } from "node:http";
import type { SubscriptionLimits } from "../limits/limits.ts";
import { type Connection, type OperationReceiver, slowClient } from "./connection.ts";

export interface EventStreamOptions {
  readonly limits: Pick<SubscriptionLimits, "connectionBytes" | "heartbeatMilliseconds">;
  /** Begins the operation. Returns a function that stops it. */
  readonly begin: (receiver: OperationReceiver) => () => void;
  /** Called when the client reads its events too slowly. */
  readonly slow: () => void;
  /** Called when the stream has ended, on either side. */
  readonly ended: () => void;
}

/** JSON contains no raw line breaks, so every result is one line. */
const eventOf = (name: "next" | "complete", data: string): string => `event: ${name}\ndata: ${data}\n\n`;
// Browsers ignore an event without a data line, so this event has an empty one.
const COMPLETE = eventOf("complete", "");
/** Keeps intermediaries from closing an idle stream. */
const COMMENT = ":\n\n";

/** Responds with the results of an operation, and keeps the headers set so far. Null: the client has disconnected. */
export function openEventStream(
  response: ServerResponse,
  { limits, begin, slow, ended }: EventStreamOptions,
): Connection | null {
  const { connectionBytes, heartbeatMilliseconds } = limits;
  const { socket } = response.req;
  if (socket.destroyed) return null;
  const cut = (): void => void socket.destroy();
  let stop = (): void => undefined;
  const end = (text?: string): void => {
    if (response.writableEnded) return;
    stop();
    response.end(text);
    // Only the client's reading is awaited now. Node counts data accepted by the kernel as activity, so a slow reader
    // is not cut. The connection is cut, not the response, because a response may wait for earlier ones on the
    // connection.
    socket.setTimeout(2 * heartbeatMilliseconds, cut);
  };
  const gone = (): void => {
    response.off("close", gone);
    socket.off("close", gone).off("end", end).off("timeout", cut);
    stop();
    ended();
  };
  response.once("close", gone);
  // A response that is queued behind others emits no event when its connection closes.
  socket.once("close", gone);
  // When the client half-closes, Node ends our side and each further write would fail; this listener runs before that.
  socket.prependOnceListener("end", end);
  // A client may pipeline any number of requests on a connection, and each stream adds listeners.
  socket.setMaxListeners(0);
  // Fastify listens for the first error only, and a second error without a listener would end the process.
  response.on("error", cut);
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    // Without this header, nginx buffers events.
    "x-accel-buffering": "no",
  });
  // Some browsers report the stream as open only after the first bytes.
  response.write(COMMENT);
  const fail: OperationReceiver["fail"] = (errors) => end(eventOf("next", JSON.stringify({ errors })) + COMPLETE);
  stop = begin({
    next(result) {
      if (response.writableLength <= connectionBytes) {
        response.write(eventOf("next", result));
        return;
      }
      slow();
      fail([slowClient()]);
    },
    fail,
    complete: () => end(COMPLETE),
  });
  return {
    kind: "stream",
    beat() {
      if (!response.writableEnded && response.writableLength <= connectionBytes) response.write(COMMENT);
    },
    // Ends the stream without the event `complete`, so that the client subscribes again.
    close: () => end(),
    terminate: cut,
  };
}
