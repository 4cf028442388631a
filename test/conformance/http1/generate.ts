/** Generates messages by the grammar of RFC 9112, with common violations. */
import fc from "fast-check";
import { mutatedText } from "./mutate.ts";

/** `right` with this weight, one of `others` with a weight of 1. */
const mostly = (weight: number, right: string, ...others: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof({ weight, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const printable = fc.string({ unit: fc.constantFrom(..."abz09AZ-_.~!,;:/?=%&+@[]\"' \t\xe9\xff"), maxLength: 12 });

const lineEnd = mostly(400, "\r\n", "\n", "\r", "\ra", "\r\r\n", "\n\r", "\r\n ", " \r\n", "");
const space = mostly(200, " ", "  ", "\t", "", "\r\n", "\x0b", "\xa0");

const requestMethod = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.constantFrom("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH", "QUERY", "M-SEARCH"),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("CONNECT", "CONNECT", "get", "Get", "FOO", "PRI", "SOURCE", "G@T", "G(T", ""),
  },
);

const target = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("/", "/a", "/a/b?c=d", "/?", "//a/../b", "/%2e%2f%zz", "/a|b{c}", "/a:80") },
  { weight: 3, arbitrary: fc.constantFrom("http://a/", "http://a", "HTTP://A:80/x?y", "https://a:443/", "http://a?b") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...["*", "a:80", "a", "[::1]:80", "a:", "http://b/", "http://u@a/", "http:///", "http:/a", "ftp://a/", "http://"],
      ...["/#a", "/\xe9", "/a\\b", "?a", "", "a:80/", "http://a:99999/", "*a", "#", "//", "http://[::1]/"],
    ),
  },
  { weight: 1, arbitrary: printable.map((text) => `/${text}`) },
);

const version = mostly(
  40,
  "HTTP/1.1",
  ...[
    "HTTP/1.0",
    "HTTP/1.0",
    "HTTP/1.0",
    "HTTP/1.2",
    "HTTP/2.0",
    "HTTP/0.9",
    "http/1.1",
    "HTTP/1.10",
    "HTTP/1",
    "HTTP/1,1",
  ],
  ...["HTTP/01.1", "ICE/1.0", "RTSP/1.0", ""],
);

const host = mostly(
  30,
  "a",
  ...[
    "A",
    "a:80",
    "b",
    "a:",
    "",
    "a b",
    "a/b",
    "u@a",
    "[::1]",
    "[::1",
    "a:b",
    "a:99999",
    "a,b",
    "%41",
    "%4",
    "a\x00",
    ":80",
  ],
);

const length = mostly(
  6,
  "3",
  ...[
    "0",
    "5",
    "1",
    "03",
    "000",
    "+3",
    "-1",
    "3 ",
    "3,3",
    "3, 3",
    "0x3",
    "3a",
    "",
    "99999999999999999999",
    "1e1",
    "3.0",
    "3;",
  ],
);

const coding = mostly(
  12,
  "chunked",
  ...[
    "Chunked",
    "gzip, chunked",
    "chunked, gzip",
    "chunked, chunked",
    "identity",
    "gzip",
    "xchunked",
    "chunked;a",
    "\tchunked",
  ],
  ...["", ",chunked", "chunked,", "chunke", "chunked chunked", "\x0bchunked", '"chunked"', "chunked\t"],
);

const connection = fc.constantFrom(
  ...["keep-alive", "close", "Close", "Keep-Alive", "upgrade", "close, keep-alive", "X-A", "te, close", "close,", ""],
  ...["keep-alive, Upgrade", "content-length", "host", "closed", "close x", ",,close", "x, keep-alive"],
);

/** The name and the value of a header line. */
const header: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  { weight: 30, arbitrary: pair(["X-A", "x-b", "Accept", "User-Agent", "_x", "X.Y~Z", "0"], printable) },
  { weight: 8, arbitrary: pair(["Connection", "connection", "Connection"], connection) },
  { weight: 1, arbitrary: pair(["Content-Length", "content-length", "CONTENT-LENGTH"], length) },
  { weight: 1, arbitrary: pair(["Transfer-Encoding", "transfer-encoding"], coding) },
  { weight: 1, arbitrary: pair(["Host", "host"], host) },
  {
    weight: 1,
    arbitrary: pair(["Upgrade", "Upgrade", "Expect"], fc.constantFrom("h2c", "websocket", "100-continue", "")),
  },
  {
    weight: 4,
    arbitrary: pair(["Set-Cookie", "Cookie", "TE", "Trailer", "Keep-Alive", "Proxy-Connection"], printable),
  },
  {
    weight: 1,
    arbitrary: pair(
      [
        "Content_Length",
        "Content-Length ",
        "Transfer-Encoding\t",
        "Content-Lengths",
        "X A",
        "X(",
        "X\x00",
        "\xe9",
        "",
        " X",
      ],
      fc.constantFrom("3", "chunked", "x", ""),
    ),
  },
);

function pair(names: readonly string[], value: fc.Arbitrary<string>): fc.Arbitrary<readonly [string, string]> {
  return fc.tuple(fc.constantFrom(...names), value);
}

const colon = mostly(60, ": ", ":", ":\t", ":   ", " : ", " ", ":: ", "");
const behindValue = mostly(60, "", " ", "\t ", "\x00", "\x7f", "\x0b");

const headerLine = fc
  .tuple(header, colon, behindValue, lineEnd)
  .map(([[name, value], between, behind, end]) => `${name}${between}${value}${behind}${end}`);

const chunkSize = mostly(
  40,
  "",
  ...["0", "00", " ", "0x", "+", "-", "g", "\t", "fffffffffffffff", "00000000000000000"],
);
const chunkExtension = mostly(
  20,
  "",
  ...[
    ";a",
    ";a=b",
    ';a="b"',
    ';a="b\\""',
    ";",
    ";;",
    "; a",
    " ;a",
    ";a=",
    ";a b",
    ";a=b;c",
    " ",
    "\t",
    ';a="',
    ";\xe9",
    ";a\x00",
  ],
);

const chunk = fc
  .tuple(chunkSize, fc.string({ unit: fc.constantFrom("a", "\n", "\r", "0", "\xff"), maxLength: 18 }), chunkExtension)
  .chain(([before, data, extension]) =>
    fc
      .tuple(lineEnd, lineEnd)
      .map(([sizeEnd, dataEnd]) => `${before}${data.length.toString(16)}${extension}${sizeEnd}${data}${dataEnd}`),
  );

const trailers = fc.oneof(
  { weight: 6, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: fc.array(headerLine, { maxLength: 2 }).map((lines) => lines.join("")) },
);

const chunkedBody = fc
  .tuple(fc.array(chunk, { maxLength: 3 }), mostly(30, "0", "00", "", "-0", "0;a"), lineEnd, trailers, lineEnd)
  .map(([chunks, last, end, fields, empty]) => `${chunks.join("")}${last}${end}${fields}${empty}`);

/** A message's framing header and a body; they match in most cases. */
const framingAndBody: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(["", ""] as const) },
  { weight: 2, arbitrary: length.map((value) => [`Content-Length: ${value}\r\n`, "abc"] as const) },
  {
    weight: 3,
    arbitrary: fc.tuple(coding, chunkedBody).map(([value, body]) => [`Transfer-Encoding: ${value}\r\n`, body] as const),
  },
);

const hostLine = fc.oneof(
  { weight: 30, arbitrary: fc.constant("Host: a\r\n") },
  { weight: 4, arbitrary: host.map((value) => `Host: ${value}\r\n`) },
  { weight: 1, arbitrary: fc.constant("") },
);

const requestLine = fc
  .tuple(mostly(30, "", "\r\n", "\r\n\r\n", "\n", " "), requestMethod, space, target, space, version, lineEnd)
  .map((parts) => parts.join(""));

const plainRequestLine = fc.constantFrom("GET / HTTP/1.1\r\n", "POST /a?b HTTP/1.1\r\n", "PUT / HTTP/1.0\r\n");

const request = fc
  .tuple(
    fc.oneof({ weight: 2, arbitrary: plainRequestLine }, { weight: 1, arbitrary: requestLine }),
    hostLine,
    fc.array(headerLine, { maxLength: 3 }),
    framingAndBody,
    lineEnd,
  )
  .map(([line, named, lines, [framing, body], empty]) => `${line}${named}${lines.join("")}${framing}${empty}${body}`);

const reason = mostly(6, " OK", "", " ", " Not Found", " \xe9", "  x", "OK", "\tOK", " a\x00b", " a\x7f");
const statusLine = fc
  .tuple(
    version,
    space,
    mostly(
      12,
      "200",
      "100",
      "101",
      "103",
      "204",
      "304",
      "404",
      "500",
      "999",
      "099",
      "000",
      "20",
      "2000",
      "2x0",
      "",
      "-20",
    ),
    reason,
    lineEnd,
  )
  .map((parts) => parts.join(""));

const response = fc
  .tuple(
    fc.oneof({ weight: 2, arbitrary: fc.constant("HTTP/1.1 200 OK\r\n") }, { weight: 1, arbitrary: statusLine }),
    fc.array(headerLine, { maxLength: 3 }),
    framingAndBody,
    lineEnd,
  )
  .map(([line, lines, [framing, body], empty]) => `${line}${lines.join("")}${framing}${empty}${body}`);

/** The bytes of a connection, in Latin-1: one to three messages. A third of these texts are mutated. */
const several = (message: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  mutatedText(fc.array(message, { minLength: 1, maxLength: 3 }).map((messages) => messages.join("")));

export const requestStreams = several(request);
export const responses = several(response);
