/** WebSocket upgrades: the same pipeline, then a tunnel instead of a response. */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { DirectResponse } from "../../exchange/exchange.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { Connect } from "../../outbound/connect.ts";
import type { ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";
import type { AccessResult, Pipeline, ProxyLog } from "../pipeline.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { logUpstreamFailure } from "../upstream/log-upstream-failure.ts";
import { headOf, SocketTraffic } from "./head.ts";
import { writeHead, writeOwn } from "./node-response.ts";
import { openTunnel } from "./upstream-tunnel.ts";

export interface UpgradeContext {
  readonly pipeline: Pipeline;
  readonly connect: Connect;
  readonly log: ProxyLog;
  /** Tunnels, and connections about to become tunnels, which Node's server no longer tracks. */
  readonly tunnels: Set<Duplex>;
}

/**
 * Other upgrades (h2c), upgrades in HTTP/1.0 and upgrades with a body are ignored, as if the client had not asked (RFC
 * 9110 section 7.8): bytes after a body could be read as frames, and frames as a request.
 */
export const wantsWebSocket = ({ method, headers, httpVersion }: IncomingMessage): boolean =>
  method === "GET" &&
  httpVersion === "1.1" &&
  headers.upgrade?.toLowerCase() === "websocket" &&
  headers["transfer-encoding"] === undefined &&
  (headers["content-length"] ?? "0") === "0";

export function serveUpgrade(context: UpgradeContext, incoming: IncomingMessage, first: Buffer): void {
  const { pipeline, tunnels } = context;
  const { socket } = incoming;
  socket.on("error", () => socket.destroy());
  tunnels.add(socket);
  socket.once("close", () => tunnels.delete(socket));
  const traffic = new SocketTraffic(socket);
  const { exchange, refusal } = pipeline.open(headOf(incoming), traffic);
  if (refusal) {
    respond(incoming, refusal);
    return;
  }
  socket.once("close", () => {
    if (exchange.status === 0) exchange.status = CLIENT_CLOSED;
    pipeline.finish(exchange);
  });
  const answer = (own: DirectResponse | GatewayErrorName) => {
    if (!socket.destroyed) respond(incoming, pipeline.answer(exchange, own));
  };
  const take = (outcome: AccessResult) => {
    if (socket.destroyed) return;
    if (outcome.forward === undefined) answer(outcome.answer);
    else tunnel(context, { exchange, incoming, first, forward: outcome.forward, answer });
  };
  Promise.resolve(pipeline.access(exchange))
    .then(take)
    .catch((error: Error) => {
      context.log.error({ err: error, requestId: exchange.id }, "the proxy failed");
      socket.destroy();
    });
}

/** nginx's status for a client that disconnected before its response; visible to plugins only. */
const CLIENT_CLOSED = 499;

interface Upgrade {
  readonly exchange: LiveExchange;
  readonly incoming: IncomingMessage;
  /** Bytes that the client sent after its request. */
  readonly first: Buffer;
  readonly forward: ForwardPlan;
  readonly answer: (own: DirectResponse | GatewayErrorName) => void;
}

function tunnel(context: UpgradeContext, { exchange, incoming, first, forward, answer }: Upgrade): void {
  const { socket } = incoming;
  const { pipeline, connect, log } = context;
  const giveUp = openTunnel({
    exchange,
    forward,
    headers: () => pipeline.upstreamHeaders(exchange),
    connect,
    listener: {
      upgraded(response, upstream, head) {
        const headers = pipeline.clientHeaders(exchange, 101, response.rawHeaders);
        socket.write(switchingHead(headers, response.headers.upgrade ?? "websocket"), "latin1");
        if (head.length > 0) socket.write(head);
        if (first.length > 0) upstream.write(first);
        join({ client: socket, upstream, silence: forward.upstream.service.read_timeout });
      },
      refused(response) {
        const headers = pipeline.clientHeaders(exchange, response.statusCode ?? 502, response.rawHeaders);
        const raw = responseOn(incoming);
        writeHead(raw, {
          status: response.statusCode ?? 502,
          statusText: response.statusMessage ?? "",
          headers,
          last: true,
        });
        response.on("error", () => socket.destroy()).pipe(raw);
        socket.once("close", () => response.destroy());
      },
      failed(fault, error) {
        logUpstreamFailure(log, { exchange, error, what: "failed" });
        answer(fault);
      },
    },
  });
  socket.once("close", giveUp);
}

/** Milliseconds until TCP keep-alive probes a silent upstream. Client sockets are probed since they were accepted. */
const PROBE = 20_000;

interface Sides {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Milliseconds without data in either direction after which the tunnel closes. */
  readonly silence: number;
}

/**
 * Forwards bytes both ways until one side closes or both are silent for `silence`, as in Kong. A half-closed tunnel
 * would otherwise count as a connection of its target forever. Clients that need longer silences send pings.
 */
function join({ client, upstream, silence }: Sides): void {
  // Data from the upstream is written to this socket too, so its timeout covers both directions.
  client.setTimeout(silence, () => client.destroy());
  client.setNoDelay(true);
  upstream.setKeepAlive(true, PROBE);
  upstream.on("error", () => upstream.destroy());
  client.once("close", () => upstream.destroy());
  upstream.once("close", () => client.destroySoon());
  client.pipe(upstream);
  upstream.pipe(client);
}

function switchingHead(headers: readonly string[], protocol: string): string {
  let head = "HTTP/1.1 101 Switching Protocols\r\n";
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return `${head}Connection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
}

function respond(incoming: IncomingMessage, response: GatewayResponse): void {
  writeOwn(responseOn(incoming), response, true);
}

/** Node creates no response object for an upgrade; this one frames and writes an ordinary response. */
function responseOn(incoming: IncomingMessage): ServerResponse {
  const { socket } = incoming;
  const raw = new ServerResponse(incoming);
  raw.shouldKeepAlive = false;
  raw.assignSocket(socket);
  raw.once("finish", () => {
    raw.detachSocket(socket);
    socket.end();
  });
  return raw;
}
