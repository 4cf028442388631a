/** The GraphQL endpoint: GET, POST and QUERY, as specified by GraphQL over HTTP. mercurius executes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type ExecutionResult, GraphQLError, OperationTypeNode } from "graphql";
import { codesOf, failure, present } from "../errors.ts";
import type { ExecuteRecurring } from "../execution/recurring-queries.ts";
import type { Documents, GraphqlRequest, Operation } from "../limits/documents.ts";
import type { Limits } from "../limits/limits.ts";
import { TooManyRequests } from "../limits/rate.ts";
import { makeTimeLimit } from "../limits/time-limit.ts";
import { isCrossSite } from "./cross-site.ts";
import { bodyTooLarge, errorResponse, RequestError } from "./error-response.ts";
import { JSON_TYPE, type MediaType, mediaTypeOf, wantsEventStream } from "./negotiate.ts";
import { CONTENT_TYPES, parseBodies, readRequest, readUrlRequest } from "./request.ts";

/** An executed operation, for log and metrics. */
export interface ExecutedOperation {
  readonly operation: Operation;
  readonly seconds: number;
  readonly codes: readonly unknown[];
}

export interface GraphqlRouteOptions {
  readonly path: string;
  readonly documents: Documents;
  readonly limits: Pick<Limits, "milliseconds" | "bytes">;
  /** Other origins whose pages may send requests. */
  readonly origins: readonly string[];
  /** Executes queries by plans where possible. */
  readonly executeRecurring: ExecuteRecurring;
  /** The resolvers' context. */
  readonly contextOf: (request: FastifyRequest) => object;
  /** Responds with an event stream. */
  readonly stream: (graphqlRequest: GraphqlRequest, request: FastifyRequest, reply: FastifyReply) => void;
  readonly onExecuted: (request: FastifyRequest, answered: ExecutedOperation) => void;
  /** Called with the error codes of a request that failed before execution. */
  readonly onRefused: (codes: readonly unknown[]) => void;
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly mediaType: MediaType;
}

const METHODS = "GET, POST, QUERY";
/** The content types of QUERY requests (RFC 10008, section 3). */
const QUERY_TYPES = CONTENT_TYPES.join(", ");

/** Registers the endpoint with its own parsers and error handler; call it in a Fastify scope of its own. */
export function serveGraphql(scope: FastifyInstance, options: GraphqlRouteOptions): void {
  const { path, documents, limits, origins, executeRecurring, contextOf, stream, onExecuted, onRefused } = options;
  const limitTime = makeTimeLimit(limits.milliseconds);
  parseBodies(scope);

  function refuse(faults: readonly Error[], request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const mediaType = mediaTypeOf(request.headers.accept) ?? JSON_TYPE;
    const { status, body } = errorResponse(faults, mediaType, { log: request.log, requestId: request.id });
    onRefused(codesOf(body.errors));
    for (const fault of faults) if (fault instanceof RequestError) reply.headers(fault.headers);
    return send(reply.code(status), mediaType, body);
  }

  scope.setErrorHandler((error: Error, request, reply) => {
    if (!(error instanceof TooManyRequests)) return refuse([bodyTooLarge(error, limits)], request, reply);
    // The body was not read yet, so this is an HTTP response and not a GraphQL one.
    return send(reply.code(429).header("retry-after", error.seconds), JSON_TYPE, { error: error.message });
  });

  function resultOf(
    { variables, operationName }: GraphqlRequest,
    operation: Operation,
    { request, reply }: Pick<Exchange, "request" | "reply">,
  ): Promise<ExecutionResult> {
    const context = (): object => contextOf(request);
    const answered = executeRecurring(operation, { variables: variables ?? {}, context });
    if (answered !== null) return answered;
    return reply.graphql(
      operation.source,
      context() as Record<string, unknown>,
      variables as Record<string, unknown> | undefined,
      operationName as string | undefined,
    );
  }

  function execute(
    graphqlRequest: GraphqlRequest,
    operation: Operation,
    { request, reply, mediaType }: Exchange,
  ): void {
    const began = performance.now();
    const deliver = ({ data, errors }: ExecutionResult): void => {
      // graphql-js reports a missing variable here; nothing was executed then.
      if (data === undefined) {
        refuse(errors ?? [], request, reply);
        return;
      }
      const errorContext = { log: request.log, requestId: request.id };
      const presented = errors?.map((error) => present(error, errorContext));
      onExecuted(request, { operation, seconds: (performance.now() - began) / 1_000, codes: codesOf(presented) });
      send(reply.code(200), mediaType, presented === undefined ? { data } : { errors: presented, data });
    };
    limitTime(resultOf(graphqlRequest, operation, { request, reply }))
      .then(deliver)
      .catch((error: Error) => reply.send(error));
  }

  /** Returns no promise to Fastify: each promise that is avoided makes a response cheaper. */
  function handle(request: FastifyRequest, reply: FastifyReply): void {
    try {
      answer(request, reply);
    } catch (error) {
      reply.send(error);
    }
  }

  function answer(request: FastifyRequest, reply: FastifyReply): void {
    const { method, headers } = request;
    // A stream as the response to HEAD would never end.
    const events = method !== "HEAD" && wantsEventStream(headers.accept);
    const mediaType = mediaTypeOf(headers.accept);
    if (mediaType === null && !events)
      throw new RequestError(406, "Answers are application/graphql-response+json or application/json");
    const byUrl = method === "GET" || method === "HEAD";
    if (byUrl && isCrossSite(headers, { origins })) {
      throw failure("FORBIDDEN", "Pages of other sites must send the header GraphQL-Require-Preflight with a GET");
    }
    const graphqlRequest = byUrl ? readUrlRequest(request.query) : readRequest(request.body);
    if (graphqlRequest instanceof GraphQLError) throw graphqlRequest;
    if (events) {
      // Errors of the document are sent in the stream, where the client expects them.
      stream(graphqlRequest, request, reply);
      return;
    }
    const operation = documents.bounded(graphqlRequest);
    if ("errors" in operation) {
      refuse(operation.errors, request, reply);
      return;
    }
    const kind = operation.node.operation;
    if (kind === OperationTypeNode.MUTATION && method !== "POST") {
      throw new RequestError(405, `Mutations are sent by POST, not by ${method}`, { allow: "POST" });
    }
    if (kind === OperationTypeNode.SUBSCRIPTION) {
      throw failure("BAD_REQUEST", "Subscriptions are answered over a WebSocket, or with Accept: text/event-stream");
    }
    execute(graphqlRequest, operation, { request, reply, mediaType: mediaType ?? JSON_TYPE });
  }

  // GET as a route of its own: the WebSockets share it.
  for (const method of ["GET", "POST", "QUERY"] as const) {
    scope.route({ bodyLimit: limits.bytes, method, url: path, handler: handle });
  }
  scope.options(path, async (_request, reply) =>
    reply.code(204).headers({ allow: METHODS, "accept-query": QUERY_TYPES }).send(),
  );
  scope.route({
    method: ["DELETE", "PATCH", "PUT", "TRACE"],
    url: path,
    // Before the body is read.
    onRequest: async ({ method }) => {
      throw new RequestError(405, `Operations are sent by ${METHODS}, not by ${method}`, { allow: METHODS });
    },
    handler: handle,
  });
}

function send(reply: FastifyReply, mediaType: string, body: object): FastifyReply {
  return reply
    .header("content-type", `${mediaType}; charset=utf-8`)
    .header("cache-control", "no-store")
    .send(JSON.stringify(body));
}
