/** The bare-socket engine: HTTP/1.1, and HTTP/2 for clients that select it. */
import { createServer, type Socket } from "node:net";
import { documentPortOf, type OpenConnection, peerOf } from "../client/open-connection.ts";
import type { CreateProxy } from "../engine.ts";
import { CHECK_INTERVAL, ClientSession, type ClientSessionContext } from "../http2/client-session.ts";
import { ProtocolDetector } from "../http2/protocol-detector.ts";
import { FieldCollector } from "../http2/requests/field-collector.ts";
import { ResponseEncoder } from "../http2/responses/response-encoder.ts";
import { UpstreamSessions } from "../http2/upstream/upstream-sessions.ts";
import { type ClientEngine, type EngineParts, startEngine } from "../listener/engine-listener.ts";
import { clientSockets } from "../settings.ts";
import { Http1Connection } from "./client-connection.ts";
import type { ConnectionContext } from "./http1-exchange.ts";
import { defaultHeadLimits } from "./parse/head-parser.ts";
import { createResponseHeads } from "./response-text.ts";
import { createUpstreamHeads } from "./upstream/upstream-head.ts";
import { UpstreamPool } from "./upstream/upstream-pool.ts";

export const createHttp1Proxy: CreateProxy = (options) => startEngine(options, createEngine);

function createEngine(parts: EngineParts): ClientEngine {
  const { settings, connect, pipeline, runtime } = parts;
  const pool = new UpstreamPool({ connect, keepAlive: settings.upstreamKeepAlive });
  const sessions = new UpstreamSessions({ connect, keepAlive: settings.upstreamKeepAlive });
  const connections = new Set<OpenConnection>();
  /** Those of these connections that came to a port of the document, with the port. */
  const onDocumentPorts = new Map<OpenConnection, number>();
  const empty = Promise.withResolvers<void>();
  let requests = 0;

  const limits = { ...defaultHeadLimits, fields: settings.maxHeaderSize };
  const context: ConnectionContext & ClientSessionContext = {
    ...parts,
    pool,
    sessions,
    upstreamHeads: createUpstreamHeads(pipeline),
    responseHeads: createResponseHeads(pipeline.style),
    limits,
    collector: new FieldCollector(limits),
    responses: new ResponseEncoder(pipeline.style),
    headersTimeout: settings.headersTimeout,
    keepAliveTimeout: settings.keepAliveTimeout,
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

  function left(connection: OpenConnection): void {
    forget(connection);
    if (parts.draining() && connections.size === 0) empty.resolve();
  }

  function add(connection: OpenConnection, documentPort: number | null): void {
    connections.add(connection);
    if (documentPort !== null) onDocumentPorts.set(connection, documentPort);
  }

  function forget(connection: OpenConnection): void {
    connections.delete(connection);
    if (onDocumentPorts.size > 0) onDocumentPorts.delete(connection);
  }

  function serve(socket: Socket): void {
    if (socket.destroyed) return;
    const documentPort = documentPortOf(socket);
    // A listener of the Gateway API has to accept gRPC without TLS.
    if (settings.cleartextHttp2 || documentPort !== null) detectProtocol(socket, documentPort);
    else attach(socket, documentPort, false);
  }

  function detectProtocol(socket: Socket, documentPort: number | null): void {
    const first = new ProtocolDetector(socket, {
      timeout: settings.headersTimeout,
      onKnown(isHttp2) {
        forget(first);
        attach(socket, documentPort, isHttp2);
      },
      onClose: left,
    });
    add(first, documentPort);
  }

  function attach(socket: Socket, documentPort: number | null, isHttp2: boolean): void {
    if (socket.destroyed) return;
    const connection = isHttp2
      ? new ClientSession(context, socket, peerOf(socket))
      : new Http1Connection(context, socket);
    add(connection, documentPort);
    // The listener began to drain before the handshake was complete or the first bytes arrived.
    if (parts.draining()) connection.drain(!parts.closesIdle());
  }

  const checks = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.checkLiveness?.(now);
  }, CHECK_INTERVAL).unref();

  return {
    server: createServer({ ...clientSockets(settings), allowHalfOpen: true }, serve),
    protocols: ["h2", "http/1.1"],
    serveTls: (socket) => attach(socket, documentPortOf(socket), socket.alpnProtocol === "h2"),
    counts() {
      const writing = [...connections].filter(({ isAnswering }) => isAnswering).length;
      return { active: connections.size, writing, requests };
    },
    async drain({ keepIdle }) {
      for (const connection of connections) connection.drain(keepIdle);
      if (connections.size > 0) await empty.promise;
    },
    drainPort(port) {
      const drained = [...onDocumentPorts].flatMap(([connection, own]) => (own === port ? [connection] : []));
      for (const connection of drained) connection.drain(false);
      return () => {
        for (const connection of drained) connection.destroy();
      };
    },
    destroy() {
      for (const connection of connections) connection.destroy();
    },
    close() {
      clearInterval(checks);
      pool.close();
      sessions.close();
    },
  };
}
