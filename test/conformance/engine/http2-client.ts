/** An HTTP/2 client of the proxy and HTTP/2 upstreams, which expose everything that they receive. */
import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import type { TestContext } from "node:test";
import { listen, portOf } from "./proxy-rig.ts";

export interface Http2Response {
  /** 0: no response headers arrived. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly interims: readonly IncomingHttpHeaders[];
  readonly trailers: IncomingHttpHeaders | null;
  readonly body: Buffer;
  /** True when the header frame ended the stream. */
  readonly headOnly: boolean;
  /** The stream's error code; 0: no error. */
  readonly rstCode: number;
}

/** A connection without TLS (prior knowledge); destroyed when the test ends. */
export const dialHttp2 = (test: TestContext, port: number): ClientHttp2Session =>
  opened(test, `http://127.0.0.1:${port}`, { maxSessionMemory: 100 });

/** A connection over TLS; ALPN selects HTTP/2. */
export const dialHttp2Tls = (test: TestContext, port: number, options?: SecureClientSessionOptions) =>
  opened(test, `https://127.0.0.1:${port}`, { rejectUnauthorized: false, servername: "a.example", ...options });

function opened(test: TestContext, origin: string, options?: SecureClientSessionOptions): ClientHttp2Session {
  const session = connect(origin, { ...options });
  session.on("error", () => {});
  test.after(() => session.destroy());
  return session;
}

export interface Http2Request {
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  readonly trailers?: OutgoingHttpHeaders;
}

/** Sends one request, with the path `/` unless the headers contain another; resolves when its stream has closed. */
export function requestHttp2(
  session: ClientHttp2Session,
  { headers, body, trailers }: Http2Request = {},
): Promise<Http2Response> {
  const stream = session.request(
    { ":path": "/", ...headers },
    {
      endStream: body === undefined,
      waitForTrailers: trailers !== undefined,
    },
  );
  stream.once("wantTrailers", () => stream.sendTrailers(trailers ?? {}));
  if (body !== undefined) stream.end(body);
  return responseOfStream(stream);
}

export async function responseOfStream(stream: ClientHttp2Stream): Promise<Http2Response> {
  const chunks: Buffer[] = [];
  const interims: IncomingHttpHeaders[] = [];
  let head: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders | null = null;
  let headOnly = false;
  stream.on("headers", (interim) => interims.push(interim));
  stream.on("response", (headers, flags) => {
    head = headers;
    headOnly = (flags & 1) !== 0;
  });
  stream.on("trailers", (came) => {
    trailers = came;
  });
  stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => {});
  if (!stream.destroyed) await new Promise((resolve) => stream.once("close", resolve));
  return {
    status: Number(head[":status"] ?? 0),
    headers: head,
    interims,
    trailers,
    body: Buffer.concat(chunks),
    headOnly,
    rstCode: stream.rstCode ?? 0,
  };
}

export type ServerStreamHandler = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flat: readonly string[],
) => void;

/** Starts an HTTP/2 upstream without TLS; resolves to its port. */
export async function startHttp2Upstream(
  test: TestContext,
  handler: ServerStreamHandler,
  options: ServerOptions = {},
): Promise<number> {
  const server = createServer(options);
  server.on("stream", (stream: ServerHttp2Stream, headers, _flags, flat) => {
    stream.on("error", () => {});
    handler(stream, headers, flat as never);
  });
  server.on("session", (session) => session.on("error", () => {}));
  return portOf(await listen(test, server));
}

/** A gRPC message: uncompressed, with its length prefix. */
export function message(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

export const grpcHeaders: OutgoingHttpHeaders = {
  ":method": "POST",
  ":path": "/hello.Greeter/Say",
  "content-type": "application/grpc",
  te: "trailers",
};

/** Everything that a stream receives until the peer ends its side. */
export async function receivedBody(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(stream, "end");
  return Buffer.concat(chunks);
}
