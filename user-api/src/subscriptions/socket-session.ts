/**
 * One socket of graphql-transport-ws (the protocol text of the graphql-ws project), without the network.
 *
 * The servers of mercurius and graphql-ws are not used, for the reasons in docs/decisions/0030-libraries-of-the-user-api.md.
 */
import type { GraphQLFormattedError } from "graphql";
import type { Receiver } from "./receiver.ts";
import { type OperationRequest, type Payload, readMessage, type Subscribe } from "./socket-message.ts";

export interface Session {
  /** A frame from the client; null for a frame that is not text. */
  received(text: string | null): void;
  /** The socket has closed, on either side: all operations stop, and later frames are ignored. */
  ended(): void;
}

/** The close frame's code and reason. */
export type CloseFrame = readonly [code: number, reason: string];

export interface SessionOptions {
  /** Queues a frame. `operation` accounts for its bytes until they are sent. */
  readonly send: (frame: string, operation?: BufferedOutput) => void;
  readonly close: (code: number, reason: string) => void;
  /** @param size The bytes of the request as received, and those of them that are kept here: its id. */
  readonly begin: (
    request: OperationRequest,
    receiver: Receiver,
    size: { readonly bytes: number; readonly kept: number },
  ) => () => void;
  /** Accepts the payload of connection_init (null), or returns how to close the socket. */
  readonly admit: (payload: Payload | undefined) => CloseFrame | null;
  /** Called once the client may begin operations. */
  readonly acknowledged: () => void;
  /** Concurrent operations. */
  readonly operations: number;
  /** Bytes that may be buffered for one operation. */
  readonly operationBytes: number;
  /** The errors for a client's fault that concerns one operation. */
  readonly refusal: (reason: "operations" | "slow") => readonly GraphQLFormattedError[];
}

/** The bytes of one operation that are not sent yet. */
export interface BufferedOutput {
  bytes: number;
}

interface Operation extends BufferedOutput {
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
    // An id is free again once its operation has ended; output of the former operation must not reach the next.
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
      // JSON.parse accepts ten thousands of levels of nesting that JSON.stringify fails on.
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

/** A close frame has room for 123 bytes of reason, and the client chooses the id in it. */
function limited(reason: string): string {
  if (Buffer.byteLength(reason) <= 123) return reason;
  return `${Buffer.from(reason)
    .subarray(0, 117)
    .toString()
    .replace(/\uFFFD+$/, "")}…`;
}
