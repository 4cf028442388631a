/**
 * Where accepted sockets read to. Node lets a socket that connects say so (`onread`), and one that it has accepted not:
 * that one reads into 64 kB made for every read. What the option would have set is set on the socket itself. This is no
 * interface of Node's, but two of its members and three of its symbols: where any of them is not as it was, the socket
 * goes on as Node made it, and tells by "data".
 */
import { type OnReadOpts, Socket } from "node:net";
import { ReadBuffer } from "./read-buffer.ts";

/** The symbols under which a socket keeps what it was given. */
interface ReadSymbols {
  readonly buffer: symbol;
  readonly nextBuffer: symbol;
  readonly callback: symbol;
}

const readSymbols = findReadSymbols();

/** Found by what stands there, in two sockets that are never connected. */
function findReadSymbols(): ReadSymbols | null {
  const fixed = { buffer: new Uint8Array(1), callback: () => true };
  const changing = { buffer: () => fixed.buffer, callback: fixed.callback };
  const buffer = symbolHolding(fixed, fixed.buffer);
  const callback = symbolHolding(fixed, fixed.callback);
  const nextBuffer = symbolHolding(changing, changing.buffer);
  return buffer && callback && nextBuffer ? { buffer, callback, nextBuffer } : null;
}

function symbolHolding(onread: OnReadOpts, value: unknown): symbol | undefined {
  const socket = new Socket({ onread });
  return Object.getOwnPropertySymbols(socket).find((symbol) => Reflect.get(socket, symbol) === value);
}

interface Handle {
  useUserBuffer(buffer: Uint8Array): void;
}

const isHandle = (handle: unknown): handle is Handle =>
  typeof handle === "object" && handle !== null && typeof Reflect.get(handle, "useUserBuffer") === "function";

/**
 * To be asked before anything has been read. What was put back into the socket still comes by "data".
 *
 * @returns null: everything comes by "data"
 */
export function attachReadBuffer(socket: Socket): ReadBuffer | null {
  const handle: unknown = Reflect.get(socket, "_handle");
  if (readSymbols === null || !isHandle(handle)) return null;
  const inlet = new ReadBuffer();
  Reflect.set(socket, readSymbols.buffer, true);
  Reflect.set(socket, readSymbols.nextBuffer, inlet.onread.buffer);
  Reflect.set(socket, readSymbols.callback, inlet.onread.callback);
  handle.useUserBuffer(inlet.first);
  return inlet;
}

/**
 * Reads no more than what `buffer` gives room for, each time, until somebody else says where to read to. To be asked before
 * anything has been read.
 *
 * @returns false: everything comes by "data"
 */
export function readInto(socket: Socket, buffer: () => Buffer, onRead: (size: number) => void): boolean {
  const handle: unknown = Reflect.get(socket, "_handle");
  if (readSymbols === null || !isHandle(handle)) return false;
  Reflect.set(socket, readSymbols.buffer, true);
  Reflect.set(socket, readSymbols.nextBuffer, buffer);
  Reflect.set(socket, readSymbols.callback, (size: number) => {
    onRead(size);
    return true;
  });
  handle.useUserBuffer(buffer());
  return true;
}

/** Emits "data" from now on, for readers that do not know of the read buffer and may keep the chunks. */
export function emitAsData(inlet: ReadBuffer, socket: Socket): void {
  inlet.read = (slab, size) => void socket.emit("data", Buffer.from(slab.bytes.subarray(0, size)));
}
