/**
 * All uses of members of Node that it does not document. Each function says whether this version of Node has the
 * members, and its callers do without them if it has not: test/e2e/engine/without-internals.test.ts runs the suite of
 * engines in this way.
 */
import { type OnReadOpts, Socket } from "node:net";
import { createSecureContext, type SecureContext, type TLSSocket } from "node:tls";

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

/**
 * Sets what the option `onread` would have set, which Node offers only for sockets that connect. Must be called before
 * the first read.
 *
 * @param first The buffer of the first read. The member `buffer` of `onread` must be a function
 * @returns false: the socket is unchanged, and emits "data"
 */
export function setOnRead(socket: Socket, first: Buffer, { buffer, callback }: OnReadOpts): boolean {
  const handle: unknown = Reflect.get(socket, "_handle");
  if (readSymbols === null || !hasMethod(handle, "useUserBuffer")) return false;
  Reflect.set(socket, readSymbols.buffer, true);
  Reflect.set(socket, readSymbols.nextBuffer, buffer);
  Reflect.set(socket, readSymbols.callback, callback);
  handle.useUserBuffer(first);
  return true;
}

const handleOf = (context: SecureContext): unknown => Reflect.get(context, "context");

/** Whether `setSessionIdContext` works. If it does not, no TLS session may be resumed. */
export const separatesSessions: boolean = hasMethod(handleOf(createSecureContext()), "setSessionIdContext");

/**
 * Sessions that begin on the next TLS sockets of the context are resumed only under the same id. Node's option
 * `sessionIdContext` would need a context for each id.
 *
 * @param id At most 32 characters
 */
export function setSessionIdContext(context: SecureContext, id: string): void {
  const handle = handleOf(context);
  if (hasMethod(handle, "setSessionIdContext")) handle.setSessionIdContext(id);
}

/**
 * Gives a new TLS socket encrypted bytes, which were read from the socket below it. The bytes are copied.
 *
 * @returns false: the socket is unchanged, and takes the bytes if they are unshifted into the socket below it
 */
export function receiveEncrypted(socket: TLSSocket, bytes: Buffer): boolean {
  const handle: unknown = Reflect.get(socket, "_handle");
  if (!hasMethod(handle, "receive")) return false;
  handle.receive(bytes);
  return true;
}

function hasMethod<Name extends string>(
  value: unknown,
  name: Name,
): value is Readonly<Record<Name, (argument: unknown) => unknown>> {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "function";
}
