/**
 * The headers of a log record, written as JSON text. Building an object with members named by clients and stringifying
 * it takes V8 twice as long.
 */
import { LruCache } from "@sluice/plugin-sdk";
import { DEBUG_HEADER } from "../debug/debug-tokens.ts";
import type { IncomingRequest } from "../exchange/request.ts";
import { withoutKeyCookies, withoutKeysOfTarget } from "./key-parameters.ts";

/** Replaces secret values, as in Kong. */
export const REDACTED = "REDACTED";

/** Text that JSON does not escape: printable ASCII without quotation marks and backslashes (RFC 8259 section 7). */
const UNESCAPED = /^[ !#-[\]-~]*$/;

/** A string as JSON; faster than `JSON.stringify` for most strings of a record. */
export const jsonString = (text: string): string => (UNESCAPED.test(text) ? `"${text}"` : JSON.stringify(text));

/** A header value as UTF-8, which most senders mean; `value` has one character per byte (Latin-1). */
const decoded = (value: string): string => Buffer.from(value, "latin1").toString("utf8");

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The value of a header as the content of a JSON string, without quotation marks. */
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
  // The key of the entry is a copy, because the name may be a slice of a head, which would stay in memory too.
  if (sent.length <= MAX_CACHED) loggedNames.set(Buffer.from(sent, "latin1").toString("latin1"), name);
  return name;
}

/**
 * The members of an object by lower-case name. The values of a repeated name become a list, which follows the other
 * members. Reused, because records are written one at a time.
 */
class HeaderMembers {
  #text = "";
  #count = 0;
  readonly #names: LoggedName[] = [];
  /** Without quotation marks. */
  readonly #values: string[] = [];
  /** Lists by the indexes of the repeated names. */
  #lists: Map<number, string> | null = null;

  begin(): this {
    this.#text = "";
    this.#count = 0;
    this.#lists = null;
    return this;
  }

  has(lower: string): boolean {
    return this.#indexOf(lower) >= 0;
  }

  /** @param value Escaped, without quotation marks */
  add(name: LoggedName, value: string): void {
    this.addMember({ name, value, member: null });
  }

  addMember({ name, value, member }: HeaderMember): void {
    const at = this.#indexOf(name.lower);
    if (at >= 0) {
      this.#lists ??= new Map();
      this.#lists.set(at, `${this.#lists.get(at) ?? `"${this.#values[at]}"`},"${value}"`);
      return;
    }
    if (this.#count === 0) this.#text = name.key + value;
    else this.#text += member ?? name.nextKey + value;
    this.#names[this.#count] = name;
    this.#values[this.#count++] = value;
  }

  end(): string {
    if (this.#lists !== null) return this.#withLists(this.#lists);
    return this.#count === 0 ? "{}" : `{${this.#text}"}`;
  }

  #withLists(lists: ReadonlyMap<number, string>): string {
    const members = this.#values.slice(0, this.#count).map((value, at) => {
      const { key = "" } = this.#names[at] ?? {};
      return lists.has(at) ? "" : `${key}${value}"`;
    });
    const listed = lists.entries().map(([at, list]) => `${JSON.stringify(this.#names[at]?.lower)}:[${list}]`);
    return `{${[...members.filter((member) => member !== ""), ...listed].join(",")}}`;
  }

  #indexOf(lower: string): number {
    let at = this.#count - 1;
    while (at >= 0 && this.#names[at]?.lower !== lower) at--;
    return at;
  }
}

interface HeaderMember {
  readonly name: LoggedName;
  /** Escaped, without quotation marks. */
  readonly value: string;
  /** The name's `nextKey` and the value; null: not computed. */
  readonly member: string | null;
}

const members = new HeaderMembers();

/** Number of lines at the beginning of a head that are remembered. */
const MAX_REMEMBERED = 32;
/** Maximum characters of a line that is remembered. */
const MAX_LINE = 256;
/** A remembered line that no head repeated is replaced only after this many heads, because a copy costs time. */
const PATIENCE = 32;

interface RememberedLine extends HeaderMember {
  /** With its line end. */
  readonly line: string;
  /** Number of heads with another line at this position since a head repeated this line; 1 when it is remembered. */
  misses: number;
}

/**
 * Lines of earlier heads with their JSON, by position. Most heads repeat most lines of the previous head, and
 * recognizing a line takes less time than splitting it, looking up its name and checking its value.
 */
class RememberedLines {
  /** The names of keys when the lines were remembered: with other names, a line may have to be redacted. */
  #keyNames: ReadonlySet<string> | null = null;
  #lines: (RememberedLine | undefined)[] = [];

  /**
   * Adds the members of all lines up to the first empty one.
   *
   * @param head Lines with one space after each colon
   * @param add Adds the member of a line. Returns false if the line must not be remembered
   */
  addAll(head: string, start: number, { keyNames, add }: LineOptions): void {
    if (keyNames !== this.#keyNames) this.#lines = [];
    this.#keyNames = keyNames;
    for (let at = start, position = 0; ; position++) {
      const remembered = this.#lines[position];
      if (remembered !== undefined && head.slice(at, at + remembered.line.length) === remembered.line) {
        remembered.misses = 0;
        members.addMember(remembered);
        at += remembered.line.length;
        continue;
      }
      const end = head.indexOf("\r\n", at);
      if (end <= at) return;
      const colon = head.indexOf(":", at);
      const isPublic = add(loggedName(head.slice(at, colon)), head.slice(colon + 2, end));
      if (isPublic) this.#remember(position, head, at, end + 2);
      at = end + 2;
    }
  }

  #remember(position: number, head: string, start: number, end: number): void {
    const known = this.#lines[position];
    if (known !== undefined && ++known.misses % PATIENCE !== 1) return;
    if (position >= MAX_REMEMBERED || end - start > MAX_LINE) return;
    // A copy, because a slice would keep the head in memory.
    const line = Buffer.from(head.slice(start, end), "latin1").toString("latin1");
    const colon = line.indexOf(":");
    const name = loggedName(line.slice(0, colon));
    const value = escapedValue(line.slice(colon + 2, -2));
    this.#lines[position] = { line, name, value, member: name.nextKey + value, misses: 1 };
  }
}

interface LineOptions {
  /** See `keyNamesOf`. */
  readonly keyNames: ReadonlySet<string>;
  readonly add: (name: LoggedName, value: string) => boolean;
}

const requestLines = new RememberedLines();
const responseLines = new RememberedLines();

/** Request headers whose values are secret whatever the configuration is. */
const secretNames: ReadonlySet<string> = new Set(["authorization", "proxy-authorization", DEBUG_HEADER]);

/** @param keyNames See `keyNamesOf` */
export function requestHeadersText(request: IncomingRequest, keyNames: ReadonlySet<string>): string {
  members.begin();
  const add = (name: LoggedName, value: string): boolean => {
    const { lower } = name;
    const isSecret = secretNames.has(lower) || keyNames.has(lower);
    if (!isSecret && lower !== "cookie") {
      members.add(name, escapedValue(value));
      return true;
    }
    // Several Cookie headers are recorded as one joined value (RFC 9113 section 8.2.3).
    if (!members.has(lower)) members.add(name, isSecret ? REDACTED : escapedCookies(request, keyNames));
    return false;
  };
  const { headerLines = null } = request.head;
  if (headerLines !== null) requestLines.addAll(headerLines, 0, { keyNames, add });
  else addList(request.rawHeaders, add);
  return members.end();
}

const escapedCookies = (request: IncomingRequest, keyNames: ReadonlySet<string>): string =>
  escaped(withoutKeyCookies(decoded(request.headerValues("cookie").join("; ")), keyNames, REDACTED));

/** @param head As it was sent: its text, or a flat list of headers; null: none was sent. */
export function responseHeadersText(head: string | readonly string[] | null, keyNames: ReadonlySet<string>): string {
  if (head === null) return "{}";
  members.begin();
  const add = (name: LoggedName, value: string): boolean => {
    if (name.lower === "set-cookie") {
      members.add(name, escaped(withoutKeyCookies(decoded(value), keyNames, REDACTED)));
      return false;
    }
    if (name.lower === "location") {
      members.add(name, escaped(withoutKeysOfTarget(decoded(value), keyNames, REDACTED)));
      return false;
    }
    members.add(name, escapedValue(value));
    return true;
  };
  // The first line, the empty line and any text after it are skipped.
  if (typeof head === "string") responseLines.addAll(head, head.indexOf("\r\n") + 2, { keyNames, add });
  else addList(head, add);
  return members.end();
}

/** @param headers Flat list: name, value, name, value */
function addList(headers: readonly string[], add: LineOptions["add"]): void {
  for (let at = 0; at < headers.length; at += 2) add(loggedName(headers[at] ?? ""), headers[at + 1] ?? "");
}
