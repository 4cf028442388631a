/** The listener of every engine: admits and counts clients, with and without TLS, and drains their connections. */
import { type AddressInfo, createServer, Server, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import type { Connections } from "../../metrics/metrics.ts";
import { type Connect, connectBehind } from "../../outbound/connect.ts";
import { createGuard } from "../../outbound/guard.ts";
import { createConnectionLimitsMemory, sharedConnectionLimits } from "../../shared-memory/connection-limits.ts";
import { markDocumentPort } from "../client/open-connection.ts";
import type { CloseOptions, PipelineOptions, ProxyListener, ProxyOptions } from "../engine.ts";
import { Mirrors } from "../mirror/mirrors.ts";
import { LogLimiter } from "../observability/log-limiter.ts";
import { Pipeline } from "../pipeline.ts";
import { clientSockets } from "../settings.ts";
import { Streams } from "../streams/streams.ts";
import type { MinRateLimits } from "../timers/min-rate-timer.ts";
import { ClientAdmission } from "./client-admission.ts";
import { ClientMemory } from "./client-memory.ts";
import { acceptsNoClient, ListenerRequests } from "./client-validation.ts";
import { type DocumentPort, DocumentPorts, type PortSocket } from "./document-ports.ts";
import { openStreamListeners } from "./stream-listeners.ts";
import { startTlsListener, type TlsListener, type TlsListenerOptions } from "./tls-listener.ts";
import { UnacknowledgedClients } from "./unacknowledged-clients.ts";

/** Parts that an engine builds on. */
export interface EngineParts extends Pick<PipelineOptions, "settings" | "log" | "runtime"> {
  readonly connect: Connect;
  readonly pipeline: Pipeline;
  readonly mirrors: Mirrors;
  readonly memory: ClientMemory;
  /** True while the listener drains: connections close after their response. */
  readonly draining: () => boolean;
  /** True while the listener drains and closes idle connections (see `CloseOptions.keepIdle`). */
  readonly closesIdle: () => boolean;
  /** Limits for how slowly clients may send request bodies. */
  readonly bodyPace: MinRateLimits;
  /** Limits for how slowly clients may read responses. */
  readonly sendPace: MinRateLimits;
}

export interface ClientEngine {
  /** Must not be listening yet. Its "connection" listeners get a connection after its admission and its PROXY header. */
  readonly server: Server;
  readonly protocols: TlsListenerOptions["protocols"];
  /** Receives a connection after its TLS handshake. */
  readonly serveTls: (socket: TLSSocket) => void;
  readonly counts: () => Pick<Connections, "active" | "writing" | "requests">;
  /**
   * Closes connections after their response, and idle ones unless `keepIdle`. A returned promise resolves when all
   * clients have gone.
   */
  readonly drain: (options: { readonly keepIdle: boolean }) => unknown;
  /**
   * As `drain` without `keepIdle`, for the connections to a port of the document.
   *
   * @returns Destroys those of these connections that are still open
   */
  readonly drainPort: (port: number) => () => void;
  /** Destroys all connections of clients. */
  readonly destroy: () => void;
  /** Closes the connections to upstreams. */
  readonly close: () => unknown;
}

/** Rejects when listening fails; in that case no listener stays open. */
export async function startEngine(
  options: ProxyOptions,
  createEngine: (parts: EngineParts) => ClientEngine | Promise<ClientEngine>,
): Promise<ProxyListener> {
  const { listen, listenTls, listenStreams = [], reusePort = false, settings, log, runtime } = options;
  const { connectionSlots = sharedConnectionLimits(createConnectionLimitsMemory(1, settings), 1) } = options;
  const { guard = createGuard(settings) } = options;
  const memory = new ClientMemory(settings.clientMemory, log);
  const connect = connectBehind(guard);
  const lines = new LogLimiter();
  const requests = new ListenerRequests(options.createClientVerifier ?? acceptsNoClient);
  const unacknowledged = new UnacknowledgedClients({ interval: settings.probeInterval });
  const pipeline = new Pipeline(options);
  const mirrors = new Mirrors({ connect, pipeline, keepAlive: settings.upstreamKeepAlive });
  let isDraining = false;
  let keepsIdle = false;
  let stopped: Promise<unknown> | null = null;
  const engine = await createEngine({
    settings,
    log,
    runtime,
    memory,
    connect,
    pipeline,
    mirrors,
    draining: () => isDraining,
    closesIdle: () => isDraining && !keepsIdle,
    bodyPace: { silence: settings.bodyTimeout, rate: settings.bodyMinRate, grace: settings.minRateGrace },
    sendPace: { silence: settings.sendTimeout, rate: settings.sendMinRate, grace: settings.minRateGrace },
  });
  const { server } = engine;
  const { observer = null } = options;
  const streams = new Streams({ runtime, connect, memory, log, observer });

  const admission = new ClientAdmission({ settings, slots: connectionSlots, log, isDraining: () => isDraining });

  /** Admits a connection; with TLS, before its handshake. Returns false if the connection was reset instead. */
  function admit(socket: Socket): boolean {
    if (!admission.admit(socket)) return false;
    unacknowledged.add(socket);
    return true;
  }

  async function closeAll(): Promise<void> {
    unacknowledged.close();
    mirrors.close();
    await engine.close();
  }

  type OwnTlsOptions = Pick<
    TlsListenerOptions,
    "listen" | "onConnection" | "certificate" | "certificateRequest" | "stream"
  >;
  const openTls = (own: OwnTlsOptions) =>
    startTlsListener({
      ...own,
      challenges: () => runtime().challenges,
      reusePort,
      admit,
      readHeader: (raw, next) => admission.readHeader(raw, next),
      sockets: clientSockets(settings),
      protocols: engine.protocols,
      clientTls: settings.clientTls,
      ...(options.stapledResponses && { stapledResponses: options.stapledResponses }),
      onRefused(reason) {
        const { port } = own.listen;
        const unlogged = lines.allow(`${port} ${reason}`);
        if (unlogged === null) return;
        log.warn({ port, reason, ...(unlogged > 0 && { unlogged }) }, "refused the certificate of a client");
      },
      onFailed({ port, reason, serverName }) {
        const unlogged = lines.allow(`${port} handshake ${reason}`);
        if (unlogged === null) return;
        log.warn({ port, serverName, reason, ...(unlogged > 0 && { unlogged }) }, "a TLS handshake failed");
      },
      handshakeTimeout: settings.handshakeTimeout,
    });

  async function listenWithTls(): Promise<TlsListener | undefined> {
    const { host } = listen;
    await listening(server, { host, port: listen.port, reusePort });
    guard.addOwnListener({ host, port: portOf(server) });
    if (listenTls === undefined) return undefined;
    const tls = await openTls({
      listen: listenTls,
      onConnection: engine.serveTls,
      certificate: (serverName) => runtime().certificates.find(serverName),
      certificateRequest: (serverName) => runtime().certificateRequests.find(serverName),
    });
    guard.addOwnListener(tls.address);
    return tls;
  }

  /** Opens a port of the document. Its connections are marked, so that only routes of its listeners serve them. */
  async function openPort({ port, protocol }: DocumentPort): Promise<PortSocket> {
    const address = { host: listen.host, port };
    if (protocol === "http") {
      const own = createServer({ ...clientSockets(settings), allowHalfOpen: true }, (socket) => {
        markDocumentPort(socket, port);
        server.emit("connection", socket);
      });
      await listening(own, { ...address, reusePort });
      return {
        address,
        close() {
          admission.closeWaiting(port);
          return closeServer(own);
        },
      };
    }
    const own = await openTls({
      listen: address,
      onConnection(socket) {
        markDocumentPort(socket, port);
        engine.serveTls(socket);
      },
      certificate: (serverName) => runtime().listeners.certificate(port, serverName),
      certificateRequest: (serverName) =>
        requests.of(runtime().listeners.atHandshake(port, serverName)) ??
        runtime().certificateRequests.find(serverName),
      stream: (raw, serverName) => streams.handlerFor({ raw, port, serverName }),
    });
    return {
      address,
      close() {
        own.abortHandshakes();
        return own.close();
      },
    };
  }

  const documentPorts = new DocumentPorts({
    open: openPort,
    drain(port) {
      for (const destroy of [engine.drainPort(port), streams.drainPort(port)])
        setTimeout(destroy, settings.drain).unref();
    },
    onChange: (open) => guard.setDocumentListeners(open),
  });

  /** Stops listening. Resolves when no connection is left. */
  const stop = () => {
    stopped ??= Promise.all([tls?.close(), ownStreams.close(), closeServer(server), documentPorts.stop()]);
    return stopped;
  };

  const served = server.listeners("connection");
  server.removeAllListeners("connection").on("connection", (socket: Socket) => {
    const serve = () => {
      for (const listener of served) Reflect.apply(listener, server, [socket]);
    };
    // Connections with TLS were admitted before their handshake.
    if (socket instanceof TLSSocket) serve();
    else if (admit(socket)) admission.readHeader(socket, serve);
  });
  let tls: TlsListener | undefined;
  const closeAfter = async (error: unknown): Promise<never> => {
    await Promise.all([tls?.close(), closeServer(server), closeAll()]);
    throw error;
  };
  tls = await listenWithTls().catch(closeAfter);
  const ownStreams = await openStreamListeners(listenStreams, {
    ...{ reusePort, streams, admit, admission },
    sockets: clientSockets(settings),
    openTls: (own) =>
      openTls({
        ...own,
        certificate: (serverName) => runtime().certificates.find(serverName),
        certificateRequest: () => null,
      }),
  }).catch(closeAfter);
  for (const address of ownStreams.addresses) guard.addOwnListener(address);
  return {
    address: { host: listen.host, port: portOf(server) },
    tlsAddress: tls?.address ?? null,
    streamAddresses: ownStreams.addresses,
    connections() {
      const { active: ofHttp, writing, requests } = engine.counts();
      const waiting = Math.max(0, ofHttp - writing);
      const active = ofHttp + streams.active;
      const { accepted, handled } = admission;
      return { accepted, handled, active, reading: 0, writing, waiting, requests };
    },
    openPorts: (ports) => documentPorts.set(ports),
    memory: () => memory.held,
    async stopAccepting() {
      await untilNoneArrives(() => admission.accepted);
      stop();
    },
    async close({ deadline = 30_000, keepIdle = false }: CloseOptions = {}) {
      isDraining = true;
      keepsIdle = keepIdle;
      if (!keepIdle) {
        tls?.abortHandshakes();
        ownStreams.abortHandshakes();
        admission.closeWaiting();
      }
      const closed = [stop().then(() => streams.ended()), engine.drain({ keepIdle })];
      const timer = setTimeout(() => {
        admission.closeWaiting();
        engine.destroy();
        streams.destroy();
      }, deadline);
      await Promise.all(closed);
      clearTimeout(timer);
      await closeAll();
    },
  };
}

/** Rejects when listening fails. */
const listening = (server: Server, address: { host: string; port: number; reusePort: boolean }): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, resolve);
  });

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/**
 * Calls the method of net.Server, because that of an HTTP server would also close idle connections. The engine itself
 * decides when to close those.
 */
const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => Server.prototype.close.call(server, () => resolve()));

/** Maximum turns of the event loop to wait, because new connections may arrive in every turn. */
const MAX_TURNS = 1000;

/**
 * Resolves after a turn of the event loop in which no connection was accepted, because then none was waiting, or after
 * MAX_TURNS.
 */
async function untilNoneArrives(accepted: () => number): Promise<void> {
  // No connection is accepted in the rest of the present turn.
  await nextTurn();
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const before = accepted();
    await nextTurn();
    if (accepted() === before) return;
  }
}
