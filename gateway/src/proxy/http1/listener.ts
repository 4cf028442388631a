/** The proxy listener of the bare-socket engine: HTTP/1.1, and HTTP/2 for clients that select it. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { connectBehind } from "../../outbound/connect.ts";
import { createGuard } from "../../outbound/guard.ts";
import type { OpenConnection } from "../client/open-connection.ts";
import type { CreateProxy } from "../engine.ts";
import { peerAddressOf } from "../exchange/trusted-proxies.ts";
import { ClientSession, type ClientSessionContext } from "../http2/client-session.ts";
import { ProtocolDetector } from "../http2/protocol-detector.ts";
import { CHECK_INTERVAL } from "../http2/session-check.ts";
import { createUpstreamTexts } from "../http2/upstream/upstream-head-text.ts";
import { UpstreamSessions } from "../http2/upstream/upstream-sessions.ts";
import { ClientMemory } from "../listener/client-memory.ts";
import { createLocalConnectionSlots } from "../listener/local-connection-slots.ts";
import { startTlsListener, type TlsListener } from "../listener/tls-listener.ts";
import { UnacknowledgedClients } from "../listener/unacknowledged-clients.ts";
import { Pipeline } from "../pipeline.ts";
import { clientSockets, type ListenAddress } from "../settings.ts";
import { ClientConnection } from "./client-connection.ts";
import type { ConnectionPeer } from "./client-head.ts";
import type { ConnectionContext } from "./connection-context.ts";
import { defaultHeadLimits } from "./parse/request-head.ts";
import { createResponseHeads } from "./response-text.ts";
import { createUpstreamHeads } from "./upstream/upstream-head.ts";
import { UpstreamPool } from "./upstream/upstream-pool.ts";

export const createHttp1Proxy: CreateProxy = async ({ listen, listenTls, reusePort = false, ...options }) => {
  const {
    settings,
    log,
    runtime,
    observer,
    onUnrouted,
    connectionSlots = createLocalConnectionSlots(settings),
  } = options;
  const { guard = createGuard(settings) } = options;
  const connect = connectBehind(guard);
  const pool = new UpstreamPool({ connect, keepAlive: settings.upstreamKeepAlive });
  const sessions = new UpstreamSessions({ connect, keepAlive: settings.upstreamKeepAlive });
  const pipeline = new Pipeline({ runtime, settings, log, observer, onUnrouted });
  const memory = new ClientMemory(settings.clientMemory, log);
  const unacknowledged = new UnacknowledgedClients({ interval: settings.probeInterval });
  const connections = new Set<OpenConnection>();
  let draining = false;
  let accepted = 0;
  let dropped = 0;
  let requests = 0;
  let tellEmpty = () => {};

  const context: ConnectionContext = {
    pipeline,
    pool,
    log,
    memory,
    upstreamHeads: createUpstreamHeads(pipeline.style),
    responseHeads: createResponseHeads(pipeline.style),
    draining: () => draining,
    limits: { ...defaultHeadLimits, fields: settings.maxHeaderSize },
    headersTimeout: settings.headersTimeout,
    keepAliveTimeout: settings.keepAliveTimeout,
    bodyPace: { silence: settings.bodyTimeout, rate: settings.bodyMinRate, grace: settings.minRateGrace },
    sendPace: { silence: settings.sendTimeout, rate: settings.sendMinRate, grace: settings.minRateGrace },
    probeInterval: settings.probeInterval,
    maxRequests: settings.maxRequests,
    onRequest() {
      requests++;
      const current = runtime();
      pool.follow(current);
      sessions.follow(current);
    },
    onClose: left,
  };
  const streams: ClientSessionContext = {
    ...context,
    sessions,
    upstreamTexts: createUpstreamTexts(pipeline),
    onClose: left,
  };

  function left(connection: OpenConnection): void {
    connections.delete(connection);
    if (connections.size === 0) tellEmpty();
  }

  /** A TLS handshake occupies a slot too. */
  function admit(socket: Socket): boolean {
    accepted++;
    const address = peerAddressOf(socket);
    if (draining || !connectionSlots.acquire(address)) {
      dropped++;
      socket.on("error", () => {}).resetAndDestroy();
      return false;
    }
    socket.once("close", () => connectionSlots.release(address));
    unacknowledged.add(socket);
    return true;
  }

  function serve(socket: Socket): void {
    if (!admit(socket)) return;
    const peer = peerOf(socket);
    if (settings.cleartextHttp2) tellApart(socket, peer);
    else carry(socket, peer, false);
  }

  function tellApart(socket: Socket, peer: ConnectionPeer): void {
    const first = new ProtocolDetector(socket, {
      timeout: settings.headersTimeout,
      onKnown(isHttp2) {
        connections.delete(first);
        carry(socket, peer, isHttp2);
      },
      onClose: left,
    });
    connections.add(first);
  }

  function carry(socket: Socket, peer: ConnectionPeer, isHttp2: boolean): void {
    if (socket.destroyed) return;
    connections.add(isHttp2 ? new ClientSession(streams, socket, peer) : new ClientConnection(context, socket, peer));
  }

  const server = createServer({ ...clientSockets(settings), allowHalfOpen: true }, serve);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: listen.host, port: listen.port, reusePort }, resolve);
  });
  const { port } = server.address() as AddressInfo;
  guard.addOwnListener({ host: listen.host, port });
  const tls = listenTls && (await openTls(listenTls));
  if (tls) guard.addOwnListener(tls.address);

  const checks = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.look?.(now);
  }, CHECK_INTERVAL).unref();

  return {
    address: { host: listen.host, port },
    tlsAddress: tls?.address ?? null,
    connections: () => {
      const writing = [...connections].filter(({ isAnswering }) => isAnswering).length;
      const active = connections.size;
      return {
        accepted,
        handled: accepted - dropped,
        active,
        reading: 0,
        writing,
        waiting: active - writing,
        requests,
      };
    },
    memory: () => memory.held,
    async close({ deadline = 30_000 } = {}) {
      draining = true;
      const empty = new Promise<void>((resolve) => {
        tellEmpty = resolve;
      });
      const closed = Promise.all([tls?.close(), new Promise<void>((resolve) => server.close(() => resolve()))]);
      for (const connection of connections) connection.drain();
      const timer = setTimeout(() => {
        for (const connection of connections) connection.destroy();
      }, deadline);
      if (connections.size > 0) await empty;
      await closed;
      clearTimeout(timer);
      clearInterval(checks);
      unacknowledged.close();
      pool.close();
      sessions.close();
    },
  };

  /** Rejects when listening fails; no listener stays open then. */
  async function openTls(address: ListenAddress): Promise<TlsListener> {
    try {
      return await startTlsListener({
        listen: address,
        reusePort,
        sockets: clientSockets(settings),
        protocols: ["h2", "http/1.1"],
        admit,
        onConnection: (socket) => carry(socket, peerOf(socket), socket.alpnProtocol === "h2"),
        certificate: (serverName) => runtime().certificates.find(serverName),
        handshakeTimeout: settings.handshakeTimeout,
      });
    } catch (error) {
      pool.close();
      sessions.close();
      await new Promise((resolve) => server.close(resolve));
      throw error;
    }
  }
};

function peerOf(socket: Socket): ConnectionPeer {
  const address = { peerAddress: peerAddressOf(socket), port: socket.localPort ?? 0 };
  if (!(socket instanceof TLSSocket)) return { ...address, scheme: "http", serverName: null, tlsVersion: null };
  // False when the client sent no SNI; Node's types declare `servername` for server sockets only as `any`.
  const { servername } = socket as { readonly servername?: string | false };
  const tlsVersion = socket.getProtocol();
  return { ...address, scheme: "https", serverName: servername ? servername.toLowerCase() : null, tlsVersion };
}
