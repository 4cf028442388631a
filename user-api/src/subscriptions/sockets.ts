/** WebSockets: heartbeat, bounds on what waits to be read, and the end of all. The protocol is socket-session.ts. */
import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { type Closing, makeSession, type Session, type SessionOptions } from "./socket-session.ts";

/** Who is at the other end. */
export interface Peer extends Pick<SessionOptions, "begin" | "admit"> {
  /** The socket is gone. */
  readonly left: () => void;
}

export interface SocketOptions extends Pick<SessionOptions, "operations" | "operationBytes" | "refusal"> {
  /** Who opens a socket, or how it is closed at once. */
  readonly peerOf: (request: FastifyRequest) => Peer | Closing;
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
  /** Takes over a socket right after its handshake, or closes it. */
  opened(socket: WebSocket, request: FastifyRequest): void;
  /** How many are open. */
  size(): number;
  /** Closes all with 1001 (going away) behind what was sent to them. */
  close(): void;
  /** Ends what is still open, and the heartbeat. */
  cut(): void;
}

export const SLOW = "This client is slower than its events";
/** How sockets are closed when the server ends. */
export const GOING: Closing = [1001, "The server is shutting down"];

export function makeSockets(options: SocketOptions): Sockets {
  const { socketBytes, initMilliseconds, heartbeatMilliseconds, onSlow, peerOf } = options;
  const open = new Map<WebSocket, Session>();
  const answered = new WeakSet<WebSocket>();
  // A peer that vanished without a word (half-open) is found only by asking.
  const heartbeat = setInterval(() => {
    for (const socket of open.keys()) {
      if (!answered.delete(socket)) socket.terminate();
      else if (socket.readyState === socket.OPEN) socket.ping();
    }
  }, heartbeatMilliseconds).unref();

  /** A client may go on sending for as long as it does not answer the close: nothing of it is heard. */
  function shut(socket: WebSocket, session: Session, [code, reason]: Closing): void {
    session.ended();
    socket.close(code, reason);
  }

  return {
    opened(socket, request) {
      const peer = peerOf(request);
      if (!("begin" in peer)) {
        socket.close(...peer);
        return;
      }
      answered.add(socket);
      const session = makeSession({
        ...options,
        ...peer,
        acknowledged: () => clearTimeout(late),
        close: (code, reason) => socket.close(code, reason),
        send(frame, operation) {
          if (socket.readyState !== socket.OPEN) return;
          if (socket.bufferedAmount > socketBytes) {
            onSlow();
            shut(socket, session, [1013, SLOW]);
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
      const late = setTimeout(() => {
        shut(socket, session, [4408, "Connection initialisation timeout"]);
      }, initMilliseconds);
      open.set(socket, session);
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
        peer.left();
      });
    },
    size: () => open.size,
    close() {
      for (const [socket, session] of open) shut(socket, session, GOING);
    },
    cut() {
      clearInterval(heartbeat);
      for (const socket of open.keys()) socket.terminate();
    },
  };
}
