/**
 * The messages between replicas. Any client of the channel can write to it, so messages are validated like requests.
 */
import type { User } from "../store/store.ts";

/** A created user, or the id after which users were created without a message. */
export type Message = { readonly created: User } | { readonly missedAfter: string };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** In UTF-16 units. A name has 200 characters and an address 254 bytes; NOTIFY carries at most 8,000 bytes. */
const LONGEST = 4_000;

export const writeMessage = (message: Message): string => JSON.stringify(message);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isId = (value: unknown): value is string => typeof value === "string" && UUID.test(value);

/** Null for anything that is not a message. */
export function readMessage(text: string): Message | null {
  if (text.length > LONGEST) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value)) return null;
  if (isId(value.missedAfter)) return { missedAfter: value.missedAfter };
  if (!isRecord(value.created)) return null;
  const { id, name, email } = value.created;
  return isId(id) && typeof name === "string" && typeof email === "string" ? { created: { id, name, email } } : null;
}
