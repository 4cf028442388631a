/** Parses request targets into the normal form that routes match on. */
import { normalizePath } from "@sluice/model/serving";
import { isToken } from "@sluice/plugin-sdk";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";

export interface RequestTarget {
  /** Normalised, without the query. */
  readonly path: string;
  /** With its `?`, as sent except that bytes above ASCII are encoded; "" when absent. A lone `?` is kept. */
  readonly query: string;
  /** The path as sent, without the query, except that bytes above ASCII are encoded. */
  readonly sentPath: string;
  /** Host and port of an absolute-form target (RFC 9112 section 3.2.2), which override the Host header. */
  readonly authority: string | null;
  /** True only if `escapePath` would not change the path; false for every path that was normalised. */
  readonly plain: boolean;
}

const SAFE = 0;
const ESCAPE = 1;
const DECODE = 2;

/** Treatment of each character of a path: none, escaping when forwarded, or normalising the path. */
const treatment = new Uint8Array(256).fill(DECODE);
for (let code = 0x20; code < 0x7f; code++) treatment[code] = ESCAPE;
for (const character of "-_.~!$&'()*+,;=:@/[]ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") {
  treatment[character.charCodeAt(0)] = SAFE;
}
treatment["%".charCodeAt(0)] = DECODE;

const SLASH = 0x2f;
const DOT = 0x2e;
const QUESTION = 0x3f;
const HASH = 0x23;

/**
 * A segment `.` or `..` with parameters (RFC 3986 section 3.3): servlet containers remove the parameters before they
 * resolve dot segments, so `/open/..;/users` means `/users` there.
 */
const DOT_SEGMENT_PARAMETER = /\/\.\.?;/;

/**
 * Parses origin form (`/a?b`) and absolute form (`http://host/a?b`), in time linear in the length. A fragment is not
 * part of a target (RFC 9112 section 3.2), and servers disagree on its meaning, so a target with a fragment is refused.
 */
export function parseRequestTarget(target: string): RequestTarget | GatewayErrorName {
  if (target.charCodeAt(0) === SLASH) return parseOrigin(target, null);
  const [, authority, rest = ""] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(target) ?? [];
  if (authority === undefined) return "badRequest";
  return parseOrigin(rest.startsWith("/") ? rest : `/${rest}`, authority);
}

function parseOrigin(target: string, authority: string | null): RequestTarget | GatewayErrorName {
  let end = 0;
  let worst = SAFE;
  let previous = 0;
  let segments = false;
  for (; end < target.length; end++) {
    const code = target.charCodeAt(end);
    if (code === QUESTION || code === HASH) break;
    if (previous === SLASH && (code === SLASH || code === DOT)) segments = true;
    worst = Math.max(worst, treatment[code] ?? DECODE);
    previous = code;
  }
  const sentPath = end === target.length ? target : target.slice(0, end);
  const rest = end === target.length ? "" : target.slice(end);
  if (rest.includes("#")) return "badRequest";
  const query = encodeRaw(rest);
  if (worst < DECODE && !segments) return { path: sentPath, query, sentPath, authority, plain: worst === SAFE };
  const encoded = encodeRaw(sentPath);
  const path = normalizePath(encoded);
  if (path === null) return "brokenEscape";
  if (path.includes(";") && DOT_SEGMENT_PARAMETER.test(path)) return "dotSegmentParameter";
  return { path, query, sentPath: encoded, authority, plain: false };
}

/**
 * Bytes above ASCII, which HTTP parsers return as Latin-1. They are percent-encoded one by one, so that upstreams read
 * them as UTF-8, in which clients send them.
 */
const RAW_BYTES = /[\x80-\xff]/g;
const encodeRaw = (text: string): string => (text === "" ? text : text.replace(RAW_BYTES, encodeByte));
const encodeByte = (byte: string): string => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`;

/** The decoded name of a parameter of a query, such as `a b` for `a+b=1`; as it is if it cannot be decoded. */
export function queryParameterName(parameter: string): string {
  const name = parameter.split("=", 1)[0] ?? "";
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
}

/** Whitespace and control characters would end the request line, and other characters must be encoded (RFC 3986). */
const NOT_IN_QUERY = /[^\x21-\x7e]|#/gu;

/** The query that a plugin has set, with invalid characters encoded. Throws if it lacks its `?`. */
export function checkedQuery(query: string): string {
  if (query !== "" && !query.startsWith("?")) throw new TypeError("upstreamQuery must begin with ? or be empty");
  return query.toWellFormed().replace(NOT_IN_QUERY, encodeURIComponent);
}

/** The method that a plugin has set. Throws if it is no token (RFC 9110 section 9.1). */
export function checkedMethod(method: string): string {
  if (!isToken(method)) throw new TypeError("upstreamMethod must be a token, such as POST");
  return method;
}
