/** The messages that a client of graphql-transport-ws may send. */
import { isJsonObject, type JsonObject } from "../json.ts";
import type { Variables } from "../limits/measures.ts";

export interface OperationRequest {
  readonly query: string;
  readonly operationName?: string | null | undefined;
  readonly variables?: Variables | null | undefined;
}

export interface Subscribe {
  readonly type: "subscribe";
  readonly id: string;
  readonly payload: OperationRequest;
}

export type SocketMessage =
  | { readonly type: "connection_init" | "ping" | "pong"; readonly payload?: JsonObject }
  | Subscribe
  | { readonly type: "complete"; readonly id: string };

const absent = (value: unknown): value is null | undefined => value === undefined || value === null;

/** Whether a value is a GraphQL request as graphql-transport-ws defines it. Other members are checked elsewhere. */
function isOperationRequest(value: unknown): value is OperationRequest {
  return (
    isJsonObject(value) &&
    typeof value.query === "string" &&
    (absent(value.variables) || isJsonObject(value.variables)) &&
    (absent(value.operationName) || typeof value.operationName === "string") &&
    (absent(value.extensions) || isJsonObject(value.extensions))
  );
}

/** The message in a frame, or the reason to close the socket. */
export function readSocketMessage(text: string): SocketMessage | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "Invalid message received: not JSON";
  }
  if (!isJsonObject(value)) return "Invalid message received: not an object";
  const { type, id, payload } = value;
  switch (type) {
    case "connection_init":
    case "ping":
    case "pong":
      if (absent(payload)) return { type };
      return isJsonObject(payload) ? { type, payload } : `Invalid ${type} message: payload must be an object`;
    case "subscribe":
      if (typeof id !== "string" || id === "") return "Invalid subscribe message: id must be a non-empty string";
      if (!isOperationRequest(payload)) return "Invalid subscribe message: payload must be a GraphQL request";
      return { type, id, payload };
    case "complete":
      if (typeof id !== "string" || id === "") return "Invalid complete message: id must be a non-empty string";
      return { type, id };
    default:
      return "Invalid message received: unknown type, or one that only servers send";
  }
}
