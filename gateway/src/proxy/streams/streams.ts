/** The connections of a listener that are not HTTP (TLSRoutes of the Gateway API). */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { mayProtect } from "@sluice/model/serving";
import type { CompiledRoute, ListenerStream, Runtime } from "../../compile/runtime.ts";
import { type GatewayErrorName, gatewayErrors } from "../../exchange/gateway-errors.ts";
import type { Connect } from "../../outbound/connect.ts";
import { peerAddressOf } from "../client/open-connection.ts";
import type { ProxyLog } from "../engine.ts";
import type { ClientMemory } from "../listener/client-memory.ts";
import type { TlsStreamHandler } from "../listener/tls-listener.ts";
import { LogLimiter } from "../observability/log-limiter.ts";
import type { RequestObserver } from "../observability/observer.ts";
import { TlsSessionCache } from "../upstream/dial.ts";
import { StreamConnection, type StreamResult } from "./stream-connection.ts";

export interface StreamsOptions {
  readonly runtime: () => Runtime;
  readonly connect: Connect;
  readonly memory: ClientMemory;
  readonly log: ProxyLog;
  readonly observer: RequestObserver | null;
}

interface StreamArrival {
  readonly raw: Socket;
  readonly port: number;
  readonly serverName: string | null;
}

/** Why a connection is closed instead of forwarded. */
interface Refusal {
  readonly fault: GatewayErrorName;
  readonly reason: string;
}

const PERCENT = 100;

export class Streams {
  readonly #options: StreamsOptions;
  readonly #sessions = new TlsSessionCache();
  readonly #lines = new LogLimiter();
  /** With the port to which the client connected. */
  readonly #open = new Map<StreamConnection, number>();

  constructor(options: StreamsOptions) {
    this.#options = options;
  }

  get active(): number {
    return this.#open.size;
  }

  /** Decides about a new connection on a port of the document; null: it is for HTTP. */
  handlerFor(arrival: StreamArrival): TlsStreamHandler | null {
    const runtime = this.#options.runtime();
    const stream = runtime.listeners.streamAt(arrival.port, arrival.serverName);
    if (stream === null) return null;
    const started = performance.now();
    const route = stream.route && runtime.compiledRoute(stream.route.id);
    const refusal = refusalOf(stream, route, runtime);
    if (refusal !== null || route?.upstream == null) {
      const { fault, reason } = refusal ?? { fault: "noService", reason: "the route has no service" };
      return {
        isTerminated: false,
        serve: (socket) => {
          const { bytesRead } = socket;
          socket.on("error", () => {}).destroy();
          const result = { fault, reason, target: null, tries: 0, connectedAt: null };
          this.#report({ ...arrival, stream, route, started }, result, { bytesIn: bytesRead, bytesOut: 0 });
        },
      };
    }
    const { upstream } = route;
    const { connect, memory } = this.#options;
    return {
      isTerminated: stream.protocol === "tls",
      serve: (client) => {
        const connection = new StreamConnection({
          connect,
          memory,
          client,
          upstream,
          sessions: this.#sessions,
          peerAddress: peerAddressOf(arrival.raw),
          onClose: (result) => {
            this.#open.delete(connection);
            const bytes = { bytesIn: client.bytesRead, bytesOut: client.bytesWritten };
            this.#report({ ...arrival, stream, route, started }, result, bytes);
          },
        });
        this.#open.set(connection, arrival.port);
        connection.start();
      },
    };
  }

  /** Returns a function that destroys those of the port's present connections that are still open. */
  drainPort(port: number): () => void {
    const drained = [...this.#open].flatMap(([connection, own]) => (own === port ? [connection] : []));
    return () => {
      for (const connection of drained) connection.destroy();
    };
  }

  destroy(): void {
    for (const connection of this.#open.keys()) connection.destroy();
  }

  #report(
    {
      raw,
      serverName,
      stream,
      route,
      started,
    }: StreamArrival & {
      readonly stream: ListenerStream;
      readonly route: CompiledRoute | null;
      readonly started: number;
    },
    { fault, reason, target, tries, connectedAt }: StreamResult,
    bytes: { readonly bytesIn: number; readonly bytesOut: number },
  ): void {
    const id = randomBytes(16).toString("hex");
    const { log, observer } = this.#options;
    const service = route?.upstream?.service ?? null;
    const name = stream.route?.name ?? stream.route?.id;
    if (fault !== null && reason !== null) {
      const unlogged = this.#lines.allow(`${name ?? stream.listener} ${reason}`);
      const details = { requestId: id, listener: stream.listener, route: name, serverName, reason };
      if (unlogged !== null) log.warn({ ...details, ...(unlogged > 0 && { unlogged }) }, "a connection was closed");
    }
    observer?.streamed?.({
      id,
      protocol: stream.protocol,
      peerAddress: peerAddressOf(raw),
      serverName,
      route: stream.route,
      service,
      target,
      tries,
      fault,
      ...bytes,
      duration: performance.now() - started,
      connected: connectedAt === null ? null : connectedAt - started,
    });
  }
}

/** Null: the connection may be forwarded if the route has an upstream. */
function refusalOf({ route }: ListenerStream, compiled: CompiledRoute | null, runtime: Runtime): Refusal | null {
  if (route === null) return { fault: "noRoute", reason: gatewayErrors.noRoute.message };
  const { unavailable, refused_percentage: refused = 0 } = route._sluice ?? {};
  if (unavailable !== undefined) return { fault: "closed", reason: unavailable };
  if (compiled === null) return { fault: "noService", reason: "the service of the route is disabled or missing" };
  const missing = missingProtection(compiled, runtime);
  if (missing !== null) return { fault: "closed", reason: missing };
  if (refused > 0 && Math.random() * PERCENT < refused)
    return { fault: "noService", reason: `${refused} % of the connections are for backends that cannot be used` };
  return null;
}

/**
 * Why a route that serves no HTTP has to be closed; null: it need not. Plugins act on HTTP only. A plugin counts if it
 * may protect and is attached to the route or its service, or if its `protocols` name the protocol of the route. Other
 * plugins without a route are for HTTP only, as in Kong.
 */
function missingProtection({ route, chains }: CompiledRoute, { snapshot }: Runtime): string | null {
  const [protocol = "tls"] = route.protocols;
  const plugin = chains.candidates(null).find(({ id, name, protocols }) => {
    const entity = snapshot.plugins.get(id);
    const isAttached = entity !== undefined && (entity.route !== null || entity.service !== null);
    return (
      (isAttached || protocols.includes(protocol)) && (mayProtect(name) || entity?._sluice?.unavailable !== undefined)
    );
  });
  return plugin === undefined
    ? null
    : `the plugin ${plugin.name} protects the route, but acts on HTTP only: remove the plugin from the route or Gateway`;
}
