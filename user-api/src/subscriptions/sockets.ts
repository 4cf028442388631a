/** WebSockets: heartbeat, bounds on what waits to be read, and the end of all. The protocol is socket-session.ts. */
import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { makeSession, type SessionOptions } from "./socket-session.ts";

export interface SocketOptions extends Pick<SessionOptions, "operations" | "operationBytes" | "refusal"> {
  readonly begin: (request: FastifyRequest) => SessionOptions["begin"];
  readonly permits: (request: FastifyRequest) => SessionOptions["permits"];
  /** Bytes that may wait for one socket; beyond it the client is too slow, and the socket is closed with 1013. */
  readonly socketBytes: number;
  /** How long a client may take for `connection_init`. */
  readonly initMilliseconds: number;
  /** How often a client must show that it is there. */
  readonly heartbeatMilliseconds: number;
  /** Told of every socket that was closed because its client is slower than its events. */
  readonly onSlow: () => void;
}

export interface Sockets {
  /** Takes over a socket right after its handshake. */
  opened(socket: WebSocket, request: FastifyRequest): void;
  /** How many are open. */
  size(): number;
  /** Closes all with 1001 (going away) behind what was sent to them. */
  close(): void;
  /** Ends what is still open, and the heartbeat. */
  cut(): void;
}

export const SLOW = "This client is slower than its events";

export function makeSockets(options: SocketOptions): Sockets {
  const { socketBytes, initMilliseconds, heartbeatMilliseconds, onSlow } = options;
  const open = new Set<WebSocket>();
  const answered = new WeakSet<WebSocket>();
  // A peer that vanished without a word (half-open) is found only by asking.
  const heartbeat = setInterval(() => {
    for (const socket of open) {
      if (!answered.delete(socket)) socket.terminate();
      else if (socket.readyState === socket.OPEN) socket.ping();
    }
  }, heartbeatMilliseconds).unref();

  return {
    opened(socket, request) {
      open.add(socket);
      answered.add(socket);
      const late = setTimeout(() => socket.close(4408, "Connection initialisation timeout"), initMilliseconds);
      const session = makeSession({
        ...options,
        begin: options.begin(request),
        permits: options.permits(request),
        acknowledged: () => clearTimeout(late),
        close: (code, reason) => socket.close(code, reason),
        send(frame, operation) {
          if (socket.readyState !== socket.OPEN) return;
          if (socket.bufferedAmount > socketBytes) {
            session.ended();
            onSlow();
            socket.close(1013, SLOW);
            return;
          }
          if (operation === undefined) {
            socket.send(frame);
            return;
          }
          const { length } = frame;
          operation.bytes += length;
          socket.send(frame, () => {
            operation.bytes -= length;
          });
        },
      });
      socket.on("message", (data, isBinary) => {
        answered.add(socket);
        session.received(isBinary ? null : String(data));
      });
      socket.on("pong", () => answered.add(socket));
      // Not by ws itself: it answers pings of a client that reads nothing until the memory is full.
      socket.on("ping", (data: Buffer) => {
        if (socket.readyState === socket.OPEN && socket.bufferedAmount <= socketBytes) socket.pong(data);
      });
      socket.once("close", () => {
        open.delete(socket);
        clearTimeout(late);
        session.ended();
      });
    },
    size: () => open.size,
    close() {
      for (const socket of open) socket.close(1001, "The server is shutting down");
    },
    cut() {
      clearInterval(heartbeat);
      for (const socket of open) socket.terminate();
    },
  };
}
