/** WebSockets: heartbeat, bounded buffers and shutdown. The protocol is in socket-session.ts. */
import type { FastifyRequest } from "fastify";
import type { WebSocket } from "ws";
import { type CloseFrame, makeSession, type Session, type SessionOptions } from "./socket-session.ts";

/** The client of a socket. */
export interface Peer extends Pick<SessionOptions, "begin" | "admit"> {
  /** The socket has closed. */
  readonly left: () => void;
}

export interface SocketOptions extends Pick<SessionOptions, "operations" | "operationBytes" | "refusal"> {
  /** Identifies the client that opens a socket, or returns how to close it at once. */
  readonly peerOf: (request: FastifyRequest) => Peer | CloseFrame;
  /**
   * Bytes that may be buffered for one socket; beyond it the client is too slow, and the socket is closed with 1013.
   */
  readonly socketBytes: number;
  /** The time for a client to send `connection_init`. */
  readonly initMilliseconds: number;
  /** The interval of pings. */
  readonly heartbeatMilliseconds: number;
  /** Called for every socket that was closed because its client is slower than its events. */
  readonly onSlow: () => void;
}

export interface Sockets {
  /** Manages a socket from its handshake on, or closes it. */
  opened(socket: WebSocket, request: FastifyRequest): void;
  /** The number of open sockets. */
  size(): number;
  /** Closes all sockets with 1001 (going away) after their buffered data. */
  close(): void;
  /** Cuts sockets that are still open, and stops the heartbeat. */
  terminate(): void;
}

export const SLOW_CLIENT = "This client is slower than its events";
/** The close frame when the server shuts down. */
export const SHUTTING_DOWN: CloseFrame = [1001, "The server is shutting down"];

export function makeSockets(options: SocketOptions): Sockets {
  const { socketBytes, initMilliseconds, heartbeatMilliseconds, onSlow, peerOf } = options;
  const open = new Map<WebSocket, Session>();
  const answered = new WeakSet<WebSocket>();
  // A half-open connection is found only by pings.
  const heartbeat = setInterval(() => {
    for (const socket of open.keys()) {
      if (!answered.delete(socket)) socket.terminate();
      else if (socket.readyState === socket.OPEN) socket.ping();
    }
  }, heartbeatMilliseconds).unref();

  /** A client may keep sending until it answers the close frame: its messages are ignored. */
  function shut(socket: WebSocket, session: Session, [code, reason]: CloseFrame): void {
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
            shut(socket, session, [1013, SLOW_CLIENT]);
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
      // Not by ws itself, which would buffer pongs without limit for a client that reads nothing.
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
      for (const [socket, session] of open) shut(socket, session, SHUTTING_DOWN);
    },
    terminate() {
      clearInterval(heartbeat);
      for (const socket of open.keys()) socket.terminate();
    },
  };
}
