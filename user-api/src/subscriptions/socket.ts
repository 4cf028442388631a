/**
 * A socket of graphql-transport-ws (the protocol text of the graphql-ws project).
 *
 * The servers of mercurius and graphql-ws are not used, for the reasons in
 * docs/decisions/0030-libraries-of-the-user-api.md.
 */
import type { WebSocket } from "ws";
import { createFailure } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { SubscriptionLimits } from "../limits/limits.ts";
import { type Connection, type OperationReceiver, SLOW_CLIENT, slowClient } from "./connection.ts";
import { type OperationRequest, readSocketMessage, type Subscribe } from "./socket-message.ts";

/** The code and the reason of a close frame. */
export type CloseFrame = readonly [code: number, reason: string];

interface SocketOptions {
  readonly limits: Pick<SubscriptionLimits, "operations" | "operationBytes" | "connectionBytes" | "initMilliseconds">;
  /** Accepts the payload of connection_init (null), or returns how to close the socket. */
  readonly admit: (payload: JsonObject) => CloseFrame | null;
  /**
   * Begins an operation. Returns a function that stops it. The receiver is called neither before `begin` has returned
   * nor after the operation was stopped.
   *
   * @param size The bytes of the request as received, and the bytes of its id, which is kept here.
   */
  readonly begin: (
    request: OperationRequest,
    receiver: OperationReceiver,
    size: { readonly bytes: number; readonly kept: number },
  ) => () => void;
  /** Called when the client reads its events too slowly. */
  readonly slow: () => void;
  readonly ended: () => void;
}

export const SHUTTING_DOWN: CloseFrame = [1001, "The server is shutting down"];

export function openSocket(socket: WebSocket, options: SocketOptions): Connection {
  const { limits, admit, begin, slow, ended } = options;
  let state: "new" | "acknowledged" | "closed" = "new";
  let answered = true;
  /** The functions that stop the active operations, by id. */
  const active = new Map<string, () => void>();
  const late = setTimeout(() => close(4408, "Connection initialisation timeout"), limits.initMilliseconds);

  /** Stops all operations. The client may keep sending until it answers the close frame; its messages are ignored. */
  function end(): void {
    state = "closed";
    clearTimeout(late);
    const stops = [...active.values()];
    active.clear();
    for (const stop of stops) stop();
  }

  function close(code: number, reason: string): void {
    end();
    socket.close(code, limited(reason));
  }

  function send(frame: string, sent?: () => void): void {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > limits.connectionBytes) {
      slow();
      close(1013, SLOW_CLIENT);
    } else socket.send(frame, sent);
  }

  function init(payload: JsonObject = {}): void {
    const refusal: CloseFrame | null =
      state === "acknowledged" ? [4429, "Too many initialisation requests"] : admit(payload);
    if (refusal !== null) {
      close(...refusal);
      return;
    }
    state = "acknowledged";
    clearTimeout(late);
    send('{"type":"connection_ack"}');
  }

  function subscribe({ id, payload }: Subscribe, bytes: number): void {
    if (state === "new") close(4401, "Unauthorized");
    else if (active.has(id)) close(4409, `Subscriber for ${id} already exists`);
    else start(id, payload, bytes);
  }

  function start(id: string, request: OperationRequest, bytes: number): void {
    const quoted = JSON.stringify(id);
    const fail: OperationReceiver["fail"] = (errors) => {
      active.delete(id);
      send(`{"id":${quoted},"type":"error","payload":${JSON.stringify(errors)}}`);
    };
    const { operations: maximum } = limits;
    if (active.size >= maximum) {
      const message = `A socket may have at most ${maximum} concurrent operations`;
      fail([createFailure("LIMIT_EXCEEDED", message, { limit: "operations", maximum }).toJSON()]);
      return;
    }
    let buffered = 0;
    const receiver: OperationReceiver = {
      next(result) {
        if (buffered > limits.operationBytes) {
          stop();
          slow();
          fail([slowClient()]);
          return;
        }
        const frame = `{"id":${quoted},"type":"next","payload":${result}}`;
        buffered += frame.length;
        send(frame, () => {
          buffered -= frame.length;
        });
      },
      fail,
      complete() {
        active.delete(id);
        send(`{"id":${quoted},"type":"complete"}`);
      },
    };
    const stop = begin(request, receiver, { bytes, kept: id.length + quoted.length });
    active.set(id, stop);
  }

  function complete(id: string): void {
    active.get(id)?.();
    active.delete(id);
  }

  function pong(payload: JsonObject | undefined): void {
    let text: string | undefined;
    try {
      text = JSON.stringify({ type: "pong", payload });
    } catch {
      // JSON.parse accepts tens of thousands of nesting levels, for which JSON.stringify overflows the stack.
    }
    if (text === undefined) close(4400, "Invalid ping message: payload is nested too deeply");
    else send(text);
  }

  socket.on("message", (data, isBinary) => {
    answered = true;
    if (state === "closed") return;
    const text = String(data);
    const message = isBinary ? "Invalid message received: binary" : readSocketMessage(text);
    if (typeof message === "string") close(4400, message);
    else if (message.type === "connection_init") init(message.payload);
    else if (message.type === "subscribe") subscribe(message, text.length);
    else if (message.type === "complete") complete(message.id);
    else if (message.type === "ping") pong(message.payload);
  });
  socket.on("pong", () => {
    answered = true;
  });
  // Pings are not answered by ws itself, which would buffer pongs without limit for a client that reads nothing.
  socket.on("ping", (data: Buffer) => {
    if (socket.readyState === socket.OPEN && socket.bufferedAmount <= limits.connectionBytes) socket.pong(data);
  });
  socket.once("close", () => {
    end();
    ended();
  });
  return {
    kind: "socket",
    // A half-open connection is detected only by pings.
    beat() {
      if (!answered) socket.terminate();
      else if (socket.readyState === socket.OPEN) socket.ping();
      answered = false;
    },
    close: () => close(...SHUTTING_DOWN),
    terminate: () => socket.terminate(),
  };
}

/** A reason may contain an id of any length, which the client chooses, but a close frame has room for 123 bytes. */
function limited(reason: string): string {
  if (Buffer.byteLength(reason) <= 123) return reason;
  return `${Buffer.from(reason)
    .subarray(0, 117)
    .toString()
    .replace(/\uFFFD+$/, "")}…`;
}
