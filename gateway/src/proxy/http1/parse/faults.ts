/** Reasons to refuse a message. Each has a negative number, which a scan can return without allocating an object. */

export interface ParseFault {
  /**
   * Status of the response to the client, whose connection then closes. For a fault in an upstream's response, the
   * client receives a 502 instead.
   */
  readonly status: 400 | 414 | 431 | 501 | 505;
  /** Reason for the log. */
  readonly reason: string;
}

/** All faults, in the order of their numbers: -1, -2 and so on. */
const faults = {
  method: { status: 400, reason: "the method is not a token" },
  requestLine: { status: 400, reason: "the request line does not consist of method, target and version" },
  target: {
    status: 400,
    reason: "the request target holds an invalid character, or its form does not match the method",
  },
  lineTooLong: { status: 414, reason: "the request line is too long" },
  versionSyntax: { status: 400, reason: "the version is not of the form HTTP/n.n" },
  version: { status: 505, reason: "the version is neither HTTP/1.1 nor HTTP/1.0" },
  bareLf: { status: 400, reason: "a line feed has no carriage return before it" },
  bareCr: { status: 400, reason: "a carriage return has no line feed after it" },
  fieldName: { status: 400, reason: "a header line does not begin with a name and a colon" },
  spaceBeforeColon: { status: 400, reason: "there is whitespace between a header's name and the colon" },
  obsoleteFold: { status: 400, reason: "a header line begins with whitespace" },
  fieldValue: { status: 400, reason: "a header's value holds a control character" },
  tooManyFields: { status: 431, reason: "there are too many headers" },
  fieldsTooLarge: { status: 431, reason: "the headers are too large" },
  hostMissing: { status: 400, reason: "the Host header is missing" },
  hostRepeated: { status: 400, reason: "there is more than one Host header" },
  hostSyntax: { status: 400, reason: "the host is not a name or an address with an optional port" },
  hostContradicts: { status: 400, reason: "the request target names a host other than the Host header" },
  lengthRepeated: { status: 400, reason: "there is more than one Content-Length" },
  lengthSyntax: { status: 400, reason: "Content-Length is not a plain number" },
  lengthAndCoding: { status: 400, reason: "both Content-Length and Transfer-Encoding are present" },
  codingSyntax: { status: 400, reason: "Transfer-Encoding does not end with chunked, or has it more than once" },
  codingUnknown: { status: 501, reason: "Transfer-Encoding has a coding other than chunked" },
  codingVersion: { status: 400, reason: "HTTP/1.0 has no Transfer-Encoding" },
  connection: { status: 400, reason: "Connection names too many options" },
  statusLine: { status: 400, reason: "the status line does not consist of version, three digits and a reason" },
  chunkSize: { status: 400, reason: "a chunk's size is not a plain hexadecimal number" },
  chunkExtension: { status: 400, reason: "a chunk's extension is malformed" },
  chunkExtensionTooLong: { status: 400, reason: "the chunk extensions are too long" },
  chunkEnd: { status: 400, reason: "a chunk is longer than its size, or has no line end" },
  trailer: { status: 400, reason: "Content-Length or Transfer-Encoding is in the trailers" },
  switching: { status: 400, reason: "the 101 response is not HTTP/1.1, or does not name a protocol" },
  connectBody: { status: 400, reason: "CONNECT has a body" },
  interimBody: { status: 400, reason: "an interim response declares a body" },
} satisfies Record<string, ParseFault>;

type FaultName = keyof typeof faults;

const byNumber: readonly ParseFault[] = Object.values(faults);

/** By the name of a fault: the negative number that a scan returns for it. */
export const fault = Object.fromEntries(Object.keys(faults).map((name, at) => [name, -at - 1])) as Readonly<
  Record<FaultName, number>
>;

/** The fault that a negative result stands for. */
export function parseErrorOf(result: number): ParseFault {
  const found = byNumber[-result - 1];
  if (found === undefined) throw new RangeError(`${result} is not the number of a fault`);
  return found;
}
