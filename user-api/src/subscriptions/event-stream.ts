/** Results as server-sent events: graphql-sse's protocol in its distinct connections mode, one response an operation. */
import type { ServerResponse } from "node:http";
import type { GraphQLFormattedError } from "graphql";
import type { Receiver } from "./receiver.ts";

export interface EventStreamOptions {
  /** Bytes that may wait for one stream; beyond it the client is too slow, and its stream ends with an error. */
  readonly streamBytes: number;
  /**
   * How often a comment shows that the stream lives, so that nobody in between cuts it. A stream that has ended is cut
   * when its client has read nothing of what still waits for twice that time.
   */
  readonly heartbeatMilliseconds: number;
  readonly slow: () => readonly GraphQLFormattedError[];
}

export interface EventStreams {
  /** Answers by an operation, unless nobody is there any more. Headers that others set stay. */
  open(response: ServerResponse, begin: (receiver: Receiver) => () => void, closed: () => void): void;
  size(): number;
  /** Ends all, behind what was sent to them and without the word that they are complete: clients ask again. */
  close(): void;
  cut(): void;
}

/** JSON has no line breaks, so every result is one line. */
const eventOf = (name: "next" | "complete", data: string): string => `event: ${name}\ndata: ${data}\n\n`;
const errorsOf = (errors: readonly GraphQLFormattedError[]): string => eventOf("next", JSON.stringify({ errors }));
// Browsers pass events without data by.
const COMPLETE = eventOf("complete", "");

export function makeEventStreams({ streamBytes, heartbeatMilliseconds, slow }: EventStreamOptions): EventStreams {
  /** With what ends each, behind a last text. */
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
        // Reading is what a client still has to do. Node counts what the system takes as activity, so that one that
        // reads slowly stays. The response goes with its connection; by itself it would wait for those before it.
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
      // A response behind others on its connection is not told of that one's end.
      connection.once("close", gone);
      // When the client ends its side, Node ends ours, and each further write would fail: so before it does.
      connection.prependOnceListener("end", end);
      // As many may be under way on a connection as its client likes.
      connection.setMaxListeners(0);
      // Fastify listens for the first error only, and a second one that nobody hears ends the process.
      response.on("error", cut);
      response.writeHead(200, {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        // nginx would keep events until it has a bufferful.
        "x-accel-buffering": "no",
      });
      // Some browsers take the stream for open only when something of it has come.
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
    cut() {
      clearInterval(heartbeat);
      for (const response of open.keys()) response.req.socket.destroy();
    },
  };
}
