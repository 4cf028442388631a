/** The upstream side of an upgraded connection (WebSocket): after 101, bytes flow both ways unchanged. */
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import type { UpstreamTarget } from "../../compile/runtime.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { Connect } from "../../outbound/connect.ts";
import type { ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";
import { withTargetHost } from "../headers/upstream-headers.ts";
import {
  failureSignalOf,
  gatewayErrorFor,
  isUnreachable,
  mayRetry,
  unaskedProtocol,
  unreadable,
} from "../upstream/failure.ts";
import { malformedResponseReason } from "./malformed-head.ts";

class TunnelTimeoutError extends Error {
  override readonly name = "TunnelTimeoutError";
  readonly code = "SLUICE_TUNNEL_TIMEOUT";
}

export interface UpstreamTunnelListener {
  /** The upstream switched protocols; `head` contains the bytes that it has already sent. */
  upgraded(response: IncomingMessage, socket: Socket, head: Buffer): void;
  /** The upstream answered without switching protocols. */
  refused(response: IncomingMessage): void;
  failed(fault: GatewayErrorName, error: Error | null): void;
}

export interface UpstreamTunnelOptions {
  readonly exchange: LiveExchange;
  readonly forward: ForwardPlan;
  /** Flat list; called for every attempt. */
  readonly headers: () => readonly string[];
  readonly connect: Connect;
  readonly listener: UpstreamTunnelListener;
}

/** Whether a 101 names the requested protocol; HTTP/1.0 has no 101 (RFC 9110 section 7.8). */
const isAsked = ({ httpVersion, headers }: IncomingMessage, { request }: LiveExchange): boolean =>
  httpVersion === "1.1" && headers.upgrade?.toLowerCase() === request.header("upgrade")?.toLowerCase();

/**
 * Sends the upgrade request, trying targets like `UpstreamCall`. Returns a function that cancels it, or ends the
 * tunnel.
 */
export function openTunnel({ exchange, forward, headers, connect, listener }: UpstreamTunnelOptions): () => void {
  const { service } = forward.upstream;
  const attempts = forward.upstream.attempts(exchange);
  let triesLeft = service.retries;
  let current: ClientRequest | null = null;
  let tried: UpstreamTarget | null = null;
  let over = false;

  const fail = (fault: GatewayErrorName, error: Error | null) => {
    if (over) return;
    over = true;
    attempts.endTry();
    listener.failed(fault, error);
  };

  const failed = (error: Error, connected: boolean) => {
    if (over) return;
    const sign = failureSignalOf({ error, connected, fresh: true });
    if (sign !== null) attempts.failed(sign);
    if (isUnreachable({ error, connected })) attempts.unreachable(tried);
    exchange.observer?.failed?.(exchange, error);
    const { hasOtherTarget } = attempts;
    if (triesLeft > 0 && mayRetry({ error, connected, method: forward.method, bodyBegun: false, hasOtherTarget })) {
      triesLeft--;
      setImmediate(attempt);
    } else fail(gatewayErrorFor(error), error);
  };

  function attempt(): void {
    if (over) return;
    const target = attempts.next();
    tried = target;
    exchange.beginTry(target, forward);
    if (target === null) {
      fail("noPeer", null);
      return;
    }
    const { host, port, scheme, certificate } = target;
    const open = scheme === "https" ? requestHttps : requestHttp;
    const tls = {
      rejectUnauthorized: target.verify,
      servername: target.serverName ?? "",
      ...(certificate !== null && { cert: certificate.cert, key: certificate.key }),
    };
    const request = open({
      host,
      port,
      method: forward.method,
      path: forward.path,
      headers: [
        ...withTargetHost(target, headers(), exchange),
        "Connection",
        "Upgrade",
        "Upgrade",
        exchange.request.header("upgrade") ?? "",
      ],
      createConnection: () => connect({ host, port, ...(scheme === "https" && { tls }) }),
    });
    current = request;
    let connected = false;
    const late = () => request.destroy(new TunnelTimeoutError("the upstream did not answer the upgrade in time"));
    let timer = setTimeout(late, target.connectTimeout);
    request.once("socket", (socket) => {
      socket.once(scheme === "https" ? "secureConnect" : "connect", () => {
        connected = true;
        clearTimeout(timer);
        timer = setTimeout(late, service.read_timeout);
      });
    });
    request.once("upgrade", (response, socket, head) => {
      clearTimeout(timer);
      if (!isAsked(response, exchange)) {
        socket.destroy();
        failed(unaskedProtocol(), true);
        return;
      }
      over = true;
      attempts.answered(101, tried);
      listener.upgraded(response, socket as Socket, head);
    });
    request.once("response", (response) => {
      clearTimeout(timer);
      const fault = malformedResponseReason(response.rawHeaders, response.statusMessage ?? "");
      if (fault !== null) {
        response.destroy();
        failed(unreadable(fault), true);
        return;
      }
      over = true;
      attempts.answered(response.statusCode ?? 502, tried);
      listener.refused(response);
    });
    request.on("error", (error) => {
      clearTimeout(timer);
      failed(error, connected);
    });
    request.end();
  }

  attempt();
  return () => {
    over = true;
    attempts.endTry();
    current?.destroy();
  };
}
