/**
 * The rules of graphql-transport-ws (the protocol text of the graphql-ws project) for what a client may send.
 * mercurius 16 keeps few of them: it acknowledges a second init, lets a second operation take the id of the first and
 * then never ends that one, and answers ill-formed messages with internal errors.
 */

/** Operations that one socket may have under way. */
export const MAX_OPERATIONS = 100;

/** Why a socket is closed: a close code of the protocol and its reason. */
export interface Fault {
  readonly code: 4400 | 4401 | 4408 | 4409 | 4429;
  readonly reason: string;
}

export interface SocketProtocol {
  /** Judges a message of the client. Null: it may pass. */
  received(text: string): Fault | null;
  /** Takes note of a message of the server. */
  sent(message: Message): void;
}

/** A message of either side, as far as the rules look into it. */
export interface Message {
  readonly type: string;
  readonly id?: unknown;
  readonly payload?: unknown;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const absent = (value: unknown): boolean => value === undefined || value === null;

/** The message in a frame, or null when it is none. */
export function messageOf(text: string): Message | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && typeof value.type === "string" ? { ...value, type: value.type } : null;
  } catch {
    return null;
  }
}

function isOperation(payload: unknown): boolean {
  return (
    isRecord(payload) &&
    typeof payload.query === "string" &&
    (absent(payload.variables) || isRecord(payload.variables)) &&
    (absent(payload.operationName) || typeof payload.operationName === "string")
  );
}

/** The state of one socket. */
export function makeSocketProtocol(): SocketProtocol {
  let initialised = false;
  let acknowledged = false;
  const active = new Set<unknown>();

  function subscribe({ id, payload }: Message): Fault | null {
    if (!acknowledged) return { code: 4401, reason: "Unauthorized" };
    if (typeof id !== "string" || id === "" || !isOperation(payload)) return invalid("subscribe");
    // A close reason has room for 123 bytes, and an id is the client's.
    if (active.has(id)) return { code: 4409, reason: `Subscriber for ${id.slice(0, 20)} already exists` };
    if (active.size >= MAX_OPERATIONS) return { code: 4400, reason: `More than ${MAX_OPERATIONS} operations` };
    active.add(id);
    return null;
  }

  return {
    received(text) {
      const message = messageOf(text);
      switch (message?.type) {
        case "connection_init":
          if (initialised) return { code: 4429, reason: "Too many initialisation requests" };
          initialised = true;
          return absent(message.payload) || isRecord(message.payload) ? null : invalid("connection_init");
        case "subscribe":
          return subscribe(message);
        case "complete":
          active.delete(message.id);
          return null;
        case "ping":
        case "pong":
          return null;
        default:
          return { code: 4400, reason: "Invalid message received" };
      }
    },
    sent({ type, id }) {
      if (type === "connection_ack") acknowledged = true;
      if (type === "error" || type === "complete") active.delete(id);
    },
  };
}

const invalid = (type: string): Fault => ({ code: 4400, reason: `Invalid ${type} message` });
