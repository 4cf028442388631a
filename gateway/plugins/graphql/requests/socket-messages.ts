/**
 * The messages of a WebSocket: the protocol graphql-transport-ws (of the project graphql-ws), and the older protocol
 * graphql-ws (of the project subscriptions-transport-ws), whose operations have the type `start`.
 */
import {
  type ExchangeRequest,
  isRecord,
  jsonObjectOf,
  type MessageInspector,
  type MessageObserver,
  type MessageVerdict,
  textOfJsonObject,
} from "@sluice/plugin-sdk";
import type { Refusal } from "../refusals.ts";
import { withDocument } from "./document-requests.ts";
import { isVariantOf, readJsonText } from "./parameters.ts";
import type { ReadGraphqlRequest } from "./read-request.ts";
import type { OperationReader } from "./request-operations.ts";

const protocols: ReadonlySet<string> = new Set(["graphql-transport-ws", "graphql-ws"]);
/** Types of messages that begin an operation, in both protocols. */
const START = "start";
const beginning: ReadonlySet<unknown> = new Set(["subscribe", START]);
/** Types of messages that end an operation. */
const ending: ReadonlySet<unknown> = new Set(["complete", "stop"]);
const others: ReadonlySet<unknown> = new Set([...["connection_init", "ping", "pong"], "connection_terminate"]);
const members = ["id", "type", "payload"];

/** The code for invalid messages, of both protocols. */
const INVALID = 4400;

/** Why the messages of the WebSocket cannot be read; null: they can, or the request asks for none. */
export function protocolRefusal(request: ExchangeRequest): Refusal | null {
  const offered = request.headerValues("sec-websocket-protocol").flatMap((value) => value.split(","));
  if (offered.length > 0 && offered.every((name) => protocols.has(name.trim()))) return null;
  const message = `The WebSocket must have the protocol ${[...protocols].join(" or ")}`;
  return { status: 400, code: "BAD_REQUEST", message };
}

export interface SocketMessagesOptions {
  readonly reader: OperationReader;
  /** Maximum bytes of a message. */
  readonly limit: number;
  /** If false, operations are forwarded in spite of their refusals. */
  readonly enforce: boolean;
  /** Observes the messages of the service; null: they pass unread. */
  readonly results: MessageObserver | null;
  /** Called for each operation of the client, with its id. */
  readonly onOperation: (id: string, read: ReadGraphqlRequest) => void;
  /** Called if the client ends an operation. */
  readonly onStop: (id: string) => void;
}

export class SocketMessages implements MessageInspector {
  readonly limit: number;
  readonly upstream: MessageObserver | null;
  readonly #options: SocketMessagesOptions;

  constructor(options: SocketMessagesOptions) {
    this.limit = options.limit;
    this.upstream = options.results;
    this.#options = options;
  }

  inspect(text: string): MessageVerdict {
    const verdict = this.#verdictOn(text);
    return verdict !== null && "close" in verdict && !this.#options.enforce ? null : verdict;
  }

  #verdictOn(text: string): MessageVerdict {
    const json = readJsonText(text, "A message");
    if ("refusal" in json) return invalid(json.refusal.message);
    const { value } = json;
    if (!isRecord(value)) return invalid("A message must be a JSON object");
    // A service that ignores the case of letters would find another type.
    if (Object.keys(value).some((name) => members.some((member) => isVariantOf(name, member))))
      return invalid("A message has a member whose name differs from another only by letter case");
    const { id, type, payload } = value;
    if (ending.has(type)) {
      if (typeof id === "string") this.#options.onStop(id);
      return null;
    }
    if (!beginning.has(type)) return others.has(type) ? null : invalid("A message has an unknown type");
    if (typeof id !== "string" || id === "") return invalid("An operation must have an id");
    return this.#operation({ text, id, payload, isOlder: type === START });
  }

  #operation({
    text,
    id,
    payload,
    isOlder,
  }: {
    readonly text: string;
    readonly id: string;
    readonly payload: unknown;
    readonly isOlder: boolean;
  }): MessageVerdict {
    const { document, ...read } = this.#options.reader.readPayload(payload);
    this.#options.onOperation(id, read);
    if (read.refusal !== null && this.#options.enforce) {
      const { message, code, limit } = read.refusal;
      const extensions = limit === undefined ? { code } : { code, limit: limit.name, maximum: limit.maximum };
      const error = { message, extensions };
      return { reply: JSON.stringify({ id, type: "error", payload: isOlder ? error : [error] }) };
    }
    return document === undefined ? null : { forward: withPayload(text, document) };
  }
}

const invalid = (reason: string): MessageVerdict => ({ close: INVALID, reason });

/** The message with the document instead of its id. */
function withPayload(text: string, document: string): string {
  const given = jsonObjectOf(Buffer.from(text).toString("latin1")) ?? new Map<string, string>();
  const payload = withDocument(Buffer.from(given.get("payload") ?? "{}", "latin1"), document);
  given.set("payload", payload.toString("latin1"));
  return Buffer.from(textOfJsonObject(given), "latin1").toString();
}
