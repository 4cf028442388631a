/** Converts Node's request to the pipeline's `RequestHead`. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { ClientBody } from "../client/client-body.ts";
import { type ConnectionPeer, peerOf } from "../client/open-connection.ts";
import type { TrafficCounters } from "../exchange/live-exchange.ts";
import type { RequestHead } from "../exchange/request.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { gatewayErrorInHead } from "./malformed-head.ts";

/** Fastify keeps the request target in `originalUrl` when `rewriteUrl` returns a different target. */
type Rewritten = IncomingMessage & { readonly originalUrl?: string };

/** One peer object per connection, which plugins may use as a key. Node's socket lacks the members of a peer. */
const peers = new WeakMap<Socket, ConnectionPeer>();

function cachedPeerOf(socket: Socket): ConnectionPeer {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const peer = peerOf(socket);
  peers.set(socket, peer);
  return peer;
}

export function headOf(incoming: Rewritten): RequestHead {
  const { headers, rawHeaders, socket } = incoming;
  const declared = headers["content-length"];
  const hasBody = headers["transfer-encoding"] !== undefined || (declared !== undefined && declared !== "0");
  const target = incoming.originalUrl ?? incoming.url ?? "";
  return {
    method: incoming.method ?? "",
    target,
    httpVersion: incoming.httpVersion,
    fault: gatewayErrorInHead(incoming, target),
    rawHeaders,
    peer: cachedPeerOf(socket),
    body: hasBody ? bodyOf(incoming, declared === undefined ? null : Number(declared)) : null,
    header(name) {
      const value = headers[name];
      return typeof value === "object" ? value.join(", ") : value;
    },
    headerValues: (name) => incoming.headersDistinct[name] ?? [],
  };
}

/** Reads a body from Node only as fast as it is consumed. */
function bodyOf(incoming: IncomingMessage, declared: number | null): ClientBody {
  let isRead = false;
  const collect = (chunk: Buffer) => {
    body.write(ByteView.of(chunk));
    body.flush();
    if (!body.wanted) incoming.pause();
  };
  const body = new ClientBody(declared, () => {
    if (!body.wanted) return;
    if (isRead) incoming.resume();
    else incoming.on("data", collect);
    isRead = true;
  });
  incoming
    .once("end", () => body.end(""))
    .once("close", () => {
      if (!body.ended) body.lose();
    });
  return body;
}

/** The value of a socket's `bytesRead` at which its next exchange begins. */
const readBefore = new WeakMap<Socket, number>();

/** Counts the bytes of one exchange. A connection carries several exchanges, one after another. */
export class SocketTraffic implements TrafficCounters {
  readonly #socket: Socket;
  readonly #readFrom: number;
  readonly #writtenFrom: number;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#readFrom = readBefore.get(socket) ?? 0;
    this.#writtenFrom = socket.bytesWritten;
  }

  get bytesIn(): number {
    return this.#socket.bytesRead - this.#readFrom;
  }

  get bytesOut(): number {
    return this.#socket.bytesWritten - this.#writtenFrom;
  }

  /** Called when the exchange ends: later bytes belong to the next exchange. */
  end(): void {
    readBefore.set(this.#socket, this.#socket.bytesRead);
  }
}
