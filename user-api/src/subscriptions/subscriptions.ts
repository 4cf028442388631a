/** The subscriptions of an application: its sockets and event streams, and their shutdown. */
import { randomUUID } from "node:crypto";
import fastifyWebsocket from "@fastify/websocket";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ExecutionResult, GraphQLError, GraphQLSchema } from "graphql";
import { failure, present } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { SUBPROTOCOL } from "../http/cross-site.ts";
import { asAsk } from "../http/request.ts";
import type { Ask } from "../limits/documents.ts";
import type { LiveLimits } from "../limits/limits.ts";
import { makeShares, type Share } from "./client-quota.ts";
import { makeEventStreams } from "./event-stream.ts";
import { makeFeed } from "./feed.ts";
import { type Caller, makeOperations, type OperationsOptions } from "./operations.ts";
import type { Payload } from "./socket-message.ts";
import type { Closing } from "./socket-session.ts";
import { GOING, makeSockets, type Peer, SLOW } from "./sockets.ts";

export interface LiveOptions extends Pick<OperationsOptions, "check" | "execute" | "onFollow" | "contextOf"> {
  readonly schema: GraphQLSchema;
  readonly events: Events;
  readonly limits: LiveLimits;
  /** The time limit for one event. */
  readonly milliseconds: number;
  /** Bytes per frame of a client. */
  readonly frameBytes: number;
  /** The path of sockets. A GET route of this path must be registered later. */
  readonly path: string;
  /** The caller of a request, or of the socket that it opened. */
  readonly callerOf: (request: FastifyRequest) => Omit<Caller, "share">;
  /** The client's key for limits per client. */
  readonly clientOf: (request: FastifyRequest) => string;
  /** Whether the payload of connection_init is accepted. The identity in it then applies to the socket. */
  readonly permits: (payload: Payload, request: FastifyRequest) => boolean;
}

export interface Live {
  /** Responds to a request with an event stream. */
  stream(ask: Ask, request: FastifyRequest, reply: FastifyReply): void;
  counts(): LiveCounts;
  /** Starts no more operations, waits for `others`, sends what is queued, and closes connections as going away. */
  drain(others: Promise<unknown>): Promise<void>;
  /** Cuts connections that are still open. */
  cut(): void;
}

export interface LiveCounts {
  readonly sockets: number;
  readonly streams: number;
  readonly subscriptions: number;
  /** The number of sockets, streams and operations that ended because their client was slower than its events. */
  readonly slow: number;
}

/** The messages for a refused connection. */
const FULL = {
  connections: "There are as many connections as there may be",
  clientConnections: "This client has as many connections as it may have",
} as const;

/**
 * The approximate size of a request. One that nests too deep for JSON.stringify counts as `most`; it is refused later.
 */
function bytesOf(ask: Ask, most: number): number {
  try {
    return JSON.stringify(ask).length;
  } catch {
    return most;
  }
}

/** Call before the routes are registered: sockets share the GET route of the path, with all its hooks. */
export async function makeLive(app: FastifyInstance, options: LiveOptions): Promise<Live> {
  const { schema, events, limits, frameBytes, path, callerOf, clientOf, permits } = options;
  const { connectionBytes, heartbeatMilliseconds } = limits;
  // Events belong to no request; a new id connects the error that clients see with its log line.
  const occasion = () => {
    const requestId = randomUUID();
    return { log: app.log.child({ requestId }), requestId };
  };
  let slow = 0;

  const presented = (error: GraphQLError) => [present(error, occasion())];
  const refusals = {
    operations: () =>
      failure("LIMIT_EXCEEDED", `A socket may have ${limits.operations} operations under way`, {
        limit: "operations",
        maximum: limits.operations,
      }),
    clientBytes: () =>
      failure("LIMIT_EXCEEDED", `The operations of a client may take ${limits.clientBytes} bytes together`, {
        limit: "clientBytes",
        maximum: limits.clientBytes,
      }),
    slow: () => failure("SLOW_CONSUMER", SLOW),
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
      errors === undefined ? { data } : { data, errors: errors.map((error) => present(error, occasion())) },
    overrun: () => presented(failure("SLOW_CONSUMER", "More users are created than this subscription can be told of")),
  });
  const operations = makeOperations({ ...options, feed, tooMuch: refusals.clientBytes });
  const shares = makeShares(limits);
  let going = false;

  /** Counts a new connection, or returns the limit that it exceeds. */
  function enter(request: FastifyRequest): Share | "connections" | "clientConnections" {
    if (sockets.size() + streams.size() >= limits.connections) return "connections";
    return shares.enter(clientOf(request)) ?? "clientConnections";
  }

  /** The peer of a socket: identified by the opening request, and from `connection_init` on by its payload. */
  function peerOf(request: FastifyRequest): Peer | Closing {
    if (going) return GOING;
    const entered = enter(request);
    if (typeof entered === "string") return [1013, FULL[entered]];
    let caller: Caller = { ...callerOf(request), share: entered };
    return {
      admit(payload) {
        if (payload === undefined) return null;
        const before = clientOf(request);
        if (!permits(payload, request)) return [4403, "Forbidden"];
        let { share } = caller;
        if (clientOf(request) !== before) {
          share.leave();
          // The total was checked already.
          const own = shares.enter(clientOf(request));
          if (own === null) return [1013, FULL.clientConnections];
          share = own;
        }
        caller = { ...callerOf(request), share };
        return null;
      },
      begin(request, receiver, { bytes, kept }) {
        // The shutdown would not wait for it: the client subscribes again elsewhere once its connection is closed.
        if (going) return () => undefined;
        return operations.begin({ ask: asAsk(request), bytes, kept }, caller, receiver);
      },
      left: () => caller.share.leave(),
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
    stream(ask, request, reply) {
      if (going) throw failure("UNAVAILABLE", GOING[1]);
      const sent = { ask, bytes: bytesOf(ask, frameBytes), kept: 0 };
      const share = enter(request);
      if (typeof share === "string") {
        throw failure("UNAVAILABLE", FULL[share], { limit: share, maximum: limits[share] });
      }
      const caller = { ...callerOf(request), share, safe: request.method !== "POST" };
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      streams.open(reply.raw, (receiver) => operations.begin(sent, caller, receiver), share.leave);
    },
    counts: () => ({ sockets: sockets.size(), streams: streams.size(), subscriptions: feed.size(), slow }),
    async drain(others) {
      going = true;
      await others;
      await operations.settled();
      feed.close();
      sockets.close();
      streams.close();
    },
    cut() {
      feed.close();
      sockets.cut();
      streams.cut();
    },
  };
}
