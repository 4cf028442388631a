/** The HTTP application: everything but the listening. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, fastify } from "fastify";
import { getOperationAST, parse } from "graphql";
import { mercurius } from "mercurius";
import type { WebSocketServer } from "ws";
import { makeLoaders, makeResolvers } from "./directory/resolvers.ts";
import { schema } from "./directory/schema.ts";
import { failure, formatErrors, type Occasion } from "./errors.ts";
import { depthRule, MAX_BODY, MAX_TOKENS, refuseInvalid, refuseJson } from "./limits/limits.ts";
import { type Consumer, consumerOf } from "./policy/consumer.ts";
import type { Access } from "./settings.ts";
import { closeSockets, guardSockets } from "./sockets.ts";
import type { UserStore } from "./store/store.ts";
import { refusalOf } from "./upgrade.ts";

export interface AppOptions {
  /** Closed with the application, after the last request. */
  readonly store: UserStore;
  readonly log: FastifyBaseLogger;
  readonly access: Access;
  /** The deepest nesting of fields. */
  readonly depth: number;
  /** Origins besides our own that may open a WebSocket without a credential. */
  readonly origins: readonly string[];
  /** How long requests and sockets may take to end when the application closes; what is left then is cut. */
  readonly drainMilliseconds: number;
  /** Default 3 s. */
  readonly initMilliseconds?: number;
  /** Default 30 s. */
  readonly heartbeatMilliseconds?: number;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set before any handler. Read once: mercurius lets a WebSocket client add to the headers later. */
    consumer: Consumer | null;
  }
}

declare module "mercurius" {
  interface MercuriusContext {
    readonly consumer: Consumer | null;
  }
}

const PATH = "/graphql";

const isUpgrade = ({ headers, url }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === "websocket" && url?.split("?", 1)[0] === PATH;

/** The gateway's id for the request, so that both logs can be read together; else a new one. */
function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** mercurius fails without a word on a GET whose document has no operation of the name that is asked for. */
function refuseUnknownOperation({ query }: FastifyRequest): void {
  const { query: source, operationName } = query as { query?: string; operationName?: string };
  if (source === undefined) return;
  const document = parse(source, { maxTokens: MAX_TOKENS });
  if (getOperationAST(document, operationName) !== null) return;
  throw failure("GRAPHQL_VALIDATION_FAILED", "operationName must name one operation of the document");
}

function occasionOf(context: { reply?: { request: FastifyRequest }; request?: FastifyRequest }): Occasion | null {
  const request = context.reply?.request ?? context.request;
  return request === undefined ? null : { log: request.log, requestId: request.id };
}

function hasSockets(instance: object): instance is { readonly websocketServer: WebSocketServer } {
  return "websocketServer" in instance;
}

export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { store, log, depth, origins, drainMilliseconds } = options;
  const app: FastifyInstance = fastify({
    loggerInstance: log,
    genReqId: requestIdOf,
    bodyLimit: MAX_BODY,
    requestTimeout: 30_000,
    http: { shouldUpgradeCallback: isUpgrade },
  });
  const rules = [depthRule(depth)];

  app.decorateRequest("consumer", null);
  app.addHook("onRequest", async (request) => {
    request.consumer = consumerOf(request.headers);
    const refusal = isUpgrade(request.raw) ? refusalOf(request.headers, { consumer: request.consumer, origins }) : null;
    if (refusal !== null) throw refusal;
  });

  app.addHook("onResponse", async ({ raw }) => {
    // An upgrade that was answered by a response was refused; nobody else ends its connection.
    if (isUpgrade(raw)) raw.socket.destroySoon();
  });
  let draining = false;
  app.addHook("onSend", async (_request, reply) => {
    // A connection that is kept for further requests would hold up the end.
    if (draining) reply.header("connection", "close");
  });

  // mercurius keeps its WebSocket server in a scope of its own.
  const scopes: object[] = [];
  app.addHook("onRegister", (scope) => {
    scopes.push(scope);
  });
  app.addHook("onReady", async () => {
    for (const { websocketServer } of scopes.filter(hasSockets)) {
      const { initMilliseconds = 3_000, heartbeatMilliseconds = 30_000 } = options;
      guardSockets(websocketServer, { log, initMilliseconds, heartbeatMilliseconds });
    }
  });
  // Registered before mercurius' own hook, which closes the sockets without a code.
  app.addHook("preClose", async () => {
    draining = true;
    const sockets = scopes.filter(hasSockets).map(({ websocketServer }) => websocketServer);
    for (const server of sockets) closeSockets(server);
    setTimeout(() => {
      log.warn(`cutting what has not ended within ${drainMilliseconds} ms`);
      for (const server of sockets) for (const socket of server.clients) socket.terminate();
      app.server.closeAllConnections();
    }, drainMilliseconds).unref();
  });
  app.addHook("onClose", () => store.close());

  await app.register(mercurius, {
    schema,
    path: PATH,
    resolvers: makeResolvers({ store, access: options.access }),
    loaders: makeLoaders(store),
    context: (request) => ({ consumer: request.consumer }),
    validationRules: rules,
    graphql: { parseOptions: { maxTokens: MAX_TOKENS } },
    // Documents by their text, each up to MAX_BODY.
    cache: 256,
    additionalRouteOptions: {
      // mercurius' response schema turns the list indexes of an error's path into strings.
      serializerCompiler: () => JSON.stringify,
      preHandler: async (request) => {
        if (request.method === "GET" && !isUpgrade(request.raw)) refuseUnknownOperation(request);
      },
    },
    errorFormatter: (execution, context) =>
      formatErrors(execution, occasionOf(context) ?? { log: context.app.log, requestId: "none" }),
    subscription: { context: (_socket, request) => ({ consumer: request.consumer }) },
  });
  app.graphql.addHook("preParsing", async (_schema, source) => refuseJson(source));
  app.graphql.addHook("preSubscriptionParsing", async (_schema, source) => {
    parse(source, { maxTokens: MAX_TOKENS });
  });
  app.graphql.addHook("preSubscriptionExecution", async (schema, document) => refuseInvalid(schema, document, rules));

  app.get("/healthz", { logLevel: "warn" }, async () => ({ status: "ok" }));
  app.get("/readyz", { logLevel: "warn" }, async (request, reply) => {
    try {
      await store.ping();
      return { status: "ok" };
    } catch (error) {
      request.log.warn({ err: error }, "the store does not answer");
      return reply.code(503).send({ status: "the store does not answer" });
    }
  });
  return app;
}
