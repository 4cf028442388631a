/** The proxy listener on Fastify and @fastify/reply-from. */
import type { IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import replyFrom from "@fastify/reply-from";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { connectBehind } from "../../outbound/connect.ts";
import { createGuard } from "../../outbound/guard.ts";
import type { CreateProxy } from "../engine.ts";
import { peerAddressOf } from "../exchange/trusted-proxies.ts";
import { defaultHeadLimits } from "../http1/parse/request-head.ts";
import { ClientMemory } from "../listener/client-memory.ts";
import { createLocalConnectionSlots } from "../listener/local-connection-slots.ts";
import { startTlsListener, type TlsListener } from "../listener/tls-listener.ts";
import { UnacknowledgedClients } from "../listener/unacknowledged-clients.ts";
import { countConnections } from "../observability/connection-counts.ts";
import { type OpenResult, Pipeline } from "../pipeline.ts";
import { clientSockets, type ListenAddress, type ProxySettings } from "../settings.ts";
import { headOf, SocketTraffic } from "./head.ts";
import { linger, writeOwn } from "./node-response.ts";
import { rejectHead, writeRejection } from "./reject-head.ts";
import { type Answered, ReplyFromExchange, type ReplyFromExchangeContext } from "./reply-from-exchange.ts";
import { UndiciPools } from "./undici-pools.ts";
import { serveUpgrade, wantsWebSocket } from "./upgrade.ts";

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

export const createReplyFromProxy: CreateProxy = async ({ listen, listenTls, reusePort = false, ...options }) => {
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
  const pools = new UndiciPools({ connect, keepAlive: settings.upstreamKeepAlive });
  const pipeline = new Pipeline({ runtime, settings, log, observer, onUnrouted });
  const tunnels = new Set<Duplex>();
  const lingering = new Set<IncomingMessage>();
  /** Sockets with invalid framing. Node would continue to parse the bytes that follow. */
  const distrusted = new WeakSet<Socket>();
  let draining = false;

  const refuseOn = (socket: Socket) => (fault: GatewayErrorName) => pipeline.refuse(fault, peerAddressOf(socket));
  const app = createApp(settings, (error, socket) => rejectHead(error, socket, refuseOn(socket)));
  const { server } = app;
  const connections = countConnections(server);
  let accepted = 0;
  let dropped = 0;
  const unacknowledged = new UnacknowledgedClients({ interval: settings.probeInterval });
  const admit = (socket: Socket): boolean => {
    accepted++;
    const address = peerAddressOf(socket);
    if (connectionSlots.acquire(address)) {
      socket.once("close", () => connectionSlots.release(address));
      unacknowledged.add(socket);
      return true;
    }
    dropped++;
    socket.on("error", () => {}).destroy();
    return false;
  };
  // Before Node's own listener. Connections with TLS were admitted before their handshake.
  server.prependListener("connection", (socket) => {
    if (!(socket instanceof TLSSocket)) admit(socket);
  });
  const memory = new ClientMemory(settings.clientMemory, log);
  const context: ReplyFromExchangeContext = {
    pipeline,
    pools,
    log,
    memory,
    draining: () => draining,
    lingering,
    bodyPace: { silence: settings.bodyTimeout, rate: settings.bodyMinRate, grace: settings.minRateGrace },
    sendPace: { silence: settings.sendTimeout, rate: settings.sendMinRate, grace: settings.minRateGrace },
    ended: () => {
      if (draining) setImmediate(() => server.closeIdleConnections());
    },
  };

  await app.register(replyFrom, {
    disableCache: false,
    disableRequestLogging: true,
    // The types require undici's overloads; reply-from calls this one.
    undici: {
      request: ((options: { readonly headers: Marked }, answered: Answered) =>
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
    const delivery = new ReplyFromExchange(context, { exchange: opened.exchange, traffic, reply });
    request.delivery = delivery;
    delivery.run(send);
  });
  server.on("upgrade", (incoming: IncomingMessage, _socket: Duplex, first: Buffer) => {
    if (!distrusted.has(incoming.socket)) serveUpgrade({ pipeline, connect, log, tunnels }, incoming, first);
  });

  // Without a listener Node answers with its own message and continues to read.
  server.on("checkExpectation", (incoming: IncomingMessage, response) => server.emit("request", incoming, response));
  // One more than allowed: Node silently drops fields beyond this number.
  server.maxHeadersCount = defaultHeadLimits.count + 1;

  // Without a listener Node closes the connection without a response.
  server.on("connect", (incoming: IncomingMessage) =>
    writeRejection(incoming.socket, refuseOn(incoming.socket)("badRequest")),
  );

  function refuse(reply: FastifyReply, { refusal, last }: Refused, traffic: SocketTraffic): void {
    if (last) distrusted.add(reply.request.raw.socket);
    reply.hijack();
    reply.raw.once("close", () => {
      linger(reply.request.raw, lingering);
      traffic.end();
      context.ended();
    });
    writeOwn(reply.raw, refusal, last || draining);
  }

  const at = { host: listen.host, port: listen.port, reusePort };
  await app.listen(at);
  const { port } = server.address() as AddressInfo;
  guard.addOwnListener({ host: listen.host, port });
  const tls = listenTls && (await openTls(listenTls));
  if (tls) guard.addOwnListener(tls.address);

  return {
    address: { host: listen.host, port },
    tlsAddress: tls?.address ?? null,
    connections: () => ({ ...connections(), accepted, handled: accepted - dropped }),
    memory: () => memory.held,
    async close({ deadline = 30_000 } = {}) {
      draining = true;
      // The server does not count TLS connections; the TLS listener does.
      const closed = Promise.all([tls?.close(), new Promise<void>((resolve) => server.close(() => resolve()))]);
      for (const incoming of lingering) incoming.socket.end();
      const timer = setTimeout(() => {
        server.closeAllConnections();
        for (const tunnel of tunnels) tunnel.destroy();
      }, deadline);
      await closed;
      clearTimeout(timer);
      unacknowledged.close();
      await Promise.all([pools.close(), app.close()]);
    },
  };

  /** Rejects when listening fails; no listener stays open then. */
  async function openTls(address: ListenAddress): Promise<TlsListener> {
    try {
      return await startTlsListener({
        listen: address,
        reusePort,
        sockets: clientSockets(settings),
        protocols: ["http/1.1"],
        admit,
        onConnection: (socket) => server.emit("connection", socket),
        certificate: (serverName) => runtime().certificates.find(serverName),
        handshakeTimeout: settings.handshakeTimeout,
      });
    } catch (error) {
      await Promise.all([pools.close(), app.close()]);
      throw error;
    }
  }
};

/** Shared by all requests: reply-from only reads these options. */
const fromOptions: Parameters<FastifyReply["from"]>[1] = {
  rewriteRequestHeaders: (request) => ({ [DELIVERY]: request.delivery }) as never,
  onResponse: (request) => request.delivery?.writeHead(),
  onError: (reply) => reply.request.delivery?.writeFault(),
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
      // The pipeline checks it and answers with the gateway's message.
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
