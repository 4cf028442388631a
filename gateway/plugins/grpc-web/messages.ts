/** The bodies of gRPC-Web (PROTOCOL-WEB in the documentation of gRPC). */

/** Marks the last frame of a response, which has the trailers. */
const TRAILERS = 0x80;
/** Bytes before the content of a frame: one for its type, four for its length. */
const FRAME_HEAD = 5;

const PADDING = 0x3d;
/** The value of each base64 character by its code; -1: the code is not a base64 character. */
const VALUES = new Int8Array(256).fill(-1);
for (const [value, character] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries()) {
  VALUES[character.charCodeAt(0)] = value;
}

/**
 * The bytes of a body in base64; null: it is not valid. Unlike in Node's decoder, more base64 may follow padding:
 * clients may encode messages one by one.
 */
export function decodedText(text: Buffer): Buffer | null {
  if (text.length % 4 !== 0) return null;
  const valueAt = (position: number): number => VALUES[text[position] ?? 0] ?? -1;
  const bytes = Buffer.allocUnsafe((text.length / 4) * 3);
  let length = 0;
  for (let at = 0; at < text.length; at += 4) {
    const padding = text[at + 3] !== PADDING ? 0 : text[at + 2] !== PADDING ? 1 : 2;
    const third = padding === 2 ? 0 : valueAt(at + 2);
    const fourth = padding > 0 ? 0 : valueAt(at + 3);
    // Negative if one of the values is -1.
    const bits = (valueAt(at) << 18) | (valueAt(at + 1) << 12) | (third << 6) | fourth;
    if (bits < 0) return null;
    bytes.writeUIntBE(bits, length, 3);
    length += 3 - padding;
  }
  return bytes.subarray(0, length);
}

/** The bytes in base64, padded, so that a client can decode each piece before the next one arrives. */
export const encodedText = (bytes: Buffer): Buffer => Buffer.from(bytes.toString("base64"), "latin1");

/**
 * The last frame of a response, with the status of the call first. If the trailers have no status, it is 2 (UNKNOWN).
 *
 * @param fields Trailers as a flat list: name, value, name, value
 */
export function trailerFrame(fields: readonly string[]): Buffer {
  const lines = new Map([
    ["grpc-status", ["grpc-status:2\r\n"]],
    ["grpc-message", ["grpc-message:\r\n"]],
  ]);
  const seen = new Set<string>();
  for (let at = 0; at < fields.length; at += 2) {
    const name = (fields[at] ?? "").toLowerCase();
    const line = `${name}:${fields[at + 1]}\r\n`;
    lines.set(name, seen.has(name) ? [...(lines.get(name) ?? []), line] : [line]);
    seen.add(name);
  }
  const content = Buffer.from([...lines.values()].flat().join(""), "latin1");
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUInt8(TRAILERS, 0);
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}
