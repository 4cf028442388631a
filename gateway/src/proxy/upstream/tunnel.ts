/** An upgraded connection (WebSocket): after the upstream's 101 bytes go both ways as they come. */
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import type { FaultName } from "../faults.ts";
import type { LiveExchange } from "../live-exchange.ts";
import type { Forward } from "../pipeline.ts";
import { faultOf, mayRetry } from "./failure.ts";
import type { Guard } from "./guard.ts";

class TunnelTimeoutError extends Error {
  override readonly name = "TunnelTimeoutError";
  readonly code = "SLUICE_TUNNEL_TIMEOUT";
}

export interface TunnelListener {
  /** The upstream agreed; `socket` is its side and `head` what it sent already. */
  upgraded(response: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** The upstream answered something else. */
  refused(response: IncomingMessage): void;
  failed(fault: FaultName, error: Error | null): void;
}

export interface TunnelOptions {
  readonly exchange: LiveExchange;
  readonly forward: Forward;
  readonly guard: Guard;
  readonly listener: TunnelListener;
}

/** Asks the upstream to upgrade, trying targets as `UpstreamCall` does. Returns how to give up. */
export function openTunnel({ exchange, forward, guard, listener }: TunnelOptions): () => void {
  const { service } = forward.upstream;
  let triesLeft = service.retries;
  let current: ClientRequest | null = null;
  let over = false;

  const fail = (fault: FaultName, error: Error | null) => {
    if (over) return;
    over = true;
    listener.failed(fault, error);
  };

  function attempt(): void {
    if (over) return;
    const target = forward.upstream.next();
    exchange.timings.forwarded = performance.now();
    if (target === null) {
      fail("noPeer", null);
      return;
    }
    try {
      guard.check(target.host, target.port);
    } catch (error) {
      fail("upstreamDown", error as Error);
      return;
    }
    const open = target.scheme === "https" ? requestHttps : requestHttp;
    const request = open({
      host: target.host,
      port: target.port,
      method: forward.method,
      path: forward.path,
      headers: [...forward.headers, "Connection", "Upgrade", "Upgrade", exchange.request.header("upgrade") ?? ""],
      agent: false,
      lookup: guard.lookup(target.port),
      rejectUnauthorized: target.verify,
      ...(target.serverName !== null && { servername: target.serverName }),
    });
    current = request;
    let connected = false;
    const late = () => request.destroy(new TunnelTimeoutError("the upstream did not answer the upgrade in time"));
    let timer = setTimeout(late, target.connectTimeout);
    request.once("socket", (socket) => {
      socket.once(target.scheme === "https" ? "secureConnect" : "connect", () => {
        connected = true;
        clearTimeout(timer);
        timer = setTimeout(late, service.read_timeout);
      });
    });
    request.once("upgrade", (response, socket, head) => {
      clearTimeout(timer);
      over = true;
      listener.upgraded(response, socket, head);
    });
    request.once("response", (response) => {
      clearTimeout(timer);
      over = true;
      listener.refused(response);
    });
    request.on("error", (error) => {
      clearTimeout(timer);
      if (over) return;
      if (triesLeft > 0 && mayRetry({ error, connected, method: forward.method, bodyBegun: false })) {
        triesLeft--;
        setImmediate(attempt);
      } else fail(faultOf(error), error);
    });
    request.end();
  }

  attempt();
  return () => {
    over = true;
    current?.destroy();
  };
}
