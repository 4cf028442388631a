/** The rules by which our parser is stricter than Node's. Refusing any other message that Node accepts is a bug. */
import type { ParsedStream } from "./reading.ts";

/** Node's result for the message that we reject, and its bytes. */
export interface AcceptedByNode {
  /** Null when Node waits for more of the message's head. */
  readonly head: NonNullable<ParsedStream["open"]> | null;
  /** Latin-1, from the message's first byte to the end of the connection. */
  readonly text: string;
}

interface Rule {
  /** The rule, as a sentence. */
  readonly rule: string;
  /**
   * Bytes of one connection, which violate only this rule. They are responses if they begin with a status line or with
   * an empty line and a status line, and requests otherwise.
   */
  readonly example: string;
  /** Whether the message violates the rule. */
  readonly broken: (accepted: AcceptedByNode) => boolean;
}

const valuesOf = ({ head }: AcceptedByNode, name: string): readonly string[] =>
  (head?.headers ?? []).filter((_, at, all) => at % 2 === 1 && all[at - 1]?.toLowerCase() === name);

/** Method and target, from the text when Node waits for more of the head. */
function lineOf({ head, text }: AcceptedByNode): readonly [method: string, target: string] {
  const [, method = "", target = ""] = /^(?:\r\n)?(\S+) +(\S+)/.exec(text) ?? [];
  return head?.line ?? [method, target];
}

const versionOf = ({ head }: AcceptedByNode): string => head?.version ?? "";

const hidden = /\r\ntransfer-encoding:[ \t]*chunked[ \t]+\r/i;

/** ICE and RTSP, or a prefix of them. */
const otherProtocol = /^([^\r\n]* )?(I(C(E|$)|$)|R(T(S(P|$)|$)|$))/;

const NO_HEAD_YET = /^(?!.*\r\n\r\n)/s;

export const stricterThanNode: Readonly<Record<string, Rule>> = {
  hostMissing: {
    rule: "RFC 9112 3.2: an HTTP/1.1 request without Host is answered 400 (node:http does so outside its parser)",
    example: "GET / HTTP/1.1\r\n\r\n",
    broken: (it) => versionOf(it) === "1.1" && valuesOf(it, "host").length === 0,
  },
  hostRepeated: {
    rule: "RFC 9112 3.2: a request with more than one Host is answered 400",
    example: "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    broken: (it) => valuesOf(it, "host").length > 1,
  },
  hostSyntax: {
    rule: "RFC 9112 3.2: a request with an invalid host in Host or in its target's authority is answered 400",
    example: "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    broken: (it) => [...valuesOf(it, "host"), lineOf(it)[1]].some((host) => /[^\w.]|:\d{6}|:[7-9]\d{4}/.test(host)),
  },
  hostContradicts: {
    rule: "RFC 9112 3.2.2: Host must be the authority of an absolute-form target",
    example: "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
    broken: (it) => /^https?:\/\//i.test(it.head?.line[1] ?? "") && valuesOf(it, "host").length === 1,
  },
  target: {
    rule: "RFC 9112 3.2: no fragment, `*` only with OPTIONS, host and port with CONNECT, no scheme except http and https",
    example: "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
    broken: (it) => {
      const [method, target] = lineOf(it);
      if (method === "CONNECT") return !/^[^/?#]+:\d+$/.test(target) || Number(target.split(":").at(-1)) > 65_535;
      return target.includes("#") || !/^(\/|https?:\/\/[^/?])/i.test(target);
    },
  },
  connectBody: {
    rule: "RFC 9110 9.3.6: CONNECT has no content; Node treats the bytes after its head as the tunnel's data",
    example: "CONNECT a:80 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
    broken: ({ head }) => head?.line[0] === "CONNECT",
  },
  version: {
    rule: "only HTTP/1.0 and HTTP/1.1 are supported; Node's parser accepts 0.9 and 2.0 too",
    example: "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    broken: (it) => ["0.9", "2.0"].includes(versionOf(it)) || /HTTP\/(0\.9|2\.0)|^(\r\n)?\S* [^ ]*\r\n/.test(it.text),
  },
  versionSyntax: {
    rule: "RFC 9112 2.2 allows an empty line before a request, not before a response; we support no other protocols",
    example: "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    broken: ({ text }) => /^[\r\n]+/.test(text) || otherProtocol.test(text) || /^(\r\n)?\S+ +\S+ {2}/.test(text),
  },
  requestLine: {
    rule: "RFC 9112 3: method and target are separated by one space, not by a line end",
    example: "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
    broken: ({ text }) => /^(\r\n)?\S+ ( |\r\n)/.test(text),
  },
  method: {
    rule: "RFC 9112 2.2: one empty line (CRLF) may precede a request line",
    example: "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    broken: ({ text }) => /^\r\n[\r\n]/.test(text),
  },
  bareLf: {
    rule: "RFC 9112 2.2: lines end with CRLF; Node accepts a bare LF in HTTP/0.9",
    example: "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    broken: ({ text }) => /^(\r\n)?(\n|\S+ +\S+ *\n)/.test(text),
  },
  bareCr: {
    rule: "RFC 9112 2.2: a carriage return is invalid unless a line feed follows",
    example: "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    broken: ({ text }) => /^\r[^\n]/.test(text),
  },
  codingVersion: {
    rule: "RFC 9112 6.1: HTTP/1.0 has no Transfer-Encoding",
    example: "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    broken: (it) => versionOf(it) === "1.0" && valuesOf(it, "transfer-encoding").length > 0,
  },
  interimBody: {
    rule: "RFC 9112 6.1 and RFC 9110 8.6: an interim response has neither Transfer-Encoding nor Content-Length",
    example: "HTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\n\r\n",
    broken: (it) =>
      /^1\d\d$/.test(it.head?.line[0] ?? "") &&
      [...valuesOf(it, "transfer-encoding"), ...valuesOf(it, "content-length")].length > 0,
  },
  codingUnknown: {
    rule: "a body in a coding other than chunked is refused (501): no coding is decoded; Node leaves that to its caller",
    example: "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    broken: (it) => valuesOf(it, "transfer-encoding").some((value) => /,[ \t]*chunked[ \t]*$/i.test(value)),
  },
  codingSyntax: {
    rule: "RFC 9112 6.3: unless chunked is the last coding and occurs once, parsers disagree on where a body ends",
    example: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\t\r\n\r\nabc",
    broken: (it) => {
      const values = valuesOf(it, "transfer-encoding");
      return values.length > 1 || values.some((value) => value.toLowerCase() !== "chunked") || hidden.test(it.text);
    },
  },
  lengthSyntax: {
    rule: "RFC 9110 8.6: a length is digits; with leading zeros, or beyond 2^53 - 1, parsers read different numbers",
    example: "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 03\r\n\r\nabc",
    broken: (it) => valuesOf(it, "content-length").some((value) => /^0\d|^\d{16,}$/.test(value)),
  },
  switching: {
    rule: "RFC 9110 15.2.2: 101 names the protocol that follows",
    example: "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    broken: (it) => it.head?.line[0] === "101",
  },
  trailer: {
    rule: "RFC 9110 6.5.1: trailers must not contain the fields that frame the body",
    example: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
    broken: ({ text }) => /\r\n(content-length|transfer-encoding):/i.test(text),
  },
  statusLine: {
    rule: "RFC 9112 4: a status of three digits from 100, one space, and a reason without control characters",
    example: "HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n",
    broken: ({ text }) =>
      /^HTTP\/\d\.\d (0\d\d|\d{1,2}\D|\d{4}|\d{3} ?[^\r]*[^\t -~\x80-\xff\r])/.test(text) || NO_HEAD_YET.test(text),
  },
  chunkSize: {
    rule: "a chunk's size has at most 13 digits, so that it stays a whole number",
    example: "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n00000000000003\r\nabc\r\n0\r\n\r\n",
    broken: ({ text }) => /\r\n[\da-f]{14,}/i.test(text),
  },
  chunkExtension: {
    rule: "RFC 9112 7.1.1: an extension has a name, and a value after `=`",
    example: "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\r\nabc\r\n0\r\n\r\n",
    broken: ({ text }) => /\r\n[\da-f]+;[^\r\n]*/i.test(text),
  },
};
