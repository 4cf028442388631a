/** Pages of lists: `size`, `offset` and `tags` (docs/reference/kong-compatibility.md#paging-and-tags). */
import type { ListOptions, TagFilter } from "../../stores/store.ts";
import { invalidOffset, invalidOptions, invalidSize } from "./errors.ts";

export type Query = URLSearchParams;

const DEFAULT_SIZE = 100;
const MAX_SIZE = 1000;

export function pageOf(query: Query): Pick<ListOptions, "size" | "after"> {
  const { size, offset } = rangeOf(query);
  return offset === null ? { size } : { size, after: readOffset(offset) };
}

export const rangeOf = (query: Query): { readonly size: number; readonly offset: string | null } => ({
  size: sizeOf(query.get("size")),
  offset: query.get("offset"),
});

function sizeOf(text: string | null): number {
  if (text === null) return DEFAULT_SIZE;
  const size = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isNaN(size)) throw invalidSize("size must be a number");
  if (Number.isInteger(size) && size >= 1 && size <= MAX_SIZE) return size;
  throw invalidSize(`size must be an integer between 1 and ${MAX_SIZE}`);
}

/** The offset of the next page: the last id of this page, encoded. Clients need not understand the text. */
export const writeOffset = (id: string): string => encodeOffset({ id });

function readOffset(offset: string): string {
  const id = decodeOffset(offset).id;
  if (typeof id === "string" && UUID.test(id)) return id;
  throw invalidOffset(offset, "bad value");
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const encodeOffset = (members: object): string => Buffer.from(JSON.stringify(members)).toString("base64");

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export function decodeOffset(offset: string): Readonly<Record<string, unknown>> {
  if (!BASE64.test(offset)) throw invalidOffset(offset, "bad base64 encoding");
  try {
    return Object(JSON.parse(Buffer.from(offset, "base64").toString("utf8")));
  } catch {
    throw invalidOffset(offset, "bad json encoding");
  }
}

/** Printable ASCII without `,` and `/`, and all characters from U+0080. */
const word = "[ -+\\-.0-~\\u0080-\\u{10ffff}]+";
const EVERY = new RegExp(`^${word}(?:,${word})*,?$`, "u");
const SOME = new RegExp(`^${word}(?:/${word})*/?$`, "u");

/** `a,b` demands all of the tags, `a/b` any of them; undefined: no filter. @throws HttpError 400. */
export function tagFilterOf(query: Query): TagFilter | undefined {
  const text = query.get("tags");
  if (text === null) return undefined;
  if (text === "") throw invalidOptions({ tags: "cannot be null" });
  const separator = EVERY.test(text) ? "," : SOME.test(text) ? "/" : undefined;
  if (separator === undefined) throw invalidOptions({ tags: "invalid filter syntax" });
  const tags = text.split(separator).filter((tag) => tag !== "");
  return { tags, match: separator === "," ? "every" : "some" };
}
