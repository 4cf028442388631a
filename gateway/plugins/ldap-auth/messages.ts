/**
 * The messages of LDAP that a login needs: requests to bind and to start TLS, and their results (RFC 4511, in BER).
 *
 * No library is used: the client of ldapts 9.2.0 accepts a password if the response to the bind lacks its result code
 * or belongs to another kind of request, and it buffers messages of any length.
 */

export interface LdapResult {
  /** 0: success (RFC 4511 appendix A). */
  readonly code: number;
  /** The server's explanation, which is not for clients; often empty. */
  readonly diagnostic: string;
}

/** The result code for a wrong password or an unknown user. */
export const INVALID_CREDENTIALS = 49;

/** A request, and the tag of its response. */
export interface LdapRequest {
  encode(id: number): Buffer;
  readonly responseTag: number;
}

/** Maximum bytes of a message from the server. A result without the server's explanation has fewer than 100 bytes. */
const MAX_MESSAGE = 16_384;

const INTEGER = 0x02;
const OCTET_STRING = 0x04;
const ENUMERATED = 0x0a;
const SEQUENCE = 0x30;
/** The context-specific tag `[0]`, primitive: its contents are bytes, not elements. */
const CONTEXT_0 = 0x80;
const BIND_REQUEST = 0x60;
const BIND_RESPONSE = 0x61;
const EXTENDED_REQUEST = 0x77;
const EXTENDED_RESPONSE = 0x78;

const START_TLS = "1.3.6.1.4.1.1466.20037";

/** @param id From 1 to 127 */
const message = (id: number, operation: Buffer): Buffer =>
  element(SEQUENCE, element(INTEGER, Buffer.of(id)), operation);

/** A simple bind with version 3 of the protocol. */
export const bindRequest = (name: string, password: Buffer): LdapRequest => ({
  encode: (id) =>
    message(
      id,
      element(
        BIND_REQUEST,
        element(INTEGER, Buffer.of(3)),
        element(OCTET_STRING, Buffer.from(name)),
        element(CONTEXT_0, password),
      ),
    ),
  responseTag: BIND_RESPONSE,
});

/** The request to start TLS (RFC 4511 section 4.14). */
export const startTlsRequest: LdapRequest = {
  encode: (id) => message(id, element(EXTENDED_REQUEST, element(CONTEXT_0, Buffer.from(START_TLS)))),
  responseTag: EXTENDED_RESPONSE,
};

function element(tag: number, ...contents: readonly Buffer[]): Buffer {
  const length = contents.reduce((sum, each) => sum + each.length, 0);
  const head = length < 0x80 ? Buffer.of(tag, length) : Buffer.of(tag, 0x84, 0, 0, 0, 0);
  if (head.length > 2) head.writeUInt32BE(length, 2);
  return Buffer.concat([head, ...contents]);
}

/**
 * The length of the message with which the bytes begin; null: the bytes end before the end of its length field. Throws
 * if the bytes do not begin with a message, or if the message is too long.
 */
export function messageLength(bytes: Buffer): number | null {
  if (bytes.length > 0 && bytes[0] !== SEQUENCE) throw new Error("it is not an LDAP message");
  const head = headOf(bytes);
  if (head === null) return null;
  if (head.end > MAX_MESSAGE) throw new Error("the message is too long");
  return head.end;
}

/** Reads the result in a response. Throws if the message is not the complete response to the request. */
export function readResult(bytes: Buffer, id: number, { responseTag }: LdapRequest): LdapResult {
  const [contents] = readElement(bytes, SEQUENCE);
  const [number, operation] = readElement(contents, INTEGER);
  if (number.length !== 1 || number[0] !== id) throw new Error("it is not the response to the request");
  const [response] = readElement(operation, responseTag);
  const [code, afterCode] = readElement(response, ENUMERATED);
  if (code.length === 0 || code.length > 4) throw new Error("the result code is invalid");
  const [, afterName] = readElement(afterCode, OCTET_STRING);
  const [diagnostic] = readElement(afterName, OCTET_STRING);
  return { code: code.readIntBE(0, code.length), diagnostic: diagnostic.toString("utf8") };
}

/** The contents of the element with which the bytes begin, and the bytes after it. */
function readElement(bytes: Buffer, tag: number): [contents: Buffer, rest: Buffer] {
  const head = headOf(bytes);
  if (head === null || head.end > bytes.length) throw new Error("the message is incomplete");
  if (bytes[0] !== tag) throw new Error(`it has the element ${bytes[0]?.toString(16)} instead of ${tag.toString(16)}`);
  return [bytes.subarray(head.start, head.end), bytes.subarray(head.end)];
}

/**
 * Where the contents of the first element start and end (the end may be beyond the bytes); null: the bytes end before
 * the end of its length field.
 */
function headOf(bytes: Buffer): { readonly start: number; readonly end: number } | null {
  const first = bytes[1];
  if (first === undefined) return null;
  if (first < 0x80) return { start: 2, end: 2 + first };
  const count = first & 0x7f;
  if (count === 0 || count > 4) throw new Error("the length of an element is invalid");
  const start = 2 + count;
  return bytes.length < start ? null : { start, end: start + bytes.readUIntBE(2, count) };
}
