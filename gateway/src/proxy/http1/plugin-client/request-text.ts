/** The head of a plugin's request, as text, and the headers of its response. */
import { type HttpRequest, type HttpResponse, isToken } from "@sluice/plugin-sdk";
import { onlyFirst } from "../parse/fields.ts";

/** A field value (RFC 9110 section 5.5), one character per byte. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that depend on the connection and the body: a plugin cannot set them; the client writes those it needs. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "expect", "http2-settings", "keep-alive", "proxy-connection"],
  ...["te", "trailer", "transfer-encoding", "upgrade"],
]);

export interface RequestTextOptions {
  /** Path and query. */
  readonly path: string;
  /** The Host header, unless the request has its own. */
  readonly host: string;
  /** Bytes of the body. */
  readonly length: number;
  /** Whether the connection is kept after the response. */
  readonly isKept: boolean;
}

/**
 * Returns the head of a request. Of headers whose names differ only in case, the last one is sent. The plugin's headers
 * about the connection or the length are left out.
 *
 * @throws Error for a method or header that HTTP does not allow. The message names no value, which may be secret.
 */
export function requestText({ method, headers = NO_HEADERS }: HttpRequest, options: RequestTextOptions): string {
  // After CONNECT the connection would be a tunnel.
  if (!isToken(method) || method === "CONNECT") throw new Error("the method of a plugin's request is invalid");
  const { host = `Host: ${options.host}\r\n`, others } = linesOf(headers);
  const connection = options.isKept ? "keep-alive" : "close";
  return (
    `${method} ${options.path} HTTP/1.1\r\n${host}${others}` +
    `Connection: ${connection}\r\nContent-Length: ${options.length}\r\n\r\n`
  );
}

type Headers = NonNullable<HttpRequest["headers"]>;

const NO_HEADERS: Headers = Object.freeze({});

interface HeaderLines {
  /** The line of the Host header; undefined: there is none. */
  readonly host: string | undefined;
  readonly others: string;
}

/** The lines of frozen headers: a plugin may send the same headers with every request. */
const frozen = new WeakMap<Headers, HeaderLines>();

function linesOf(headers: Headers): HeaderLines {
  const known = frozen.get(headers);
  if (known !== undefined) return known;
  const lines = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!isToken(name)) throw new Error("the name of a header of a plugin's request is invalid");
    if (typeof value !== "string" || !VALUE.test(value))
      throw new Error(`the header ${name} of a plugin's request has an invalid value`);
    const lower = name.toLowerCase();
    if (!ownHeaders.has(lower)) lines.set(lower, `${name}: ${value}\r\n`);
  }
  const host = lines.get("host");
  lines.delete("host");
  const written = { host, others: [...lines.values()].join("") };
  if (Object.isFrozen(headers)) frozen.set(headers, written);
  return written;
}

/** @param raw Flat list: name, value, name, value. Several values of a name are joined as Node joins them. */
export function joinedHeaders(raw: readonly string[]): HttpResponse["headers"] {
  const joined: Record<string, string | string[]> = Object.create(null);
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    const value = raw[at + 1] ?? "";
    const before = joined[name];
    if (name === "set-cookie") joined[name] = Array.isArray(before) ? [...before, value] : [value];
    else if (before === undefined) joined[name] = value;
    else if (!onlyFirst.has(name)) joined[name] = `${before}${name === "cookie" ? "; " : ", "}${value}`;
  }
  return joined;
}
