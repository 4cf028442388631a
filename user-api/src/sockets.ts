/** Stands between mercurius and its WebSockets: protocol rules, error codes, heartbeat, and the end of all. */
import { randomUUID } from "node:crypto";
import type { FastifyBaseLogger } from "fastify";
import { GraphQLError, type GraphQLFormattedError } from "graphql";
import type { WebSocket, WebSocketServer } from "ws";
import { failure, type Occasion, present } from "./errors.ts";
import { makeSocketProtocol, messageOf } from "./socket-protocol.ts";

export interface SocketOptions {
  readonly log: FastifyBaseLogger;
  /** How long a client may take for `connection_init`. */
  readonly initMilliseconds: number;
  /** How often a client must show that it is there. */
  readonly heartbeatMilliseconds: number;
}

/**
 * One error of a failed operation, with its code. mercurius sends what was thrown as it is; a GraphQL error with a
 * place in the document is the client's, anything else (a TypeError of mercurius, say) is masked.
 */
function withCode(error: Readonly<Record<string, unknown>>, occasion: Occasion): GraphQLFormattedError {
  const message = String(error.message);
  if (message.startsWith("Invalid operation: ")) {
    return present(failure("BAD_REQUEST", "Only subscriptions are answered over a WebSocket"), occasion);
  }
  const { locations, path, extensions } = error as Partial<GraphQLFormattedError>;
  const originalError = locations === undefined ? new Error(message) : undefined;
  const presented = present(new GraphQLError(message, { path, extensions, originalError }), occasion);
  return locations === undefined ? presented : { ...presented, locations };
}

/** Frames that the server begins with: only these are looked into. `next`, the frequent one, is not. */
const LOOKED_INTO = /^\{"type":"(?:connection_ack|error|complete)"/;

function guard(socket: WebSocket, { log, initMilliseconds }: SocketOptions): void {
  const protocol = makeSocketProtocol();
  // The upgrade's request and its id are out of reach here: the socket gets an id for the log of its own.
  const occasion = { log, requestId: randomUUID() };
  const coded = (error: unknown) => withCode(error as Record<string, unknown>, occasion);
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
    else send(JSON.stringify({ ...message, payload: [message.payload].flat().map(coded) }), told);
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
