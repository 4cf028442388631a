/** Carries messages between replicas. Implementations: Redis and LISTEN/NOTIFY of Postgres. */
import { isJsonObject } from "../json.ts";
import type { User } from "../store/store.ts";

export interface Transport {
  /** Sends to all replicas, this one included. Rejects when the message was not sent, or may not have been sent. */
  publish(text: string): Promise<void>;
  /** Whether messages of other replicas arrive. */
  connected(): boolean;
  close(): Promise<void>;
}

export interface TransportListener {
  message(text: string): void;
  /** Called when messages may be missed from now on, and again when a new connection fails. */
  lost(error: Error): void;
  /** Called when messages arrive again, and also for the first connection. */
  connected(): void;
}

/** Returns without waiting for a connection: the service starts even when Redis is down. */
export type OpenTransport = (listener: TransportListener) => Transport;

/** Milliseconds between checks of a connection, because a connection can die without being closed. */
export const HEARTBEAT = 5_000;

/** A created user, or the id from which users may have been created without a message. */
export type TransportMessage = { readonly created: User } | { readonly missedAfter: string };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/**
 * The maximum length of a message, in UTF-16 units. It is enough for a name of 200 characters and an address of 254
 * bytes, the longest ones that are accepted.
 */
const LONGEST = 4_000;

export const writeMessage = (message: TransportMessage): string => JSON.stringify(message);

const isId = (value: unknown): value is string => typeof value === "string" && UUID.test(value);

/** Null for anything that is not a message. */
export function readMessage(text: string): TransportMessage | null {
  if (text.length > LONGEST) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isJsonObject(value)) return null;
  if (isId(value.missedAfter)) return { missedAfter: value.missedAfter };
  if (!isJsonObject(value.created)) return null;
  const { id, name, email } = value.created;
  return isId(id) && typeof name === "string" && typeof email === "string" ? { created: { id, name, email } } : null;
}
