/** The engine on Fastify and @fastify/reply-from. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import replyFrom from "@fastify/reply-from";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { peerAddressOf } from "../client/open-connection.ts";
import type { CreateProxy } from "../engine.ts";
import { defaultHeadLimits } from "../http1/parse/head-parser.ts";
import { createResponseHeads } from "../http1/response-text.ts";
import { createUpstreamHeads } from "../http1/upstream/upstream-head.ts";
import { UpstreamPool } from "../http1/upstream/upstream-pool.ts";
import { type ClientEngine, type EngineParts, startEngine } from "../listener/engine-listener.ts";
import { countConnections } from "../observability/connection-counts.ts";
import type { OpenResult } from "../pipeline.ts";
import { clientSockets, type ProxySettings } from "../settings.ts";
import { headOf, SocketTraffic } from "./head.ts";
import { lingerUntilRead, rejectHead, trackResponse, writeGatewayResponse, writeRejection } from "./node-response.ts";
import { PortConnections } from "./port-connections.ts";
import { type ReplyFromCallback, ReplyFromExchange, type ReplyFromExchangeContext } from "./reply-from-exchange.ts";
import { UndiciPools } from "./undici-pools.ts";
import { serveUpgrade, type UpgradeContext, wantsWebSocket } from "./upgrade.ts";

declare module "fastify" {
  interface FastifyRequest {
    delivery: ReplyFromExchange | null;
  }
}

/** reply-from requires a URL; the exchange determines the real destination. */
const UPSTREAM = "http://upstream/";
type Refused = Extract<OpenResult, { readonly exchange?: undefined }>;
const DELIVERY = Symbol("delivery");
type Marked = { readonly [DELIVERY]?: ReplyFromExchange };

export const createReplyFromProxy: CreateProxy = (options) => startEngine(options, createEngine);

async function createEngine(parts: EngineParts): Promise<ClientEngine> {
  const { settings, connect, pipeline, runtime, draining, closesIdle } = parts;
  const { upstreamKeepAlive: keepAlive } = settings;
  const pools = new UndiciPools({ connect, keepAlive });
  /**
   * Connections to upstreams for upgrades. No connection is kept after a refused upgrade: every upgrade opens its own.
   */
  const pool = new UpstreamPool({ connect, keepAlive, maxIdle: 0 });
  const tunnels = new Set<Duplex>();
  const lingering = new Set<IncomingMessage>();
  /** Sockets with invalid framing. Node would continue to parse the bytes that follow. */
  const distrusted = new WeakSet<Socket>();

  const refuseOn = (socket: Socket) => (fault: GatewayErrorName) =>
    pipeline.refuse(fault, { peerAddress: peerAddressOf(socket) });
  const portConnections = new PortConnections();
  const isDraining = (socket: Socket): boolean => draining() || portConnections.isDraining(socket);

  const app = createApp(settings, (error, socket) => rejectHead(error, socket, refuseOn(socket)));
  const { server } = app;
  const context: ReplyFromExchangeContext = {
    ...parts,
    pools,
    lingering,
    isDraining,
    ended: () => {
      if (closesIdle()) setImmediate(() => server.closeIdleConnections());
    },
  };
  const upgrades: UpgradeContext = {
    ...parts,
    pool,
    sessions: null,
    tunnels,
    upstreamHeads: createUpstreamHeads(pipeline),
    responseHeads: createResponseHeads(pipeline.style),
  };

  await app.register(replyFrom, {
    disableCache: false,
    disableRequestLogging: true,
    // The types require undici's overloads; reply-from calls only this signature.
    undici: {
      request: ((options: { readonly headers: Marked }, answered: ReplyFromCallback) =>
        options.headers[DELIVERY]?.start(answered)) as never,
    },
  });
  app.decorateRequest("delivery", null);
  // Fastify's later steps (body parsing, validation, serialisation) do not apply to a proxy: this hook never calls
  // next.
  app.addHook("onRequest", (request, reply, _next) => {
    const incoming = request.raw;
    if (distrusted.has(incoming.socket)) return reply.hijack();
    pools.follow(runtime());
    const traffic = new SocketTraffic(incoming.socket);
    const opened = pipeline.open(headOf(incoming), traffic);
    if (opened.exchange === undefined) return refuse(reply, opened, traffic);
    request.delivery = new ReplyFromExchange(context, { exchange: opened.exchange, traffic, reply, send });
    request.delivery.run();
  });
  server.on("upgrade", (incoming: IncomingMessage, _socket: Duplex, first: Buffer) => {
    pool.follow(runtime());
    portConnections.becameTunnel(incoming.socket);
    if (!distrusted.has(incoming.socket)) serveUpgrade(upgrades, incoming, first);
  });

  server.on("connection", (socket: Socket) => portConnections.add(socket));
  server.prependListener("request", (incoming, response) => {
    trackResponse(incoming.socket, response);
    portConnections.began(incoming.socket, response);
  });

  // Without a listener Node answers with its own message and continues to read.
  server.on("checkExpectation", (incoming: IncomingMessage, response) => server.emit("request", incoming, response));
  // One more than allowed, so that an excess is noticed: Node silently drops fields beyond this number.
  server.maxHeadersCount = defaultHeadLimits.count + 1;

  // Without a listener Node closes the connection without a response.
  server.on("connect", (incoming: IncomingMessage) =>
    writeRejection(incoming.socket, refuseOn(incoming.socket)("badRequest")),
  );

  function refuse(reply: FastifyReply, { refusal, last }: Refused, traffic: SocketTraffic): void {
    if (last) distrusted.add(reply.request.raw.socket);
    reply.hijack();
    reply.raw.once("close", () => {
      lingerUntilRead(reply.request.raw, lingering);
      traffic.end();
      context.ended();
    });
    writeGatewayResponse(reply.raw, refusal, last || isDraining(reply.request.raw.socket));
  }

  await app.ready();
  return {
    server,
    protocols: ["http/1.1"],
    serveTls: (socket) => server.emit("connection", socket),
    counts: countConnections(server),
    drain({ keepIdle }) {
      if (!keepIdle) server.closeIdleConnections();
      for (const incoming of lingering) incoming.socket.end();
    },
    drainPort: (port) => portConnections.drain(port),
    destroy() {
      server.closeAllConnections();
      for (const tunnel of tunnels) tunnel.destroy();
    },
    close() {
      pool.close();
      return Promise.all([pools.close(), app.close()]);
    },
  };
}

/** Shared by all requests: reply-from only reads these options. */
const fromOptions: Parameters<FastifyReply["from"]>[1] = {
  rewriteRequestHeaders: (request) => ({ [DELIVERY]: request.delivery }) as never,
  onResponse: (request) => request.delivery?.writeHead(),
  // The exchange decides on retries.
  retryDelay: () => null,
};

const send = (reply: FastifyReply): void => {
  reply.from(UPSTREAM, fromOptions);
};

function createApp(settings: ProxySettings, clientError: (error: Error, socket: Socket) => void): FastifyInstance {
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    keepAliveTimeout: settings.keepAliveTimeout,
    // Uploads have no total time limit; the arrival of the head is limited instead.
    requestTimeout: 0,
    connectionTimeout: 0,
    clientErrorHandler: clientError,
    // A single Fastify route: the gateway's router matches requests.
    rewriteUrl: () => "/",
    http: {
      ...clientSockets(settings),
      // The pipeline checks the Host header and answers with the gateway's message.
      requireHostHeader: false,
      headersTimeout: settings.headersTimeout,
      connectionsCheckingInterval: Math.min(settings.headersTimeout, 5000),
      maxHeaderSize: settings.maxHeaderSize,
      shouldUpgradeCallback: wantsWebSocket,
    },
  });
  app.route({ method: app.supportedMethods, url: "/", handler: () => {} });
  return app;
}
