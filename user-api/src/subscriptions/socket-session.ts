/**
 * One socket of graphql-transport-ws (the protocol text of the graphql-ws project), without the network.
 *
 * The server parts that exist break the protocol where clients notice: mercurius 16 validates no subscription, keeps no
 * init timeout and lets a second operation take the id of the first; graphql-ws 6.4 ends a new operation by the end of an
 * earlier one of the same id, answers messages that only servers send with 4500, and fails to close on a long id.
 */
import type { GraphQLFormattedError } from "graphql";
import type { Receiver } from "./receiver.ts";
import { type OperationRequest, type Payload, readMessage, type Subscribe } from "./socket-message.ts";

export interface Session {
  /** A frame of the client; null for one that is no text. */
  received(text: string | null): void;
  /** The socket is gone, or was closed by us: all operations stop, and what still comes is passed by. */
  ended(): void;
}

/** How a socket is closed. */
export type Closing = readonly [code: number, reason: string];

export interface SessionOptions {
  /** Queues a frame. `operation` is whom its bytes are counted for, until they have left. */
  readonly send: (frame: string, operation?: Outflow) => void;
  readonly close: (code: number, reason: string) => void;
  /** @param size what the request takes as it came, and what of it is kept here: its id. */
  readonly begin: (
    request: OperationRequest,
    receiver: Receiver,
    size: { readonly bytes: number; readonly kept: number },
  ) => () => void;
  /** Lets the payload of connection_init pass, or tells how to close the socket. */
  readonly admit: (payload: Payload | undefined) => Closing | null;
  /** Told once the client may begin operations. */
  readonly acknowledged: () => void;
  /** Operations that may be under way at a time. */
  readonly operations: number;
  /** Bytes that may wait for one operation. */
  readonly operationBytes: number;
  /** The errors for a fault of the client's that concerns one operation. */
  readonly refusal: (reason: "operations" | "slow") => readonly GraphQLFormattedError[];
}

/** Bytes of one operation that have not left yet. */
export interface Outflow {
  bytes: number;
}

interface Operation extends Outflow {
  stop: () => void;
}

export function makeSession(options: SessionOptions): Session {
  const { send, close, begin, admit, acknowledged, operations, operationBytes, refusal } = options;
  let state: "new" | "initialised" | "closed" = "new";
  const active = new Map<string, Operation>();

  function shut(code: number, reason: string): void {
    end();
    close(code, limited(reason));
  }

  function end(): void {
    state = "closed";
    const stopping = [...active.values()];
    active.clear();
    for (const { stop } of stopping) stop();
  }

  function init(payload: Payload | undefined): void {
    if (state === "initialised") {
      shut(4429, "Too many initialisation requests");
      return;
    }
    const closing = admit(payload);
    if (closing !== null) {
      shut(...closing);
      return;
    }
    state = "initialised";
    acknowledged();
    send('{"type":"connection_ack"}');
  }

  function subscribe({ id, payload }: Subscribe, bytes: number): void {
    if (state === "new") shut(4401, "Unauthorized");
    else if (active.has(id)) shut(4409, `Subscriber for ${id} already exists`);
    else start(id, payload, bytes);
  }

  function start(id: string, request: OperationRequest, bytes: number): void {
    const quoted = JSON.stringify(id);
    const error = (errors: readonly GraphQLFormattedError[]): void =>
      send(`{"id":${quoted},"type":"error","payload":${JSON.stringify(errors)}}`);
    if (active.size >= operations) {
      error(refusal("operations"));
      return;
    }

    const operation: Operation = { bytes: 0, stop: () => undefined };
    active.set(id, operation);
    // An id is free again once its operation has ended; what the former one still says must not reach the next.
    const forget = (): boolean => active.get(id) === operation && active.delete(id);
    const receiver: Receiver = {
      next(result) {
        if (active.get(id) !== operation) return;
        if (operation.bytes > operationBytes) {
          forget();
          operation.stop();
          error(refusal("slow"));
        } else send(`{"id":${quoted},"type":"next","payload":${result}}`, operation);
      },
      fail(errors) {
        if (forget()) error(errors);
      },
      complete() {
        if (forget()) send(`{"id":${quoted},"type":"complete"}`);
      },
    };
    operation.stop = begin(request, receiver, { bytes, kept: id.length + quoted.length });
  }

  function complete(id: string): void {
    const operation = active.get(id);
    active.delete(id);
    operation?.stop();
  }

  function pong(payload: Payload | undefined): void {
    let text: string | undefined;
    try {
      text = JSON.stringify({ type: "pong", payload });
    } catch {
      // A text that nests ten thousands of levels can be read, but not written.
    }
    if (text === undefined) shut(4400, "Invalid ping message: payload nests too deep");
    else send(text);
  }

  return {
    received(text) {
      if (state === "closed") return;
      const message = text === null ? "Invalid message received: binary" : readMessage(text);
      if (typeof message === "string") shut(4400, message);
      else if (message.type === "connection_init") init(message.payload);
      else if (message.type === "subscribe") subscribe(message, text?.length ?? 0);
      else if (message.type === "complete") complete(message.id);
      else if (message.type === "ping") pong(message.payload);
    },
    ended: end,
  };
}

/** A close frame has room for 123 bytes of reason, and an id is the client's. */
function limited(reason: string): string {
  if (Buffer.byteLength(reason) <= 123) return reason;
  return `${Buffer.from(reason)
    .subarray(0, 117)
    .toString()
    .replace(/\uFFFD+$/, "")}…`;
}
