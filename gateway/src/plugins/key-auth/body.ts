/** Members of a request's body where a key may be: a form, a JSON object or a multipart form. */
import type { ExchangeRequest } from "../../proxy/exchange.ts";
import { boundaryOf, multipartParts, withoutParts } from "./multipart.ts";
import { pairValues, withoutPairs } from "./pairs.ts";

/** Longer bodies are not searched for a key, so that nobody fills the memory without one. Kong looks into 8 KiB. */
export const MAX_BODY = 64 * 1024;

export interface BodyMembers {
  /** Every value of a member: texts, and from JSON also numbers, flags, null, lists and objects. */
  values(name: string): readonly unknown[];
  /** The body without these members, everything else as it was. */
  without(names: readonly string[]): Buffer;
}

const text = (latin1: string) => Buffer.from(latin1, "latin1").toString("utf8");

function formMembers(body: Buffer): BodyMembers {
  const form = body.toString("latin1");
  return {
    values: (name) => pairValues(body.toString("utf8"), name),
    without: (names) => Buffer.from(withoutPairs(form, names), "latin1"),
  };
}

/** JSON.parse source text access (ECMA-262, 2026), which TypeScript's library does not know yet. */
const exactJson = JSON as unknown as {
  parse(text: string, reviver: (name: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** Numbers keep their digits: a body must not change on its way because a key was taken out of it. */
const parseExactly = (json: string) =>
  exactJson.parse(json, (_name, value, { source }) =>
    typeof value === "number" && source !== undefined ? exactJson.rawJSON(source) : value,
  );

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function jsonMembers(body: Buffer): BodyMembers | null {
  let members: unknown;
  try {
    members = parseExactly(body.toString("utf8"));
  } catch {
    // Not JSON, or nested so deep that the stack ends: there is no key in it that anybody could mean.
    return null;
  }
  if (!isRecord(members)) return null;
  const entries = Object.entries(members);
  return {
    values: (name) =>
      entries
        .filter(([member]) => member === name)
        .map(([, value]) => (exactJson.isRawJSON(value) ? Number.NaN : value)),
    without: (names) =>
      Buffer.from(JSON.stringify(Object.fromEntries(entries.filter(([member]) => !names.includes(member))))),
  };
}

function multipartMembers(body: Buffer, contentType: string): BodyMembers | null {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) return null;
  const form = body.toString("latin1");
  const parts = multipartParts(form, boundary);
  return {
    values: (name) => parts.filter((part) => part.name === name).map(({ value }) => text(value)),
    without: (names) => Buffer.from(withoutParts(form, boundary, names), "latin1"),
  };
}

const parsers: Readonly<Record<string, (body: Buffer, contentType: string) => BodyMembers | null>> = {
  "application/x-www-form-urlencoded": formMembers,
  "application/json": jsonMembers,
  "multipart/form-data": multipartMembers,
};

/** Null when there is no body of a kind that has members, or it is longer than MAX_BODY. */
export async function readMembers(request: ExchangeRequest): Promise<BodyMembers | null> {
  const contentType = request.header("content-type") ?? "";
  const mediaType = (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
  const parse = Object.hasOwn(parsers, mediaType) ? parsers[mediaType] : undefined;
  if (parse === undefined) return null;
  const body = await request.body(MAX_BODY);
  return body === null ? null : parse(body, contentType);
}
