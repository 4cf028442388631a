/** The connections of listeners that are not HTTP: TLSRoutes of the Gateway API, and stream listeners of the node. */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { CompiledRoute, ListenerStream, Runtime, ServiceUpstream } from "../../compile/runtime.ts";
import { gatewayErrors } from "../../exchange/gateway-errors.ts";
import { canonicalAddress } from "../../outbound/address-set.ts";
import type { Connect } from "../../outbound/connect.ts";
import { peerAddressOf, peerPortOf } from "../client/open-connection.ts";
import type { ProxyLog } from "../engine.ts";
import type { ClientMemory } from "../listener/client-memory.ts";
import type { TlsStreamHandler } from "../listener/tls-listener.ts";
import { LogLimiter } from "../observability/log-limiter.ts";
import type { RequestObserver } from "../observability/observer.ts";
import { TlsSessionCache } from "../upstream/dial.ts";
import { StreamConnection, type StreamResult, unforwarded } from "./stream-connection.ts";
import { decideStream, type StreamRefusal } from "./stream-decision.ts";
import { StreamPlugins, type StreamPluginsOptions } from "./stream-plugins.ts";
import type { StreamRecord } from "./stream-record.ts";

export interface StreamsOptions {
  readonly runtime: () => Runtime;
  readonly connect: Connect;
  readonly memory: ClientMemory;
  readonly log: ProxyLog;
  readonly observer: RequestObserver | null;
}

interface RawStream {
  readonly raw: Socket;
  readonly port: number;
  readonly serverName: string | null;
}

/** A connection whose route has been looked up. */
interface RoutedStream extends RawStream {
  readonly stream: ListenerStream;
  readonly route: CompiledRoute | null;
  /** By `performance.now()`. */
  readonly started: number;
}

type ReportedStream = Pick<StreamRecord, "bytesIn" | "bytesOut" | "tls"> &
  Omit<StreamResult, "fault"> &
  Pick<StreamRecord, "fault" | "status">;

/** The status of a connection that was joined with a target. */
const CONNECTED = 200;

export class Streams {
  readonly #options: StreamsOptions;
  readonly #sessions = new TlsSessionCache();
  readonly #lines = new LogLimiter();
  /** With the port to which the client connected. */
  readonly #open = new Map<StreamConnection, number>();
  #ended: PromiseWithResolvers<void> | null = null;

  constructor(options: StreamsOptions) {
    this.#options = options;
  }

  get active(): number {
    return this.#open.size;
  }

  /** Decides about a new connection on a port of the document; null: it is for HTTP. */
  handlerFor(arrival: RawStream): TlsStreamHandler | null {
    const runtime = this.#options.runtime();
    const stream = runtime.listeners.streamAt(arrival.port, arrival.serverName);
    return stream === null ? null : this.#handlerOf(arrival, stream, runtime);
  }

  /** Decides about a new connection to a stream listener of the node. */
  ownHandlerFor({ raw, isTls, serverName }: Omit<RawStream, "port"> & { readonly isTls: boolean }): TlsStreamHandler {
    const runtime = this.#options.runtime();
    const destination = { address: canonicalAddress(raw.localAddress ?? ""), port: raw.localPort ?? 0 };
    const source = { address: peerAddressOf(raw), port: peerPortOf(raw) };
    const stream = runtime.matchStream({ isTls, serverName, source, destination });
    return this.#handlerOf({ raw, port: destination.port, serverName }, stream, runtime);
  }

  #handlerOf(arrival: RawStream, stream: ListenerStream, runtime: Runtime): TlsStreamHandler {
    const route = stream.route && runtime.compiledRoute(stream.route.id);
    const routed: RoutedStream = { ...arrival, stream, route, started: performance.now() };
    const { refusal, upstream, steps } = decideStream(stream, route);
    if (refusal !== undefined) return { isTerminated: false, serve: (socket) => this.#refuse(routed, socket, refusal) };
    return {
      isTerminated: stream.protocol === "tls",
      serve: (client) => {
        const plugins = this.#pluginsOf(routed, upstream, { steps, exchanges: runtime.exchanges });
        this.#serve(routed, client, { upstream, plugins });
      },
    };
  }

  #pluginsOf(
    { raw, serverName, stream, route }: RoutedStream,
    { service }: ServiceUpstream,
    { steps, exchanges }: Pick<StreamPluginsOptions, "steps" | "exchanges">,
  ): StreamPlugins | null {
    if (steps.length === 0 || route === null) return null;
    return new StreamPlugins({
      clientAddress: peerAddressOf(raw),
      protocol: stream.protocol,
      serverName,
      route: route.route,
      service,
      steps,
      exchanges,
      log: this.#options.log,
    });
  }

  #serve(
    routed: RoutedStream,
    client: Socket,
    { upstream, plugins }: { readonly upstream: ServiceUpstream; readonly plugins: StreamPlugins | null },
  ): void {
    const refused = plugins?.refusal() ?? null;
    if (refused !== null) {
      this.#refuse(routed, client, { fault: "refused", ...refused }, plugins);
      return;
    }
    const { connect, memory } = this.#options;
    // Once the socket is closed, they can no longer be read.
    const tls =
      client instanceof TLSSocket ? { version: client.getProtocol(), cipher: client.getCipher()?.name ?? null } : null;
    const connection = new StreamConnection({
      connect,
      memory,
      client,
      upstream,
      sessions: this.#sessions,
      peerAddress: peerAddressOf(routed.raw),
      onClose: (result) => {
        this.#open.delete(connection);
        const { fault } = result;
        const status = fault === null ? CONNECTED : gatewayErrors[fault].status;
        const bytes = { bytesIn: client.bytesRead, bytesOut: client.bytesWritten };
        this.#report(routed, { ...result, ...bytes, status, tls }, plugins);
        if (this.#open.size === 0) this.#ended?.resolve();
      },
    });
    this.#open.set(connection, routed.port);
    connection.start();
  }

  #refuse(routed: RoutedStream, socket: Socket, refusal: StreamRefusal, plugins: StreamPlugins | null = null): void {
    const { bytesRead } = socket;
    socket.on("error", () => {}).destroy();
    this.#report(routed, { ...unforwarded, ...refusal, bytesIn: bytesRead, bytesOut: 0, tls: null }, plugins);
  }

  /** Returns a function that destroys those of the port's present connections that are still open. */
  drainPort(port: number): () => void {
    const drained = [...this.#open].flatMap(([connection, own]) => (own === port ? [connection] : []));
    return () => {
      for (const connection of drained) connection.destroy();
    };
  }

  /**
   * Resolves when all open connections have been reported. Node closes a server before its last connections emit
   * "close". To be called when no more connections arrive.
   */
  ended(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    this.#ended ??= Promise.withResolvers();
    return this.#ended.promise;
  }

  destroy(): void {
    for (const connection of this.#open.keys()) connection.destroy();
  }

  #report(
    { raw, port, serverName, stream, route, started }: RoutedStream,
    { reason, connectedAt, ...rest }: ReportedStream,
    plugins: StreamPlugins | null,
  ): void {
    const id = randomBytes(16).toString("hex");
    const { log, observer } = this.#options;
    const name = stream.route?.name ?? stream.route?.id;
    if (reason !== null) {
      const place = stream.listener ?? `port ${port}`;
      const unlogged = this.#lines.allow(`${name ?? place} ${reason}`);
      const details = { requestId: id, listener: place, route: name, serverName, reason };
      if (unlogged !== null) log.warn({ ...details, ...(unlogged > 0 && { unlogged }) }, "a connection was closed");
    }
    if (observer?.streamed === undefined && plugins === null) return;
    const record: StreamRecord = {
      ...rest,
      id,
      protocol: stream.protocol,
      peerAddress: peerAddressOf(raw),
      port,
      serverName,
      route: stream.route,
      service: route?.upstream?.service ?? null,
      started,
      duration: performance.now() - started,
      connected: connectedAt === null ? null : connectedAt - started,
    };
    observer?.streamed?.(record);
    plugins?.ended(record);
  }
}
