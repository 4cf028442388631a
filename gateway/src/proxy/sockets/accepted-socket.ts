/**
 * Read buffers for accepted sockets, which otherwise read into 64 kB that are allocated for every read. They need
 * internals of Node (node-internals.ts): if these differ, the socket stays unchanged and emits "data".
 */
import type { Socket } from "node:net";
import { setOnRead } from "./node-internals.ts";
import { ReadBuffer } from "./read-buffer.ts";

/**
 * Lets a socket read into a new read buffer. Must be called before the first read. Data that was unshifted into the
 * socket still arrives as "data" events.
 *
 * @returns null: all data arrives as "data" events
 */
export function attachReadBuffer(socket: Socket, { isTls }: { readonly isTls: boolean }): ReadBuffer | null {
  const inlet = new ReadBuffer({ isTls });
  return setOnRead(socket, inlet.first, inlet.onread) ? inlet : null;
}

/**
 * Limits each read to the size of the buffer that `buffer` returns, until another read buffer is attached. Must be
 * called before the first read.
 *
 * @returns false: all data arrives as "data" events
 */
export function readInto(socket: Socket, buffer: () => Buffer, onRead: (size: number) => void): boolean {
  const callback = (size: number) => {
    onRead(size);
    return true;
  };
  return setOnRead(socket, buffer(), { buffer, callback });
}

/** Emits "data" from now on, with copies that listeners may keep. */
export function emitAsData(inlet: ReadBuffer, socket: Socket): void {
  inlet.read = (view) => void socket.emit("data", view.keep());
}
