/** The HTTP application: routes, hooks and shutdown. `commands/serve.ts` makes it listen. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, fastify } from "fastify";
import { buildSchema, type ExecutionResult, type GraphQLError } from "graphql";
import { mercurius } from "mercurius";
import { Registry } from "prom-client";
import { makePostLoader } from "./directory/post-loader.ts";
import { type Context, makeResolvers, subscribers } from "./directory/resolvers.ts";
import { schema as text } from "./directory/schema.ts";
import { codeOf, codesOf, type ErrorContext, failure, present } from "./errors.ts";
import type { Events } from "./events/events.ts";
import { PendingWork } from "./execution/pending-work.ts";
import { makeRecurringExecutor } from "./execution/recurring-queries.ts";
import { refusalOf } from "./http/cross-site.ts";
import { serveGraphiql } from "./http/graphiql.ts";
import { serveGraphql } from "./http/route.ts";
import { makeDocuments } from "./limits/documents.ts";
import type { Limits } from "./limits/limits.ts";
import { defaultSubscriptionLimits, type SubscriptionLimits } from "./limits/limits.ts";
import { countRequests, keyOf, TooManyRequests, tooManyRequests } from "./limits/rate.ts";
import { makeTimeLimit } from "./limits/time-limit.ts";
import type { TrustedDocuments } from "./limits/trusted.ts";
import { serveHealth } from "./operations/health.ts";
import { bindingsOf, RequestLog, requestIdOf } from "./operations/log.ts";
import { LONGEST_NAME, makeMetrics, serveMetrics } from "./operations/metrics.ts";
import { type Caller, makeIdentifyCaller } from "./policy/caller.ts";
import { applyPolicy, type Policy } from "./policy/policy.ts";
import type { UserStore } from "./store/store.ts";
import { callerOfInit } from "./subscriptions/init-identity.ts";
import { makeSubscriptions, type Subscriptions } from "./subscriptions/subscriptions.ts";

export interface AppOptions {
  /** Closed with the application, after the last request. */
  readonly store: UserStore;
  /** Closed before the store. */
  readonly events: Events;
  readonly log: FastifyBaseLogger;
  readonly policy: Policy;
  /** The secret that the gateway sends. Undefined: consumer headers are ignored. */
  readonly gatewaySecret: string | undefined;
  /** Whether requests from loopback are answered without a gateway. */
  readonly directCalls: boolean;
  /** Other origins whose pages may send requests without a credential. */
  readonly origins: readonly string[];
  readonly introspection: boolean;
  readonly graphiql: boolean;
  /** If set, only these documents are executed. */
  readonly trusted?: TrustedDocuments;
  readonly limits: Limits;
  /** Requests per minute and client; 0: unlimited. */
  readonly requestsPerMinute: number;
  /** Redis for the request counters. Undefined: counters are per process. */
  readonly redisUrl: string | undefined;
  readonly redisPrefix: string;
  readonly subscriptionLimits?: Partial<SubscriptionLimits>;
  /** Registry of the metrics. Default: a new one. */
  readonly registry?: Registry;
  /** Milliseconds that requests and sockets may take to end when the application closes; the rest are then cut. */
  readonly drainMilliseconds: number;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set before any handler of /graphql runs. */
    caller: Caller | null;
  }
  interface FastifyInstance {
    /** Active subscriptions, for the metrics. */
    subscriptions: Subscriptions;
  }
}

declare module "mercurius" {
  interface MercuriusContext extends Context {}
}

const PATH = "/graphql";

const isUpgrade = ({ headers, url }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === "websocket" && url?.split("?", 1)[0] === PATH;

const errorContextOf = (request: FastifyRequest): ErrorContext => ({ log: request.log, requestId: request.id });

export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { store, events, log, limits, origins, drainMilliseconds } = options;
  let draining = false;
  let over = false;
  const app: FastifyInstance = fastify({
    loggerInstance: log,
    genReqId: requestIdOf,
    bodyLimit: limits.bytes,
    requestTimeout: limits.receiveMilliseconds,
    http: {
      // While closing, Fastify refuses new requests, but nothing would close the connection of an upgrade.
      shouldUpgradeCallback: (request) => !draining && isUpgrade(request),
      headersTimeout: limits.receiveMilliseconds,
      requestTimeout: limits.receiveMilliseconds,
      connectionsCheckingInterval: Math.min(5_000, limits.receiveMilliseconds),
    },
    logController: new RequestLog(),
    childLoggerFactory: (logger, bindings, given, request) =>
      logger.child({ ...bindings, ...bindingsOf(request) }, given) as FastifyBaseLogger,
  });
  // Node's list of connections does not include upgraded ones.
  const connections = new Set<Socket>();
  app.server.on("connection", (connection: Socket) => {
    // One more connection may be accepted before Fastify stops listening.
    if (over) connection.destroy();
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
  });
  app.decorateRequest("asker", null);
  app.decorateRequest("answered", null);
  // Hooks that run for every request use `done`: a promise for each would cost as much as the hook itself.
  app.addHook("onResponse", ({ raw }, _reply, done) => {
    // An upgrade that was answered with a response was refused; Node does not close its connection.
    if (isUpgrade(raw)) raw.socket.destroySoon();
    done();
  });
  app.addHook("onSend", (_request, reply, payload, done) => {
    // A keep-alive connection would delay the shutdown.
    if (draining) reply.header("connection", "close");
    done(null, payload);
  });

  const limitTime = makeTimeLimit(limits.milliseconds);
  const resolvers = makeResolvers({ store, page: limits.page, created: (user) => events.publish(user) });
  const creating = new PendingWork();
  const createUser: typeof resolvers.Mutation.createUser = (root, given) =>
    creating.add(resolvers.Mutation.createUser(root, given));

  const schema = buildSchema(text);
  const { introspection, trusted } = options;
  const documents = makeDocuments({ schema, limits, introspection, trusted });
  // graphql-js accepts this option and mercurius passes it on; only the types of mercurius lack it.
  const validateOptions = { maxErrors: 100, hideSuggestions: !introspection };
  await app.register(mercurius, {
    schema,
    // The routes and sockets of mercurius deviate from their specifications; http/ and subscriptions/ replace them.
    routes: false,
    resolvers: { ...resolvers, Mutation: { createUser } },
    validationRules: [...documents.rules],
    graphql: { parseOptions: { maxTokens: limits.tokens }, validateOptions },
    // Entries of the document cache; each key is at most as long as the largest request body.
    cache: 256,
    // Errors are formatted where they are sent.
    errorFormatter: ({ data, errors }) => ({ statusCode: 200, response: { data, errors } }),
  });
  for (const [name, subscribe] of Object.entries(subscribers)) {
    Object.assign(schema.getSubscriptionType()?.getFields()[name] ?? {}, { subscribe });
  }
  applyPolicy(schema, options.policy);

  const contextOf = (caller: Pick<Caller, "consumer"> | null): Context => ({
    consumer: caller?.consumer ?? null,
    postsOf: makePostLoader(store),
  });
  const identifyCaller = makeIdentifyCaller(options);
  const count = await countRequests(app, options);
  const { registry = new Registry() } = options;
  const metrics = makeMetrics({ registry, events, subscriptions: () => app.subscriptions.counts() });
  serveMetrics(app, registry);

  /** An operation on a socket counts like a request. */
  async function countOperation(request: FastifyRequest): Promise<GraphQLError | null> {
    const seconds = (await count?.(request)) ?? null;
    if (seconds === null) return null;
    metrics.limited();
    return failure("RATE_LIMITED", tooManyRequests(seconds), { seconds });
  }

  await app.register(async (scope) => {
    scope.addHook("onRequest", (request, _reply, done) => {
      const { headers, raw } = request;
      const caller = identifyCaller({ headers, remoteAddress: raw.socket.remoteAddress });
      if ("refusal" in caller) return done(caller.refusal);
      request.caller = caller;
      const refusal = isUpgrade(raw) ? refusalOf(headers, { consumer: caller.consumer, origins }) : null;
      if (refusal !== null) return done(refusal);
      if (count === null) return done();
      count(request).then((seconds) => {
        if (seconds === null) return done();
        metrics.limited();
        done(new TooManyRequests(seconds));
      }, done);
    });
    const subscriptions = await makeSubscriptions(scope, {
      schema,
      events,
      limits: { ...defaultSubscriptionLimits, ...options.subscriptionLimits },
      frameBytes: limits.bytes,
      milliseconds: limits.milliseconds,
      path: PATH,
      callerOf: (request) => ({
        ...errorContextOf(request),
        consumer: request.caller?.consumer ?? null,
        ...(isUpgrade(request.raw) ? { count: () => countOperation(request) } : {}),
      }),
      clientOf: ({ caller }) => keyOf(caller),
      permits(payload, request) {
        const { caller: opener } = request;
        const caller = opener && callerOfInit(payload, { opener, identifyCaller });
        if (caller !== null) request.caller = caller;
        return caller !== null;
      },
      check(request) {
        const operation = documents.valid(request);
        if ("errors" in operation) metrics.refused(operation.errors.map(codeOf));
        return operation;
      },
      onSubscribed: (operation, errors) => metrics.answered(operation, null, codesOf(errors)),
      async execute({ operation, variables, operationName }, caller) {
        const began = performance.now();
        const context = contextOf(caller) as unknown as Record<string, unknown>;
        const work = app.graphql(operation.source, context, variables, operationName);
        const { data, errors } = (await limitTime(work)) as ExecutionResult;
        const presented = errors?.map((error) => present(error, caller));
        metrics.answered(operation, (performance.now() - began) / 1_000, codesOf(presented));
        return { data, errors: presented };
      },
      contextOf: ({ consumer }) => contextOf({ consumer }),
    });
    app.decorate("subscriptions", subscriptions);
    serveGraphql(scope, {
      path: PATH,
      documents,
      limits,
      origins,
      executeRecurring: makeRecurringExecutor({ schema, rules: documents.rules }),
      contextOf: ({ caller }) => contextOf(caller),
      stream: (graphqlRequest, request, reply) => subscriptions.stream(graphqlRequest, request, reply),
      onExecuted(request, { operation, seconds, codes }) {
        const { name, operation: type } = operation.node;
        request.answered = { operation: name?.value.slice(0, LONGEST_NAME), type };
        metrics.answered(operation, seconds, codes);
      },
      onRefused: (codes) => metrics.refused(codes),
    });
    if (options.graphiql) serveGraphiql(scope, PATH);

    let deadline: NodeJS.Timeout | undefined;
    app.addHook("preClose", async () => {
      draining = true;
      const late = Promise.withResolvers<void>();
      deadline = setTimeout(() => {
        log.warn(`closing connections that did not end within ${drainMilliseconds} ms`);
        over = true;
        subscriptions.terminate();
        for (const connection of connections) connection.destroy();
        late.resolve();
      }, drainMilliseconds).unref();
      // Subscribers still receive users whom running requests create, unless the store delays those requests too long.
      const created = Promise.race([creating.settled(), pause(drainMilliseconds / 2, undefined, { ref: false })]);
      // If the store does not respond, draining would wait for it once for each user still to be delivered.
      await Promise.race([subscriptions.drain(created), late.promise]);
    });
    app.addHook("onClose", async () => {
      clearTimeout(deadline);
      subscriptions.terminate();
    });
  });
  app.addHook("onClose", async () => {
    await events.close();
    await store.close();
  });
  serveHealth(app, { store, events });
  return app;
}
