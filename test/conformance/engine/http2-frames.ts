/**
 * HTTP/2 frames written by hand, for input that HTTP/2 libraries do not send (RFC 9113 section 4.1, RFC 7541 section
 * 6.2.2).
 */
import { createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { dial } from "./client.ts";
import { listen, portOf } from "./proxy-rig.ts";

export const frame = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const frameFlags = { endStream: 1, endHeaders: 4 } as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function frameBytes(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header block of literal fields without compression or indexing. */
export function block(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]));
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  return Buffer.concat([integer(bytes.length), bytes]);
}

/** An integer with a prefix of seven bits (RFC 7541 section 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** The fields of a minimal request. */
export const plainRequest: readonly (readonly [string, string])[] = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/"],
  [":authority", "a"],
];

export interface FrameClient {
  readonly socket: Socket;
  /** The frames received so far. */
  readonly frames: readonly Frame[];
  send(...frames: readonly Buffer[]): void;
  /** The first matching frame, which may have arrived already; rejects when the connection closes first. */
  until(fits: (frame: Frame) => boolean): Promise<Frame>;
  readonly closed: Promise<void>;
}

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** Opens a connection and sends the preface and empty settings. */
export async function dialFrames(test: TestContext, port: number): Promise<FrameClient> {
  const socket = await dial(test, port);
  const client = frameClient(socket);
  socket.write(Buffer.concat([PREFACE, frameBytes(frame.settings, 0, 0)]));
  return client;
}

/** Starts an upstream that passes each connection to `serve`; returns its port. */
export async function startFrameUpstream(test: TestContext, serve: (client: FrameClient) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    serve(frameClient(socket, PREFACE.length));
  });
  return portOf(await listen(test, server));
}

/** @param skipped Bytes before the first frame */
function frameClient(socket: Socket, skipped = 0): FrameClient {
  const frames: Frame[] = [];
  const watchers = new Set<() => void>();
  let bytes = Buffer.alloc(0);
  let left = skipped;
  let isClosed = false;
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk.subarray(left)]);
    left = Math.max(left - chunk.length, 0);
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const end = 9 + bytes.readUIntBE(0, 3);
      frames.push({
        ...{ type: bytes[3] ?? 0, flags: bytes[4] ?? 0, stream: bytes.readUInt32BE(5) & 0x7fffffff },
        payload: bytes.subarray(9, end),
      });
      bytes = bytes.subarray(end);
    }
    for (const watcher of watchers) watcher();
  });
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      isClosed = true;
      resolve();
      for (const watcher of watchers) watcher();
    });
  });
  return {
    socket,
    frames,
    closed,
    send: (...sent) => void socket.write(Buffer.concat(sent)),
    until: (fits) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = frames.find(fits);
          if (found === undefined && !isClosed) return;
          watchers.delete(look);
          if (found !== undefined) resolve(found);
          else reject(new Error(`closed after ${JSON.stringify(frames.map(({ type, stream }) => [type, stream]))}`));
        };
        watchers.add(look);
        look();
      }),
  };
}
