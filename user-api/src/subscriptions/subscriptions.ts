/** The subscriptions of an application: its sockets and event streams, and their shutdown. */
import fastifyWebsocket from "@fastify/websocket";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { GraphQLError } from "graphql";
import type { WebSocket } from "ws";
import { createFailure } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { Executor } from "../execution/executor.ts";
import { SUBPROTOCOL } from "../http/cross-site.ts";
import { readRequest } from "../http/request.ts";
import type { GraphqlRequest } from "../limits/documents.ts";
import type { SubscriptionLimits } from "../limits/limits.ts";
import { rateKeyOf } from "../limits/rate.ts";
import type { SubscriptionCounts } from "../operations/metrics.ts";
import type { IdentifyCaller } from "../policy/caller.ts";
import { type ClientQuota, makeClientQuotas } from "./client-quota.ts";
import type { Connection, OperationReceiver } from "./connection.ts";
import { openEventStream } from "./event-stream.ts";
import { makeFeed } from "./feed.ts";
import { callerOfInit } from "./init-identity.ts";
import { type MessageSender, makeOperations, type ReceivedOperation } from "./operations.ts";
import { openSocket, SHUTTING_DOWN } from "./socket.ts";

export interface SubscriptionsOptions {
  readonly executor: Executor;
  readonly events: Events;
  readonly limits: SubscriptionLimits;
  readonly frameBytes: number;
  /** The path of sockets. A GET route of this path must be registered after the call. */
  readonly path: string;
  readonly identifyCaller: IdentifyCaller;
  /** Counts an operation of a socket against its client's rate; null: allowed. */
  readonly countOperation: (request: FastifyRequest) => Promise<GraphQLError | null>;
}

export type Subscriptions = Awaited<ReturnType<typeof makeSubscriptions>>;

const FULL = {
  connections: "The maximum number of connections is reached",
  clientConnections: "This client has its maximum number of connections",
} as const;

/**
 * The approximate size of a request. A request that is nested too deeply for JSON.stringify counts as `most`; it is
 * refused later.
 */
function bytesOf(request: GraphqlRequest, most: number): number {
  try {
    return JSON.stringify(request).length;
  } catch {
    return most;
  }
}

/** Call before the routes are registered: sockets share the GET route of the path, with all its hooks. */
export async function makeSubscriptions(app: FastifyInstance, options: SubscriptionsOptions) {
  const { executor, events, limits, frameBytes, path, identifyCaller, countOperation } = options;
  const feed = makeFeed({ executor, events, log: app.log });
  const operations = makeOperations({ executor, feed, limits });
  const enterClient = makeClientQuotas(limits);
  const open = new Set<Connection>();
  const beat = (): void => {
    for (const connection of open) connection.beat();
  };
  // Pongs that arrived while the event loop was blocked are read before the next immediate, and after the timers.
  const heartbeat = setInterval(() => setImmediate(beat), limits.heartbeatMilliseconds).unref();
  const countOf = (kind: Connection["kind"]): number =>
    open.values().reduce((count, connection) => (connection.kind === kind ? count + 1 : count), 0);
  let slowClients = 0;
  let shuttingDown = false;

  const slow = (): void => {
    slowClients += 1;
  };

  /** Counts a new connection and returns its quota, or returns the name of the limit that is reached already. */
  function enter(request: FastifyRequest): ClientQuota | keyof typeof FULL {
    if (open.size >= limits.connections) return "connections";
    return enterClient(rateKeyOf(request.caller)) ?? "clientConnections";
  }

  /** Not a closure in `stream`: it would share a scope with `ended` and so keep the request until the stream ends. */
  const beginner = (received: ReceivedOperation, sender: MessageSender) => (receiver: OperationReceiver) =>
    operations.begin(received, sender, receiver);

  function opened(socket: WebSocket, request: FastifyRequest): void {
    const entered = shuttingDown ? null : enter(request);
    if (entered === null || typeof entered === "string") {
      socket.close(...(entered === null ? SHUTTING_DOWN : ([1013, FULL[entered]] as const)));
      return;
    }
    let sender: MessageSender = { request, quota: entered, count: countOperation };
    const connection = openSocket(socket, {
      limits,
      admit(payload) {
        const before = rateKeyOf(request.caller);
        const caller = callerOfInit(payload, { opener: request.caller, identifyCaller });
        if (caller === null) return [4403, "Forbidden"];
        request.caller = caller;
        if (rateKeyOf(caller) === before) return null;
        sender.quota.leave();
        // The total number of connections was checked already.
        const quota = enterClient(rateKeyOf(caller));
        if (quota === null) return [1013, FULL.clientConnections];
        sender = { ...sender, quota };
        return null;
      },
      begin(payload, receiver, size) {
        // The shutdown would not wait for the operation. The connection is closed soon, and the client then subscribes
        // again at another replica.
        if (shuttingDown) return () => undefined;
        return operations.begin({ request: readRequest(payload), ...size }, sender, receiver);
      },
      slow,
      ended() {
        open.delete(connection);
        sender.quota.leave();
      },
    });
    open.add(connection);
  }

  // Registered before the plugin's own hook, which turns the route's `wsHandler` into a socket handler.
  app.addHook("onRoute", (route) => {
    if (route.url === path && route.method === "GET") route.wsHandler = opened;
  });
  await app.register(fastifyWebsocket, {
    options: {
      maxPayload: frameBytes,
      autoPong: false,
      handleProtocols: (offered) => offered.has(SUBPROTOCOL) && SUBPROTOCOL,
    },
    errorHandler: (error, socket, request) => {
      // An invalid WebSocket frame; ws has closed the socket with the matching code.
      request.log.info({ err: error }, "a socket failed");
      if (socket.readyState === socket.OPEN) socket.terminate();
    },
    preClose: (done) => done(),
  });

  return {
    stream(graphqlRequest: GraphqlRequest, request: FastifyRequest, reply: FastifyReply): void {
      if (shuttingDown) throw createFailure("UNAVAILABLE", SHUTTING_DOWN[1]);
      const received = { request: graphqlRequest, bytes: bytesOf(graphqlRequest, frameBytes), kept: 0 };
      const quota = enter(request);
      if (typeof quota === "string") {
        throw createFailure("UNAVAILABLE", FULL[quota], { limit: quota, maximum: limits[quota] });
      }
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      const connection = openEventStream(reply.raw, {
        limits,
        begin: beginner(received, { request, quota }),
        slow,
        ended() {
          if (connection !== null) open.delete(connection);
          quota.leave();
        },
      });
      if (connection === null) quota.leave();
      else open.add(connection);
    },
    counts: (): SubscriptionCounts => ({
      sockets: countOf("socket"),
      streams: countOf("stream"),
      subscriptions: feed.size(),
      slow: slowClients,
    }),
    /**
     * Starts no more operations. Waits for `others` and for running operations, sends queued events, and closes all
     * connections.
     */
    async drain(others: Promise<unknown>): Promise<void> {
      shuttingDown = true;
      await others;
      await operations.settled();
      feed.close();
      for (const connection of open) connection.close();
    },
    terminate(): void {
      feed.close();
      clearInterval(heartbeat);
      for (const connection of open) connection.terminate();
    },
  };
}
