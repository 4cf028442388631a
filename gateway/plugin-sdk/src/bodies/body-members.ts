/** The members of a request body: of a form, a JSON object or a multipart form. */
import type { ExchangeRequest } from "../exchange/exchange.ts";
import { isEncoded } from "../exchange/header-value.ts";
import { jsonMembers, withoutMembers } from "./json-members.ts";
import { boundaryOf, multipartParts, withoutParts } from "./multipart.ts";
import { pairValues, withoutPairs } from "./pairs.ts";

/** Maximum bytes of a body that is searched: it is buffered before the client is authenticated. Kong reads 8 KiB. */
export const MAX_SEARCHED_BODY = 64 * 1024;

export interface BodyMembers {
  /**
   * Every value of a member: strings, and from JSON also numbers, booleans, null, and an empty list or object in place
   * of any list or object.
   */
  values(name: string): readonly unknown[];
  /** The body without these members; all other bytes are unchanged. */
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

function membersOfJson(body: Buffer): BodyMembers | null {
  const json = body.toString("latin1");
  const members = jsonMembers(json);
  if (members === null) return null;
  return {
    values: (name) => members.filter((member) => member.name === name).map(({ value }) => value),
    without: (names) => Buffer.from(withoutMembers(json, members, names), "latin1"),
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
  "application/json": membersOfJson,
  "multipart/form-data": multipartMembers,
};

/**
 * The members of a request's body. Null for a body of another content type, an encoded one, one that cannot be parsed,
 * or one longer than MAX_SEARCHED_BODY.
 */
export async function readBodyMembers(request: ExchangeRequest): Promise<BodyMembers | null> {
  if (isEncoded(request.headerValues("content-encoding"))) return null;
  const contentType = request.header("content-type") ?? "";
  const mediaType = (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
  const parse = Object.hasOwn(parsers, mediaType) ? parsers[mediaType] : undefined;
  if (parse === undefined) return null;
  const body = await request.body(MAX_SEARCHED_BODY);
  return body === null ? null : parse(body, contentType);
}
