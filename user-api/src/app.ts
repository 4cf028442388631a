/** The HTTP application: routes, hooks and shutdown. `commands/serve.ts` makes it listen. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, fastify } from "fastify";
import { buildSchema, type GraphQLError } from "graphql";
import { mercurius } from "mercurius";
import { Registry } from "prom-client";
import { type Context, makeResolvers, subscribers } from "./directory/resolvers.ts";
import { schema as text } from "./directory/schema.ts";
import { createFailure } from "./errors.ts";
import type { Events } from "./events/events.ts";
import { makeExecutor } from "./execution/executor.ts";
import { PendingWork } from "./execution/pending-work.ts";
import { crossSiteRefusalOf } from "./http/cross-site.ts";
import { serveGraphiql } from "./http/graphiql.ts";
import { serveGraphql } from "./http/route.ts";
import { CACHED_DOCUMENTS, makeDocumentCheck } from "./limits/documents.ts";
import { defaultSubscriptionLimits, type SubscriptionLimits } from "./limits/limits.ts";
import { countRequests } from "./limits/rate.ts";
import type { TrustedDocuments } from "./limits/trusted.ts";
import { serveHealth } from "./operations/health.ts";
import { logBindingsOf, RequestLog, RequestLogger, requestIdOf } from "./operations/log.ts";
import { makeMetrics, serveMetrics } from "./operations/metrics.ts";
import { type Caller, makeIdentifyCaller } from "./policy/caller.ts";
import { applyAccessPolicy } from "./policy/policy.ts";
import type { Settings } from "./settings.ts";
import type { UserStore } from "./store/store.ts";
import { makeSubscriptions, type Subscriptions } from "./subscriptions/subscriptions.ts";

export interface AppOptions
  extends Pick<
    Settings,
    | "policy"
    | "gatewaySecret"
    | "origins"
    | "introspection"
    | "graphiql"
    | "limits"
    | "requestsPerMinute"
    | "redisUrl"
    | "redisPrefix"
    | "drainMilliseconds"
  > {
  /** Closed with the application, after the last request. */
  readonly store: UserStore;
  /** Closed before the store. */
  readonly events: Events;
  readonly log: FastifyBaseLogger;
  /** Whether requests from loopback are answered without the gateway's secret. */
  readonly directCalls: boolean;
  readonly trusted?: TrustedDocuments;
  readonly subscriptionLimits?: Partial<SubscriptionLimits>;
  /** Registry of the metrics. Default: a new one. */
  readonly registry?: Registry;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set before any handler of /graphql runs. */
    caller: Caller;
  }
  interface FastifyInstance {
    subscriptions: Subscriptions;
  }
}

declare module "mercurius" {
  interface MercuriusContext extends Context {}
}

const PATH = "/graphql";

const isUpgrade = ({ headers, url }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === "websocket" && url?.split("?", 1)[0] === PATH;

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
    childLoggerFactory: (_logger, bindings, given, request) =>
      new RequestLogger(log, () => log.child({ ...bindings, ...logBindingsOf(request) }, given)),
  });
  // Node's list of connections does not include upgraded ones.
  const connections = new Set<Socket>();
  app.server.on("connection", (connection: Socket) => {
    // Connections may still be accepted until Fastify stops listening.
    if (over) connection.destroy();
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
  });
  app.decorateRequest("caller");
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

  const resolvers = makeResolvers({ store, page: limits.page, created: (user) => events.publish(user) });
  const creating = new PendingWork();
  const createUser: typeof resolvers.Mutation.createUser = (root, given) =>
    creating.add(resolvers.Mutation.createUser(root, given));
  const schema = buildSchema(text);
  await app.register(mercurius, {
    schema,
    // The routes and sockets of mercurius deviate from GraphQL's specifications; http/ and subscriptions/ replace them.
    routes: false,
    resolvers: { ...resolvers, Mutation: { ...resolvers.Mutation, createUser } },
    cache: CACHED_DOCUMENTS,
    // Errors are formatted where they are sent.
    errorFormatter: ({ data, errors }) => ({ statusCode: 200, response: { data, errors } }),
  });
  for (const [name, subscribe] of Object.entries(subscribers)) {
    Object.assign(schema.getSubscriptionType()?.getFields()[name] ?? {}, { subscribe });
  }
  applyAccessPolicy(schema, options.policy);
  const { registry = new Registry() } = options;
  const metrics = makeMetrics({ registry, events, subscriptions: () => app.subscriptions.counts() });
  serveMetrics(app, registry);
  const check = makeDocumentCheck({ ...options, schema });
  const executor = makeExecutor({
    schema,
    graphql: app.graphql,
    check,
    store,
    metrics,
    milliseconds: limits.milliseconds,
  });
  const identifyCaller = makeIdentifyCaller(options);
  const count = await countRequests(app, options);

  /** Counts an operation on a socket against the rate limit, like a request. Resolves to null if it is allowed. */
  async function countOperation(request: FastifyRequest): Promise<GraphQLError | null> {
    const refusal = await count?.(request);
    if (!refusal) return null;
    metrics.limited();
    return createFailure("RATE_LIMITED", refusal.message, { seconds: refusal.seconds });
  }

  await app.register(async (scope) => {
    scope.addHook("onRequest", (request, _reply, done) => {
      const { headers, raw } = request;
      const caller = identifyCaller({ headers, remoteAddress: raw.socket.remoteAddress });
      if ("refusal" in caller) return done(caller.refusal);
      request.caller = caller;
      const refusal = isUpgrade(raw) ? crossSiteRefusalOf(headers, { origins }) : null;
      if (refusal !== null) return done(refusal);
      if (count === null) return done();
      count(request).then((refusal) => {
        if (refusal !== null) metrics.limited();
        done(refusal ?? undefined);
      }, done);
    });
    const subscriptions = await makeSubscriptions(scope, {
      executor,
      events,
      limits: { ...defaultSubscriptionLimits, ...options.subscriptionLimits },
      frameBytes: limits.bytes,
      path: PATH,
      identifyCaller,
      countOperation,
    });
    app.decorate("subscriptions", subscriptions);
    serveGraphql(scope, { path: PATH, executor, limits, origins, stream: subscriptions.stream });
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
