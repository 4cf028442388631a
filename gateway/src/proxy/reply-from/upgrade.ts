/** WebSocket upgrades: Node hands over the socket, and an exchange of the http1 engine handles the request. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { Http1Exchange, type Http1ExchangeContext } from "../http1/http1-exchange.ts";
import { joinSockets } from "../http1/tunnel.ts";
import type { ClientMemory, MemoryAccount } from "../listener/client-memory.ts";
import { WriteQueue } from "../sockets/write-queue.ts";
import { headOf, SocketTraffic } from "./head.ts";
import { writeRejection } from "./node-response.ts";

export interface UpgradeContext extends Http1ExchangeContext {
  readonly memory: ClientMemory;
  /** Tunnels, and connections about to become tunnels, which Node's server no longer tracks. */
  readonly tunnels: Set<Duplex>;
}

/**
 * Whether a request asks for a WebSocket in a form that the gateway serves. Other upgrades (h2c), upgrades in HTTP/1.0
 * and upgrades with a body are ignored, as if the client had not asked (RFC 9110 section 7.8): bytes after a body could
 * be read as frames, and frames as a request.
 */
export const wantsWebSocket = ({ method, headers, httpVersion }: IncomingMessage): boolean =>
  method === "GET" &&
  httpVersion === "1.1" &&
  headers.upgrade?.toLowerCase() === "websocket" &&
  headers["transfer-encoding"] === undefined &&
  (headers["content-length"] ?? "0") === "0";

/** @param first Bytes that the client sent after its request */
export function serveUpgrade(context: UpgradeContext, incoming: IncomingMessage, first: Buffer): void {
  const { pipeline, memory, tunnels } = context;
  const { socket } = incoming;
  const out = new WriteQueue(socket);
  let account: MemoryAccount | null = null;
  tunnels.add(socket);
  socket
    .on("error", () => socket.destroy())
    .once("close", () => {
      tunnels.delete(socket);
      account?.close();
    });
  const { exchange, refusal } = pipeline.open(headOf(incoming), new SocketTraffic(socket));
  if (refusal) {
    writeRejection(socket, refusal);
    return;
  }
  const delivery = new Http1Exchange(context, {
    ...{ exchange, protocol: incoming.headers.upgrade ?? null },
    client: {
      out,
      mayGoOn: false,
      responseWritten: () => socket.end(),
      full: () => {},
      destroy: () => socket.destroy(),
      join(tunnel) {
        if (first.length > 0) tunnel.upstream.write(first);
        account = memory.account(() => socket.destroy());
        const counted = account;
        joinSockets({ client: socket, account: () => counted, ...tunnel });
      },
    },
  });
  socket.on("drain", () => delivery.resumeCall()).once("close", () => delivery.abort());
  delivery.run();
}
