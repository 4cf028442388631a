/** Pages of lists: `size` and `offset` (kong-contract 1.2). */
import type { ListOptions } from "../stores/store.ts";
import { invalidOffset, invalidSize } from "./errors.ts";

export type Query = URLSearchParams;

const DEFAULT_SIZE = 100;
const MAX_SIZE = 1000;

/** @throws HttpError 400. */
export function pageOf(query: Query): Pick<ListOptions, "size" | "after"> {
  const size = sizeOf(query.get("size"));
  const offset = query.get("offset");
  return offset === null ? { size } : { size, after: readOffset(offset) };
}

function sizeOf(text: string | null): number {
  if (text === null) return DEFAULT_SIZE;
  const size = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isNaN(size)) throw invalidSize("size must be a number");
  if (Number.isInteger(size) && size >= 1 && size <= MAX_SIZE) return size;
  throw invalidSize(`size must be an integer between 1 and ${MAX_SIZE}`);
}

/** The last id of the page before. Opaque to clients, and checked like anything that they send. */
export const writeOffset = (id: string): string => Buffer.from(JSON.stringify({ id })).toString("base64");

function readOffset(offset: string): string {
  try {
    const value: unknown = JSON.parse(Buffer.from(offset, "base64").toString("utf8"));
    const { id } = Object(value) as { id?: unknown };
    if (typeof id === "string" && /^[0-9a-f-]{36}$/.test(id)) return id;
  } catch {
    // Falls through: what cannot be read is as bad as what holds no id.
  }
  throw invalidOffset(offset, "bad value");
}
