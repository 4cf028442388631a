/** Stands between mercurius and its WebSockets: protocol rules, error codes, heartbeat, and the end of all. */
import type { FastifyBaseLogger } from "fastify";
import { GraphQLError } from "graphql";
import type { WebSocket, WebSocketServer } from "ws";
import { present } from "./errors.ts";
import { makeSocketProtocol, messageOf } from "./socket-protocol.ts";

export interface SocketOptions {
  readonly log: FastifyBaseLogger;
  /** How long a client may take for `connection_init`. */
  readonly initMilliseconds: number;
  /** How often a client must show that it is there. */
  readonly heartbeatMilliseconds: number;
}

/** What a failed operation is answered with: mercurius sends the error as it was thrown. */
function withCode(payload: unknown, { log, id }: { readonly log: FastifyBaseLogger; readonly id: unknown }): unknown {
  if (!Array.isArray(payload)) return payload;
  const occasion = { log, requestId: String(id) };
  return payload.map(({ message, locations, extensions }: Record<string, unknown>) => ({
    ...present(new GraphQLError(String(message), { extensions: extensions as Record<string, unknown> }), occasion),
    ...(locations === undefined ? {} : { locations }),
  }));
}

/** Frames that the server begins with: only these are looked into. `next`, the frequent one, is not. */
const LOOKED_INTO = /^\{"type":"(?:connection_ack|error|complete)"/;

function guard(socket: WebSocket, { log, initMilliseconds }: SocketOptions): void {
  const protocol = makeSocketProtocol();
  const late = setTimeout(() => socket.close(4408, "Connection initialisation timeout"), initMilliseconds);
  socket.once("close", () => clearTimeout(late));

  const emit = socket.emit.bind(socket);
  socket.emit = (event: string | symbol, ...given: unknown[]): boolean => {
    if (event !== "message") return emit(event, ...given);
    if (socket.readyState !== socket.OPEN) return false;
    const fault = protocol.received(String(given[0]));
    if (fault === null) return emit(event, ...given);
    socket.close(fault.code, fault.reason);
    return false;
  };

  const send: (frame: string, done?: (error?: Error) => void) => void = socket.send.bind(socket);
  socket.send = (frame: unknown, done: unknown): void => {
    const text = String(frame);
    const told = typeof done === "function" ? (error?: Error) => void done(error) : undefined;
    const message = LOOKED_INTO.test(text) ? messageOf(text) : null;
    if (message === null) {
      send(text, told);
      return;
    }
    protocol.sent(message);
    if (message.type === "connection_ack") clearTimeout(late);
    if (message.type !== "error") send(text, told);
    else send(JSON.stringify({ ...message, payload: withCode(message.payload, { log, id: message.id }) }), told);
  };
}

/** Guards every socket of the server from its first frame on. */
export function guardSockets(server: WebSocketServer, options: SocketOptions): void {
  const answered = new WeakSet<WebSocket>();
  server.on("connection", (socket) => {
    answered.add(socket);
    socket.on("pong", () => answered.add(socket));
    guard(socket, options);
  });
  const heartbeat = setInterval(() => {
    for (const socket of server.clients) {
      // A peer that vanished without a word (half-open) is found only by asking.
      if (!answered.delete(socket)) socket.terminate();
      else socket.ping();
    }
  }, options.heartbeatMilliseconds).unref();
  server.once("close", () => clearInterval(heartbeat));
}

/** Closes all sockets with 1001 (going away) once what was sent to them is on its way. */
export function closeSockets(server: WebSocketServer): void {
  for (const socket of server.clients) socket.close(1001, "The server is shutting down");
}
