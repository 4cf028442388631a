/** Results as server-sent events: graphql-sse's protocol in its distinct connections mode, one response an operation. */
import type { ServerResponse } from "node:http";
import type { GraphQLFormattedError } from "graphql";
import type { Receiver } from "./receiver.ts";

export interface EventStreamOptions {
  /** Bytes that may wait for one stream; beyond it the client is too slow, and its stream ends with an error. */
  readonly streamBytes: number;
  /** How often a comment shows that the stream lives, so that nobody in between cuts it. */
  readonly heartbeatMilliseconds: number;
  readonly slow: () => readonly GraphQLFormattedError[];
}

export interface EventStreams {
  /** Answers by an operation. Headers that others set stay. */
  open(response: ServerResponse, begin: (receiver: Receiver) => () => void): void;
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
  const open = new Set<ServerResponse>();
  const heartbeat = setInterval(() => {
    for (const response of open) if (response.writableLength <= streamBytes) response.write(":\n\n");
  }, heartbeatMilliseconds).unref();

  return {
    open(response, begin) {
      open.add(response);
      let stop = (): void => undefined;
      response.once("close", () => {
        open.delete(response);
        stop();
      });
      response.writeHead(200, {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        // nginx would keep events until it has a bufferful.
        "x-accel-buffering": "no",
      });
      // Some browsers take the stream for open only when something of it has come.
      response.write(":\n\n");
      const end = (text: string): void => {
        stop();
        response.end(text);
      };
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
      for (const response of open) response.end();
    },
    cut() {
      clearInterval(heartbeat);
      for (const response of open) response.destroy();
    },
  };
}
