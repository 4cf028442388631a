/** Subscriptions of an application: its sockets, event streams and their end. */
import { randomUUID } from "node:crypto";
import fastifyWebsocket from "@fastify/websocket";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ExecutionResult, GraphQLError, GraphQLSchema } from "graphql";
import { failure, present } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { asAsk } from "../http/ask.ts";
import type { Ask } from "../limits/documents.ts";
import { makeEventStreams } from "./event-stream.ts";
import { makeFeed } from "./feed.ts";
import type { LiveLimits } from "./live-limits.ts";
import { type Caller, makeOperations, type OperationsOptions } from "./operations.ts";
import type { Receiver } from "./receiver.ts";
import { makeSockets, SLOW } from "./sockets.ts";
import { SUBPROTOCOL } from "./upgrade.ts";

export interface LiveOptions extends Pick<OperationsOptions, "check" | "execute" | "onFollow" | "contextOf"> {
  readonly schema: GraphQLSchema;
  readonly events: Events;
  readonly limits: LiveLimits;
  /** What an event may take for those who follow. */
  readonly milliseconds: number;
  /** Bytes of one frame of a client. */
  readonly frameBytes: number;
  /** Where sockets are opened. A GET route of this path must be registered later. */
  readonly path: string;
  /** Who asks by a request or by the socket that began as one. */
  readonly callerOf: (request: FastifyRequest) => Caller;
  /** Whether the payload of connection_init, read as headers, may pass. */
  readonly permits: (payload: Readonly<Record<string, unknown>>, request: FastifyRequest) => boolean;
}

export interface Live {
  /** Answers a request by an event stream. */
  stream(ask: Ask, request: FastifyRequest, reply: FastifyReply): void;
  counts(): LiveCounts;
  /** Finishes what is queued, then tells all clients that this server goes. */
  drain(): Promise<void>;
  /** Ends what is still open. */
  cut(): void;
}

export interface LiveCounts {
  readonly sockets: number;
  readonly streams: number;
  readonly subscriptions: number;
  /** Sockets, streams and operations so far that ended because their client was slower than its events. */
  readonly slow: number;
}

/** Call before the routes are registered: sockets share the GET route of the path, with all its hooks. */
export async function makeLive(app: FastifyInstance, options: LiveOptions): Promise<Live> {
  const { schema, events, limits, frameBytes, path, callerOf, permits } = options;
  const { connectionBytes, heartbeatMilliseconds } = limits;
  // Events belong to no request; whoever is told of a fault finds its line by an id all the same.
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
  const operations = makeOperations({ ...options, feed });
  const isFull = (): boolean => sockets.size() + streams.size() >= limits.connections;
  const sockets = makeSockets({
    ...limits,
    socketBytes: connectionBytes,
    refusal,
    begin: (request) => {
      const caller = callerOf(request);
      return (request, receiver) => operations.begin(asAsk(request), caller, receiver);
    },
    permits: (request) => (payload) => payload === undefined || permits(payload, request),
    onSlow: () => {
      slow += 1;
    },
  });
  const streams = makeEventStreams({
    streamBytes: connectionBytes,
    heartbeatMilliseconds,
    slow: () => refusal("slow"),
  });

  // Before the plugin's own hook, which turns what it finds on a route into a handler of sockets.
  app.addHook("onRoute", (route) => {
    if (route.url === path && route.method === "GET") {
      route.wsHandler = (socket, request) => {
        if (isFull()) socket.close(1013, "There are as many connections as there may be");
        else sockets.opened(socket, request);
      };
    }
  });
  await app.register(fastifyWebsocket, {
    options: {
      maxPayload: frameBytes,
      autoPong: false,
      handleProtocols: (offered) => offered.has(SUBPROTOCOL) && SUBPROTOCOL,
    },
    errorHandler: (error, socket, request) => {
      // Frames that break the WebSocket protocol itself; ws has closed with the code for it.
      request.log.info({ err: error }, "a socket failed");
      if (socket.readyState === socket.OPEN) socket.terminate();
    },
    preClose: (done) => done(),
  });

  return {
    stream(ask, request, reply) {
      if (isFull()) {
        throw failure("UNAVAILABLE", "There are as many connections as there may be", {
          limit: "connections",
          maximum: limits.connections,
        });
      }
      const caller = { ...callerOf(request), safe: request.method !== "POST" };
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      streams.open(reply.raw, (receiver: Receiver) => operations.begin(ask, caller, receiver));
    },
    counts: () => ({ sockets: sockets.size(), streams: streams.size(), subscriptions: feed.size(), slow }),
    async drain() {
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
