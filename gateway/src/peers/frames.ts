/** Messages on a connection between peers: the length in four bytes, big-endian, and then JSON. */

/** Maximum bytes of a message. A part of a report has 500 counters, each with an account of every node. */
export const MAX_PEER_MESSAGE = 16 * 1024 * 1024;

const LENGTH_BYTES = 4;

export function frameOf(message: object): Buffer {
  const text = JSON.stringify(message);
  const bytes = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + bytes);
  frame.writeUInt32BE(bytes);
  frame.write(text, LENGTH_BYTES);
  return frame;
}

/** Reads messages from the pieces of a connection. */
export class PeerFrameReader {
  #pieces: Buffer[] = [];
  #bytes = 0;

  /**
   * The messages that are complete with this piece, parsed but not validated.
   *
   * @throws when a message is too long or not JSON; nothing can be read any more.
   */
  read(piece: Buffer): readonly unknown[] {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    const messages: unknown[] = [];
    for (let length = this.#nextLength(); length !== undefined && this.#bytes >= length; length = this.#nextLength()) {
      const all = this.#joined();
      messages.push(JSON.parse(all.toString("utf8", LENGTH_BYTES, length)));
      this.#pieces = [all.subarray(length)];
      this.#bytes -= length;
    }
    return messages;
  }

  /** Bytes of the next message with its length; undefined: its length has not arrived. */
  #nextLength(): number | undefined {
    if (this.#bytes < LENGTH_BYTES) return undefined;
    const [first] = this.#pieces;
    const bytes = (first !== undefined && first.length >= LENGTH_BYTES ? first : this.#joined()).readUInt32BE();
    if (bytes > MAX_PEER_MESSAGE) throw new Error(`a message has ${bytes} bytes, more than ${MAX_PEER_MESSAGE}`);
    return LENGTH_BYTES + bytes;
  }

  #joined(): Buffer {
    const [only] = this.#pieces;
    if (this.#pieces.length === 1 && only !== undefined) return only;
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [all];
    return all;
  }
}
