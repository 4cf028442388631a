/** Finds differences between our parser and Node's that no rule explains. */
import { nodeMethods, readNode } from "./read-node.ts";
import { type AskedMethod, readOurs } from "./read-ours.ts";
import type { Direction, ParsedMessage, ParsedStream } from "./reading.ts";
import { stricterThanNode } from "./stricter.ts";

export interface Comparison {
  /** The first difference that no rule explains; null when there is none. */
  readonly difference: string | null;
  /** The number of messages that both accepted with equal results. */
  readonly agreed: number;
  /** The fault of a message that Node accepted and our parser rejected according to a rule; null if there is none. */
  readonly stricter: string | null;
}

export function compareParsers(
  text: string,
  options: { readonly direction: Direction; readonly asked?: AskedMethod },
): Comparison {
  const ours = readOurs(text, options);
  const node = readNode(text, options);
  let agreed = 0;
  for (; agreed < Math.min(ours.messages.length, node.messages.length); agreed++) {
    const [one, other] = [ours.messages[agreed], node.messages[agreed]];
    if (one === undefined || other === undefined) break;
    const difference = differs(one, other, options);
    if (difference !== null) return { difference, agreed, stricter: null };
    // One of the parsers closes the connection earlier.
    if (one.keepAlive !== other.keepAlive) return { difference: null, agreed: agreed + 1, stricter: null };
  }
  if (ours.ending === "more" && node.ending === "refused" && ours.messages.length === agreed) {
    // Our parser reports some faults only at the end of a header or trailer section.
    const ended = readOurs(`${text}\r\n\r\n`, options);
    if (ended.ending === "refused" && ended.messages.length === agreed) {
      return { difference: null, agreed, stricter: null };
    }
  }
  return { agreed, ...compareEnds({ ours, node, agreed }, text) };
}

type Head = NonNullable<ParsedStream["open"]>;

interface Readings {
  readonly ours: ParsedStream;
  readonly node: ParsedStream;
  readonly agreed: number;
}

/** Compares what the parsers made of the bytes after the messages that both accepted. */
function compareEnds({ ours, node, agreed }: Readings, text: string): Omit<Comparison, "agreed"> {
  const same = { difference: null, stricter: null };
  const difference = (what: string) => ({ difference: what, stricter: null });
  if (node.ending === "refused" && node.messages.length === agreed) {
    if (ours.ending === "refused" && ours.messages.length === agreed) return same;
    if (node.fault === "HPE_CLOSED_CONNECTION" && trailersClose(ours.messages[agreed - 1])) return same;
    const next = ours.messages[agreed] ?? ours.open;
    if (next === null) return same;
    const looser = isUnknown(next.line[0]) || (node.fault === "HPE_INVALID_URL" && isRaw(next.line[1]));
    return looser ? same : difference(`we accept a message that Node refuses (${node.fault})`);
  }
  if (ours.ending === "refused" && ours.messages.length === agreed) {
    const stricter = ours.fault ?? "";
    const rule = stricterThanNode[stricter];
    // Node waits for the rest of the HTTP/2 preface.
    if (/^(\r\n)?PRI /.test(text.slice(ours.rest))) return same;
    const accepted = { head: node.messages[agreed] ?? node.open, text: text.slice(ours.rest) };
    return rule?.broken(accepted) === true
      ? { difference: null, stricter }
      : difference(`we refuse (${stricter}) a message that Node accepts`);
  }
  if (ours.messages.length !== node.messages.length) {
    return difference(`we have ${ours.messages.length} messages, Node ${node.messages.length}`);
  }
  if (ours.open !== null && node.open !== null) {
    const what = headDiffers(ours.open, node.open);
    if (what !== null) return difference(what);
  }
  return ours.ending === node.ending || isBlank(text.slice(ours.rest))
    ? same
    : difference(`our reading ends with ${ours.ending}, Node's with ${node.ending}`);
}

const isUnknown = (method: string): boolean => !nodeMethods.has(method) || method === "PRI";

/** Whether the target has bytes above ASCII, such as raw UTF-8, which curl sends and nginx accepts. */
const isRaw = (target: string): boolean => /[\x80-\xff]/.test(target);

/** Whether the trailers have a Connection field, which has no meaning there, but makes Node close the connection. */
const trailersClose = (message: ParsedMessage | undefined): boolean =>
  message?.trailers.some((name, at) => at % 2 === 0 && name.toLowerCase() === "connection") === true;

/** Whether nothing but line breaks is left, which are allowed before a message and after the last message. */
const isBlank = (text: string): boolean => /^[\r\n]*$/.test(text);

function differs(one: ParsedMessage, other: ParsedMessage, { asked }: { readonly asked?: AskedMethod }): string | null {
  const head = headDiffers(one, other, asked);
  if (head !== null) return head;
  if (one.body !== other.body) return `bodies: ${JSON.stringify([one.body, other.body])} (${asked ?? ""})`;
  if (String(one.trailers) !== String(other.trailers))
    return `trailers: ${JSON.stringify([one.trailers, other.trailers])}`;
  return null;
}

function headDiffers(one: Head, other: Head, asked?: string): string | null {
  const parts = ["line", "version", "headers"] as const;
  for (const part of parts) {
    const values = [one[part], other[part]].map((value) => JSON.stringify(value));
    if (values[0] !== values[1]) return `${part}: ${values.join(" and ")}`;
  }
  if (one.keepAlive && !other.keepAlive && !nodeEndsAlone(one, asked)) return "we keep a connection that Node ends";
  return null;
}

/** Whether Node alone closes a connection that could stay open. */
function nodeEndsAlone({ headers, version }: Head, asked: string | undefined): boolean {
  const has = (pattern: RegExp) => headers.some((name, at) => at % 2 === 0 && pattern.test(name));
  // Without a declared length, Node expects a response to HEAD to last until the connection closes.
  if (asked === "HEAD" && !has(/^(content-length|transfer-encoding)$/i)) return true;
  // RFC 9112 C.2.2: Proxy-Connection has no meaning. RFC 9110 7.8: a server ignores Upgrade in HTTP/1.0.
  return has(/^proxy-connection$/i) || (version === "1.0" && has(/^upgrade$/i));
}
