/**
 * Reads the server name and the protocols from a TLS ClientHello (RFC 8446 section 4.1.2, RFC 6066 section 3, RFC 7301).
 */

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
const ALPN = 16;
/** Header bytes of a record. */
const RECORD_HEAD = 5;
/** Header bytes of a handshake message. */
const MESSAGE_HEAD = 4;
/** Bytes of version and random. */
const FIXED = 34;
/** Protocols that are read. A ClientHello could contain thousands of them, and clients offer a few. */
const MAX_PROTOCOLS = 16;

export interface ClientHello {
  /** Null: no server name, or not a ClientHello (the handshake fails later). */
  readonly serverName: string | null;
  /** The first 16 protocols that the client offers by ALPN; empty: none, or they cannot be read (the handshake fails later). */
  readonly protocols: readonly string[];
}

const NAMELESS: ClientHello = { serverName: null, protocols: [] };

/** Incremental: a client may send one byte at a time, each in a record of its own. */
export class ClientHelloReader {
  /** Offset of the next record. */
  #at = 0;
  /** Offsets of the start and the end of the content of each record. */
  readonly #contents: number[] = [];
  #size = 0;
  /** Bytes of the message; 0: not known yet. */
  #length = 0;

  /**
   * @param bytes All bytes received so far. They are not kept
   * @returns null: the message is incomplete
   */
  read(bytes: Buffer): ClientHello | null {
    for (;;) {
      const at = this.#at;
      if (bytes.length > at && bytes[at] !== HANDSHAKE) return NAMELESS;
      if (bytes.length < at + RECORD_HEAD) return null;
      const end = at + RECORD_HEAD + bytes.readUInt16BE(at + 3);
      if (end === at + RECORD_HEAD) return NAMELESS;
      if (bytes.length < end) return null;
      this.#at = end;
      this.#contents.push(at + RECORD_HEAD, end);
      this.#size += end - at - RECORD_HEAD;
      if (this.#length === 0 && this.#size >= MESSAGE_HEAD) {
        const head = this.#contentOf(bytes);
        if (head[0] !== CLIENT_HELLO) return NAMELESS;
        this.#length = MESSAGE_HEAD + head.readUIntBE(1, 3);
      }
      if (this.#length > 0 && this.#size >= this.#length) {
        return helloIn(this.#contentOf(bytes).subarray(MESSAGE_HEAD, this.#length));
      }
    }
  }

  /** The content of the records so far. Usually there is one record, whose content is not copied. */
  #contentOf(bytes: Buffer): Buffer {
    const [start, end, ...others] = this.#contents;
    if (others.length === 0) return bytes.subarray(start, end);
    const pieces: Buffer[] = [];
    for (let index = 0; index < this.#contents.length; index += 2)
      pieces.push(bytes.subarray(this.#contents[index], this.#contents[index + 1]));
    return Buffer.concat(pieces);
  }
}

function helloIn(message: Buffer): ClientHello {
  try {
    return { serverName: serverNameIn(message), protocols: protocolsIn(message) };
  } catch (error) {
    // The message is truncated.
    if (error instanceof RangeError) return NAMELESS;
    throw error;
  }
}

/** @throws RangeError when the message ends too early. */
function serverNameIn(message: Buffer): string | null {
  const list = extensionIn(message, SERVER_NAME);
  return list === null ? null : hostNameIn(list);
}

/**
 * The content of an extension; null: the message does not have it.
 *
 * @throws RangeError when the message ends too early.
 */
function extensionIn(message: Buffer, wanted: number): Buffer | null {
  let at = FIXED;
  at += 1 + message.readUInt8(at);
  at += 2 + message.readUInt16BE(at);
  at += 1 + message.readUInt8(at);
  if (at >= message.length) return null;
  const end = at + 2 + message.readUInt16BE(at);
  for (at += 2; at < end; ) {
    const [type, length] = [message.readUInt16BE(at), message.readUInt16BE(at + 2)];
    if (type === wanted) return message.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
  return null;
}

function protocolsIn(message: Buffer): readonly string[] {
  try {
    const list = extensionIn(message, ALPN);
    if (list === null) return NAMELESS.protocols;
    const protocols: string[] = [];
    for (let at = 2; at < list.length && protocols.length < MAX_PROTOCOLS; at += 1 + list.readUInt8(at))
      protocols.push(list.toString("latin1", at + 1, at + 1 + list.readUInt8(at)));
    return protocols;
  } catch (error) {
    // The extensions are truncated.
    if (error instanceof RangeError) return NAMELESS.protocols;
    throw error;
  }
}

function hostNameIn(list: Buffer): string | null {
  if (list.readUInt8(2) !== HOST_NAME) return null;
  const length = list.readUInt16BE(3);
  return length > 0 ? list.toString("latin1", 5, 5 + length) : null;
}
