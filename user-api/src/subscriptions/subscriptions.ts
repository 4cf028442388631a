/** The subscriptions of an application: its sockets and event streams, and their shutdown. */
import { randomUUID } from "node:crypto";
import fastifyWebsocket from "@fastify/websocket";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ExecutionResult, GraphQLError, GraphQLSchema } from "graphql";
import { failure, present } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { SUBPROTOCOL } from "../http/cross-site.ts";
import { readRequest } from "../http/request.ts";
import type { GraphqlRequest } from "../limits/documents.ts";
import type { SubscriptionLimits } from "../limits/limits.ts";
import { type ClientQuota, makeClientQuotas } from "./client-quota.ts";
import { makeEventStreams } from "./event-stream.ts";
import { makeFeed } from "./feed.ts";
import { makeOperations, type OperationCaller, type OperationsOptions } from "./operations.ts";
import type { Payload } from "./socket-message.ts";
import type { CloseFrame } from "./socket-session.ts";
import { makeSockets, type Peer, SHUTTING_DOWN, SLOW_CLIENT } from "./sockets.ts";

export interface SubscriptionsOptions
  extends Pick<OperationsOptions, "check" | "execute" | "onSubscribed" | "contextOf"> {
  readonly schema: GraphQLSchema;
  readonly events: Events;
  readonly limits: SubscriptionLimits;
  /** The time limit for one event. */
  readonly milliseconds: number;
  /** Bytes per frame of a client. */
  readonly frameBytes: number;
  /** The path of sockets. A GET route of this path must be registered later. */
  readonly path: string;
  /** The caller of a request, or of the socket that it opened. */
  readonly callerOf: (request: FastifyRequest) => Omit<OperationCaller, "quota">;
  /** The client's key for limits per client. */
  readonly clientOf: (request: FastifyRequest) => string;
  /** Whether the payload of connection_init is accepted. The identity in it then applies to the socket. */
  readonly permits: (payload: Payload, request: FastifyRequest) => boolean;
}

export interface Subscriptions {
  /** Responds to a request with an event stream. */
  stream(graphqlRequest: GraphqlRequest, request: FastifyRequest, reply: FastifyReply): void;
  counts(): SubscriptionCounts;
  /** Starts no more operations, waits for `others`, sends what is queued, and closes connections as going away. */
  drain(others: Promise<unknown>): Promise<void>;
  /** Cuts connections that are still open. */
  terminate(): void;
}

export interface SubscriptionCounts {
  readonly sockets: number;
  readonly streams: number;
  readonly subscriptions: number;
  /** The number of sockets, streams and operations that ended because their client was slower than its events. */
  readonly slow: number;
}

/** The messages for a refused connection. */
const FULL = {
  connections: "The maximum number of connections is reached",
  clientConnections: "This client has its maximum number of connections",
} as const;

/**
 * The approximate size of a request. One that nests too deep for JSON.stringify counts as `most`; it is refused later.
 */
function bytesOf(request: GraphqlRequest, most: number): number {
  try {
    return JSON.stringify(request).length;
  } catch {
    return most;
  }
}

/** Call before the routes are registered: sockets share the GET route of the path, with all its hooks. */
export async function makeSubscriptions(app: FastifyInstance, options: SubscriptionsOptions): Promise<Subscriptions> {
  const { schema, events, limits, frameBytes, path, callerOf, clientOf, permits } = options;
  const { connectionBytes, heartbeatMilliseconds } = limits;
  // Events belong to no request; a new id connects the error that clients see with its log line.
  const errorContext = () => {
    const requestId = randomUUID();
    return { log: app.log.child({ requestId }), requestId };
  };
  let slow = 0;

  const presented = (error: GraphQLError) => [present(error, errorContext())];
  const refusals = {
    operations: () =>
      failure("LIMIT_EXCEEDED", `A socket may have at most ${limits.operations} concurrent operations`, {
        limit: "operations",
        maximum: limits.operations,
      }),
    clientBytes: () =>
      failure("LIMIT_EXCEEDED", `The operations of a client may use at most ${limits.clientBytes} bytes`, {
        limit: "clientBytes",
        maximum: limits.clientBytes,
      }),
    slow: () => failure("SLOW_CONSUMER", SLOW_CLIENT),
  };
  const refusal = (reason: "operations" | "slow") => {
    if (reason === "slow") slow += 1;
    return presented(refusals[reason]());
  };

  const feed = makeFeed({
    schema,
    events,
    milliseconds: options.milliseconds,
    present: ({ data, errors }: ExecutionResult) =>
      errors === undefined ? { data } : { data, errors: errors.map((error) => present(error, errorContext())) },
    overrun: () => presented(failure("SLOW_CONSUMER", "Users are created faster than this subscription can be served")),
  });
  const operations = makeOperations({ ...options, feed, memoryExceeded: refusals.clientBytes });
  const quotas = makeClientQuotas(limits);
  let shuttingDown = false;

  /** Counts a new connection, or returns the limit that it exceeds. */
  function enter(request: FastifyRequest): ClientQuota | "connections" | "clientConnections" {
    if (sockets.size() + streams.size() >= limits.connections) return "connections";
    return quotas.enter(clientOf(request)) ?? "clientConnections";
  }

  /** The peer of a socket: identified by the opening request, and from `connection_init` on by its payload. */
  function peerOf(request: FastifyRequest): Peer | CloseFrame {
    if (shuttingDown) return SHUTTING_DOWN;
    const entered = enter(request);
    if (typeof entered === "string") return [1013, FULL[entered]];
    let caller: OperationCaller = { ...callerOf(request), quota: entered };
    return {
      admit(payload) {
        if (payload === undefined) return null;
        const before = clientOf(request);
        if (!permits(payload, request)) return [4403, "Forbidden"];
        let { quota } = caller;
        if (clientOf(request) !== before) {
          quota.leave();
          // The total was checked already.
          const own = quotas.enter(clientOf(request));
          if (own === null) return [1013, FULL.clientConnections];
          quota = own;
        }
        caller = { ...callerOf(request), quota };
        return null;
      },
      begin(request, receiver, { bytes, kept }) {
        // The shutdown would not wait for it: the client subscribes again elsewhere once its connection is closed.
        if (shuttingDown) return () => undefined;
        return operations.begin({ request: readRequest(request), bytes, kept }, caller, receiver);
      },
      left: () => caller.quota.leave(),
    };
  }

  const sockets = makeSockets({
    ...limits,
    socketBytes: connectionBytes,
    refusal,
    peerOf,
    onSlow: () => {
      slow += 1;
    },
  });
  const streams = makeEventStreams({
    streamBytes: connectionBytes,
    heartbeatMilliseconds,
    slow: () => refusal("slow"),
  });

  // Before the plugin's own hook, which turns the route's `wsHandler` into a socket handler.
  app.addHook("onRoute", (route) => {
    if (route.url === path && route.method === "GET") {
      route.wsHandler = (socket, request) => sockets.opened(socket, request);
    }
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
    stream(graphqlRequest, request, reply) {
      if (shuttingDown) throw failure("UNAVAILABLE", SHUTTING_DOWN[1]);
      const sent = { request: graphqlRequest, bytes: bytesOf(graphqlRequest, frameBytes), kept: 0 };
      const quota = enter(request);
      if (typeof quota === "string") {
        throw failure("UNAVAILABLE", FULL[quota], { limit: quota, maximum: limits[quota] });
      }
      const caller = { ...callerOf(request), quota, safe: request.method !== "POST" };
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      streams.open(reply.raw, (receiver) => operations.begin(sent, caller, receiver), quota.leave);
    },
    counts: () => ({ sockets: sockets.size(), streams: streams.size(), subscriptions: feed.size(), slow }),
    async drain(others) {
      shuttingDown = true;
      await others;
      await operations.settled();
      feed.close();
      sockets.close();
      streams.close();
    },
    terminate() {
      feed.close();
      sockets.terminate();
      streams.terminate();
    },
  };
}
