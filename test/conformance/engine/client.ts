/** A client for tests of the proxy. It exposes the raw response: the case of names, repeated headers, and trailers. */
import { type IncomingMessage, type RequestListener, request } from "node:http";
import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  /** A flat list of names and values, or values by name. */
  readonly headers?: readonly string[] | Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly trailers: IncomingMessage["trailers"];
  readonly body: string;
  /** False when the connection broke before the end of the body. */
  readonly complete: boolean;
}

/** Sends one request on a connection of its own; returns the response with its body. */
export async function sendRequest(
  port: number,
  { method = "GET", path = "/", headers, body }: Sent = {},
): Promise<Received> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { host: "127.0.0.1", port, method, path, agent: false, headers: headers as never };
    request(options, resolve).on("error", reject).end(body);
  });
  return received(response);
}

export async function received(response: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise<void>((resolve) => response.on("error", () => {}).once("close", resolve));
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    trailers: response.trailers,
    body: Buffer.concat(chunks).toString(),
    complete: response.complete,
  };
}

/**
 * Writes raw bytes and resolves to everything received until the other side closes.
 *
 * @param from The address from which to connect
 */
export async function sendRaw(test: TestContext, port: number, text: string, from = "127.0.0.1"): Promise<string> {
  const socket = await dial(test, port, from);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk)).write(text, "latin1");
  if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve));
  return Buffer.concat(chunks).toString("latin1");
}

/** A plain TCP connection; destroyed when the test ends. It may have been reset before the test sees it open. */
export async function dial(test: TestContext, port: number, from = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  socket.on("error", () => {});
  test.after(() => socket.destroy());
  await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
  return socket;
}

/** Resolves to everything received since the call, once this contains `text`; rejects when the socket closes first. */
export function receiveUntil(socket: Socket, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let all = "";
    // A closed socket does not emit `close` again.
    if (socket.closed) reject(new Error("the socket is already closed"));
    const onData = (chunk: Buffer) => {
      all += chunk.toString("latin1");
      if (!all.includes(text)) return;
      socket.off("data", onData);
      resolve(all);
    };
    socket.on("data", onData).once("close", () => reject(new Error(`the socket closed after ${JSON.stringify(all)}`)));
  });
}

export interface Signal<Value> {
  readonly seen: Promise<Value>;
  fire(value: Value): void;
}

/** A promise (`seen`) that `fire` resolves. */
export function signal<Value = void>(): Signal<Value> {
  const { promise, resolve } = Promise.withResolvers<Value>();
  return { seen: promise, fire: resolve };
}

/** An upstream that sends `total` bytes, and fires with the bytes written when it is blocked for 300 ms, or at the end. */
export const writingUntilBlocked =
  (total: number, blocked: Signal<number>): RequestListener =>
  (_request, response) => {
    const piece = Buffer.alloc(65_536, "a");
    let written = 0;
    let idle: NodeJS.Timeout | undefined;
    const fill = () => {
      clearTimeout(idle);
      while (written < total) {
        written += piece.length;
        if (response.write(piece)) continue;
        idle = setTimeout(() => blocked.fire(written), 300);
        return;
      }
      blocked.fire(written);
      response.end();
    };
    response.on("drain", fill);
    fill();
  };
