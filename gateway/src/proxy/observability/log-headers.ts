/**
 * The headers of a log record, written as JSON text. Building an object with members named by clients and stringifying
 * it takes V8 twice as long.
 */
import { LruCache } from "@sluice/plugin-sdk";
import type { IncomingRequest } from "../exchange/request.ts";
import { withoutKeyCookies, withoutKeysOfTarget } from "./key-parameters.ts";

/** As in Kong. */
export const REDACTED = "REDACTED";

/** Text that JSON does not escape: printable ASCII without quotation marks and backslashes (RFC 8259 section 7). */
const UNESCAPED = /^[ !#-[\]-~]*$/;
/** Like UNESCAPED, and line ends: the lines of a head. */
const UNESCAPED_LINES = /^[ !#-[\]-~\r\n]*$/;

/** A text as JSON; faster than `JSON.stringify` for most texts of a record. */
export const jsonString = (text: string): string => (UNESCAPED.test(text) ? `"${text}"` : JSON.stringify(text));

/** Headers are Latin-1, one character per byte; most senders mean UTF-8. */
const decoded = (value: string): string => Buffer.from(value, "latin1").toString("utf8");

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The value of a header in a JSON string. */
const escapedValue = (value: string): string => (UNESCAPED.test(value) ? value : escaped(decoded(value)));

interface LoggedName {
  readonly lower: string;
  /** The start of a JSON member with this name: the name, a colon and the opening quotation mark of the value. */
  readonly key: string;
  /** `key`, preceded by the previous value's closing quotation mark and a comma. */
  readonly nextKey: string;
}

/** Keyed by the name as it was sent. Cached, because most messages have the same names. */
const loggedNames = new LruCache<LoggedName>(512);

/** Maximum characters of a name that is cached. */
const MAX_CACHED = 64;

function loggedName(sent: string): LoggedName {
  const cached = loggedNames.get(sent);
  if (cached !== undefined) return cached;
  const lower = sent.toLowerCase();
  const key = `${JSON.stringify(lower)}:"`;
  const name = { lower, key, nextKey: `",${key}` };
  // The key is a copy, because the name may be a slice of a head, which would stay in memory too.
  if (sent.length <= MAX_CACHED) loggedNames.set(Buffer.from(sent, "latin1").toString("latin1"), name);
  return name;
}

/**
 * The members of an object by lower-case name. The values of a repeated name become a list, which follows the other
 * members.
 */
class HeaderMembers {
  readonly #names: LoggedName[] = [];
  /** Without quotation marks. */
  readonly #values: string[] = [];
  /** Lists by the indexes of the repeated names. */
  #lists: Map<number, string> | null = null;

  has(lower: string): boolean {
    return this.#indexOf(lower) >= 0;
  }

  /** @param value Escaped, without quotation marks */
  add(name: LoggedName, value: string): void {
    const at = this.#indexOf(name.lower);
    if (at < 0) {
      this.#names.push(name);
      this.#values.push(value);
      return;
    }
    this.#lists ??= new Map();
    this.#lists.set(at, `${this.#lists.get(at) ?? `"${this.#values[at]}"`},"${value}"`);
  }

  get text(): string {
    let text = "";
    for (let at = 0; at < this.#names.length; at++) {
      const name = this.#names[at];
      if (name !== undefined && this.#lists?.has(at) !== true)
        text += (text === "" ? name.key : name.nextKey) + this.#values[at];
    }
    if (this.#lists === null) return text === "" ? "{}" : `{${text}"}`;
    const lists = this.#lists.entries().map(([at, list]) => `${JSON.stringify(this.#names[at]?.lower)}:[${list}]`);
    return `{${text === "" ? "" : `${text}",`}${[...lists].join(",")}}`;
  }

  #indexOf(lower: string): number {
    let at = this.#names.length - 1;
    while (at >= 0 && this.#names[at]?.lower !== lower) at--;
    return at;
  }
}

/** @param keyNames See `keyNamesOf` */
export function requestHeadersText(request: IncomingRequest, keyNames: ReadonlySet<string>): string {
  const { rawHeaders } = request;
  const members = new HeaderMembers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = loggedName(rawHeaders[at] ?? "");
    const { lower } = name;
    const isSecret = lower === "authorization" || lower === "proxy-authorization" || keyNames.has(lower);
    if (!isSecret && lower !== "cookie") members.add(name, escapedValue(rawHeaders[at + 1] ?? ""));
    // One value, also for several headers: those of Cookie are joined (RFC 9113 section 8.2.3).
    else if (!members.has(lower)) members.add(name, isSecret ? REDACTED : escapedCookies(request, keyNames));
  }
  return members.text;
}

const escapedCookies = (request: IncomingRequest, keyNames: ReadonlySet<string>): string =>
  escaped(withoutKeyCookies(decoded(request.headerValues("cookie").join("; ")), keyNames, REDACTED));

/** @param head As it was sent: its text, or a flat list of headers; null: none was sent. */
export function responseHeadersText(head: string | readonly string[] | null, keyNames: ReadonlySet<string>): string {
  if (head === null) return "{}";
  const members = new HeaderMembers();
  const add = (name: LoggedName, value: string, isUnescaped: boolean) => {
    if (name.lower === "set-cookie" && keyNames.size > 0)
      members.add(name, escaped(withoutKeyCookies(decoded(value), keyNames, REDACTED)));
    else if (name.lower === "location")
      members.add(name, escaped(withoutKeysOfTarget(decoded(value), keyNames, REDACTED)));
    else members.add(name, isUnescaped ? value : escapedValue(value));
  };
  if (typeof head !== "string") {
    for (let at = 0; at < head.length; at += 2) add(loggedName(head[at] ?? ""), head[at + 1] ?? "", false);
    return members.text;
  }
  const isUnescaped = UNESCAPED_LINES.test(head);
  // The first line, the empty line and any text after it are skipped. Heads have one space after each colon.
  let start = head.indexOf("\r\n") + 2;
  for (let end = head.indexOf("\r\n", start); end > start; end = head.indexOf("\r\n", start)) {
    const colon = head.indexOf(":", start);
    add(loggedName(head.slice(start, colon)), head.slice(colon + 2, end), isUnescaped);
    start = end + 2;
  }
  return members.text;
}
