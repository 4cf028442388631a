/** The headers of a log record. */
import { LruCache } from "@sluice/plugin-sdk";
import { DEBUG_HEADER } from "../../debug/debug-tokens.ts";
import type { IncomingRequest } from "../../exchange/request.ts";
import { withoutKeyCookies, withoutKeysOfTarget } from "../key-parameters.ts";
import { type HeaderRules, HeadTemplates, type ValueWriter } from "./head-templates.ts";
import type { JsonBytes } from "./json-bytes.ts";

/** Replaces secret values, as in Kong. */
export const REDACTED = "REDACTED";

/** Text that JSON does not escape: printable ASCII without quotation marks and backslashes (RFC 8259 section 7). */
const UNESCAPED = /^[ !#-[\]-~]*$/;

/** A header value as UTF-8, which most senders mean; `value` has one character per byte (Latin-1). */
const decoded = (value: string): string => Buffer.from(value, "latin1").toString("utf8");

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The value of a header as the content of a JSON string, without quotation marks. */
const escapedValue: ValueWriter = (value) => (UNESCAPED.test(value) ? value : escaped(decoded(value)));

/** The start of a JSON member by the header's name as it was sent: the name and a colon. Most names repeat. */
const memberStarts = new LruCache<MemberStart>(512);

interface MemberStart {
  readonly lower: string;
  readonly text: string;
}

/** Maximum characters of a name that is cached. */
const MAX_CACHED = 64;

function memberStart(sent: string): MemberStart {
  const cached = memberStarts.get(sent);
  if (cached !== undefined) return cached;
  const lower = sent.toLowerCase();
  const start = { lower, text: `${JSON.stringify(lower)}:` };
  // The key of the entry is a copy, because the name may be a slice of a head, which would stay in memory too.
  if (sent.length <= MAX_CACHED) memberStarts.set(Buffer.from(sent, "latin1").toString("latin1"), start);
  return start;
}

/** The headers of requests, or those of responses. */
abstract class LoggedHeaders implements HeaderRules {
  readonly unchanged = escapedValue;
  /** See `keyNamesOf`. */
  protected keyNames: ReadonlySet<string> = new Set();
  #templates = new HeadTemplates();

  /** With other names of keys, other values have to be redacted. */
  begin(keyNames: ReadonlySet<string>): void {
    if (keyNames === this.keyNames) return;
    this.keyNames = keyNames;
    this.#templates = new HeadTemplates();
  }

  abstract changed(lower: string): ValueWriter | null;

  /**
   * @param head Lines with one space after each colon, up to an empty line or the end
   * @param start Offset of the first line with a header
   */
  writeLines(output: JsonBytes, head: string, start: number): void {
    if (this.#templates.write(output, head, start)) return;
    const headers: string[] = [];
    for (let at = start; ; ) {
      const end = head.indexOf("\r\n", at);
      if (end <= at) break;
      const colon = head.indexOf(":", at);
      headers.push(head.slice(at, colon), head.slice(colon + 2, end));
      at = end + 2;
    }
    this.writeList(output, headers);
    this.#templates.learn(headers, this);
  }

  /**
   * Writes an object with the values by lower-case name. The values of a repeated name become a list.
   *
   * @param headers Flat list: name, value, name, value
   */
  writeList(output: JsonBytes, headers: readonly string[]): void {
    const starts: MemberStart[] = [];
    /** In the same order: each value, or the list of values. */
    const values: (string | string[])[] = [];
    for (let at = 0; at < headers.length; at += 2) {
      const start = memberStart(headers[at] ?? "");
      const value = (this.changed(start.lower) ?? escapedValue)(headers[at + 1] ?? "");
      const known = starts.findIndex(({ lower }) => lower === start.lower);
      const before = values[known];
      if (before === undefined) {
        starts.push(start);
        values.push(value);
      } else values[known] = [before, value].flat();
    }
    let text = "{";
    for (let at = 0; at < starts.length; at++) {
      const value = values[at] ?? "";
      const listed = typeof value === "string" ? `"${value}"` : this.listed(starts[at]?.lower ?? "", value);
      text += `${at > 0 ? "," : ""}${starts[at]?.text}${listed}`;
    }
    output.text(`${text}}`);
  }

  /** The values of a repeated name as JSON. They are escaped, without quotation marks. */
  protected listed(_lower: string, values: readonly string[]): string {
    return `["${values.join('","')}"]`;
  }
}

/** Request headers whose values are secret whatever the configuration is. */
const secretNames: ReadonlySet<string> = new Set(["authorization", "proxy-authorization", DEBUG_HEADER]);

class RequestHeaders extends LoggedHeaders {
  override changed(lower: string): ValueWriter | null {
    if (secretNames.has(lower) || this.keyNames.has(lower)) return redacted;
    return lower === "cookie" ? this.#cookies : null;
  }

  readonly #cookies: ValueWriter = (value) => escaped(withoutKeyCookies(decoded(value), this.keyNames, REDACTED));

  protected override listed(lower: string, values: readonly string[]): string {
    if (this.changed(lower) === redacted) return `"${REDACTED}"`;
    // Several Cookie headers are recorded as one joined value (RFC 9113 section 8.2.3).
    return lower === "cookie" ? `"${values.join("; ")}"` : super.listed(lower, values);
  }
}

const redacted: ValueWriter = () => REDACTED;

class ResponseHeaders extends LoggedHeaders {
  override changed(lower: string): ValueWriter | null {
    return lower === "set-cookie" ? this.#cookies : lower === "location" ? this.#target : null;
  }

  readonly #cookies: ValueWriter = (value) => escaped(withoutKeyCookies(decoded(value), this.keyNames, REDACTED));
  readonly #target: ValueWriter = (value) => escaped(withoutKeysOfTarget(decoded(value), this.keyNames, REDACTED));
}

const requestHeaders = new RequestHeaders();
const responseHeaders = new ResponseHeaders();

/** @param keyNames See `keyNamesOf` */
export function writeRequestHeaders(output: JsonBytes, request: IncomingRequest, keyNames: ReadonlySet<string>): void {
  requestHeaders.begin(keyNames);
  const { headerLines = null } = request.head;
  if (headerLines === null) requestHeaders.writeList(output, request.rawHeaders);
  else requestHeaders.writeLines(output, headerLines, 0);
}

/**
 * @param head As it was sent: its text, or a flat list of headers; null: none was sent
 * @param keyNames See `keyNamesOf`
 */
export function writeResponseHeaders(
  output: JsonBytes,
  head: string | readonly string[] | null,
  keyNames: ReadonlySet<string>,
): void {
  responseHeaders.begin(keyNames);
  // The first line, the empty line and any text after it are skipped.
  if (typeof head === "string") responseHeaders.writeLines(output, head, head.indexOf("\r\n") + 2);
  else responseHeaders.writeList(output, head ?? []);
}
