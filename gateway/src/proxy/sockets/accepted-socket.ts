/**
 * Read buffers for accepted sockets. Node offers `onread` only for sockets that connect; an accepted socket reads into
 * 64 kB that are allocated for every read. The functions of this file set what `onread` would have set. They rely
 * on two internal members and three symbols of Node: if any of these differs, the socket stays unchanged and emits
 * "data".
 */
import { type OnReadOpts, Socket } from "node:net";
import { ReadBuffer } from "./read-buffer.ts";

/** The symbols under which a socket stores its `onread` options. */
interface ReadSymbols {
  readonly buffer: symbol;
  readonly nextBuffer: symbol;
  readonly callback: symbol;
}

const readSymbols = findReadSymbols();

/** Finds the symbols by their values, in sockets that are never connected. Null: this Node has no such symbols. */
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
 * Lets a socket read into a new read buffer. Must be called before the first read. Data that was unshifted into the
 * socket still arrives as "data" events.
 *
 * @returns null: all data arrives as "data" events
 */
export function attachReadBuffer(socket: Socket, { isTls }: { readonly isTls: boolean }): ReadBuffer | null {
  const handle: unknown = Reflect.get(socket, "_handle");
  if (readSymbols === null || !isHandle(handle)) return null;
  const inlet = new ReadBuffer({ isTls });
  Reflect.set(socket, readSymbols.buffer, true);
  Reflect.set(socket, readSymbols.nextBuffer, inlet.onread.buffer);
  Reflect.set(socket, readSymbols.callback, inlet.onread.callback);
  handle.useUserBuffer(inlet.first);
  return inlet;
}

/**
 * Limits each read to the size of the buffer that `buffer` returns, until another read buffer is attached. Must be
 * called before the first read.
 *
 * @returns false: all data arrives as "data" events
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

/** Emits "data" from now on, with copies that listeners may keep. */
export function emitAsData(inlet: ReadBuffer, socket: Socket): void {
  inlet.read = (view) => void socket.emit("data", view.keep());
}
