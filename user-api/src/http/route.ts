/** The GraphQL endpoint: GET and POST as specified by GraphQL over HTTP, and QUERY (RFC 10008). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GraphQLError, OperationTypeNode } from "graphql";
import { asGraphqlError, createFailure, isErrorCode, statusByCode } from "../errors.ts";
import type { Executor } from "../execution/executor.ts";
import type { GraphqlRequest } from "../limits/documents.ts";
import { type Limits, limitExceeded } from "../limits/limits.ts";
import { TooManyRequests } from "../limits/rate.ts";
import { LONGEST_NAME } from "../operations/metrics.ts";
import { isCrossSite } from "./cross-site.ts";
import { JSON_TYPE, type MediaType, mediaTypeOf, wantsEventStream } from "./negotiate.ts";
import { CONTENT_TYPES, parseBodies, RequestError, readRequest, readUrlRequest } from "./request.ts";

export interface GraphqlRouteOptions {
  readonly path: string;
  readonly executor: Executor;
  readonly limits: Limits;
  readonly origins: readonly string[];
  readonly stream: (graphqlRequest: GraphqlRequest, request: FastifyRequest, reply: FastifyReply) => void;
}

const METHODS = "GET, POST, QUERY";
/** The content types of QUERY requests (RFC 10008, section 3). */
const QUERY_TYPES = CONTENT_TYPES.join(", ");

/** Registers the endpoint with its own parsers and error handler; call it in a Fastify scope of its own. */
export function serveGraphql(scope: FastifyInstance, options: GraphqlRouteOptions): void {
  const { path, executor, limits, origins, stream } = options;
  parseBodies(scope);

  function refuse(faults: readonly Error[], request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const mediaType = mediaTypeOf(request.headers.accept) ?? JSON_TYPE;
    const errors = faults.map(asGraphqlError);
    const presented = executor.refuse(errors, request);
    for (const fault of faults) if (fault instanceof RequestError) reply.headers(fault.headers);
    // The response has no `data` (GraphQL 7.1).
    return send(reply.code(statusOf(errors, presented[0]?.extensions?.code, mediaType)), mediaType, {
      errors: presented,
    });
  }

  scope.setErrorHandler((error: Error, request, reply) => {
    if (!(error instanceof TooManyRequests)) return refuse([bodyTooLarge(error, limits)], request, reply);
    // The body was not read yet, so this is an HTTP response and not a GraphQL one.
    return send(reply.code(429).header("retry-after", error.seconds), JSON_TYPE, { error: error.message });
  });

  /** Returns no promise to Fastify: each promise that is avoided makes a response cheaper. */
  function answer(request: FastifyRequest, reply: FastifyReply): void {
    const { method, headers } = request;
    // A stream as the response to HEAD would never end.
    const events = method !== "HEAD" && wantsEventStream(headers.accept);
    const mediaType = mediaTypeOf(headers.accept);
    if (mediaType === null && !events)
      throw new RequestError(406, "Answers are application/graphql-response+json or application/json");
    const byUrl = method === "GET" || method === "HEAD";
    if (byUrl && isCrossSite(headers, { origins })) {
      throw createFailure(
        "FORBIDDEN",
        "Pages of other sites must send the header GraphQL-Require-Preflight with a GET",
      );
    }
    const graphqlRequest = byUrl ? readUrlRequest(request.query) : readRequest(request.body);
    if (graphqlRequest instanceof GraphQLError) throw graphqlRequest;
    if (events) {
      // Errors of the document are sent in the stream, where the client expects them.
      stream(graphqlRequest, request, reply);
      return;
    }
    const operation = executor.check(graphqlRequest);
    if ("errors" in operation) {
      refuse(operation.errors, request, reply);
      return;
    }
    const kind = operation.node.operation;
    if (kind === OperationTypeNode.MUTATION && method !== "POST") {
      throw new RequestError(405, `Mutations must be sent by POST, not by ${method}`, { allow: "POST" });
    }
    if (kind === OperationTypeNode.SUBSCRIPTION) {
      throw createFailure(
        "BAD_REQUEST",
        "Subscriptions are answered over a WebSocket, or with Accept: text/event-stream",
      );
    }
    const variables = graphqlRequest.variables ?? {};
    executor
      .execute({ operation, variables }, request.caller.consumer, request)
      .then((result) => {
        if (!("data" in result)) return refuse(result.errors, request, reply);
        request.answered = { operation: operation.node.name?.value.slice(0, LONGEST_NAME), type: kind };
        return send(reply.code(200), mediaType ?? JSON_TYPE, result);
      })
      .catch((error: Error) => reply.send(error));
  }

  // Each method is registered as a route of its own, because WebSockets share the route of GET.
  for (const method of ["GET", "POST", "QUERY"] as const) {
    scope.route({ bodyLimit: limits.bytes, method, url: path, handler: answer });
  }
  scope.options(path, async (_request, reply) =>
    reply.code(204).headers({ allow: METHODS, "accept-query": QUERY_TYPES }).send(),
  );
  scope.route({
    method: ["DELETE", "PATCH", "PUT", "TRACE"],
    url: path,
    // Runs before the body is read.
    onRequest: async ({ method }) => {
      throw new RequestError(405, `Operations must be sent by ${METHODS}, not by ${method}`, { allow: METHODS });
    },
    handler: answer,
  });
}

function send(reply: FastifyReply, mediaType: string, body: object): FastifyReply {
  return reply
    .header("content-type", `${mediaType}; charset=utf-8`)
    .header("cache-control", "no-store")
    .send(JSON.stringify(body));
}

/**
 * The codes that are sent with status 200 in `application/json`: those of well-formed requests whose document or values
 * cannot be executed. Clients that know only this type take any other status for an error of an intermediary.
 */
const answeredByJson: ReadonlySet<unknown> = new Set([
  "GRAPHQL_PARSE_FAILED",
  "GRAPHQL_VALIDATION_FAILED",
  "LIMIT_EXCEEDED",
  "BAD_USER_INPUT",
]);

/** Converts Fastify's error for a body that is too large, and returns any other error unchanged. */
function bodyTooLarge(error: Error, limits: Limits): Error {
  if (!("code" in error) || error.code !== "FST_ERR_CTP_BODY_TOO_LARGE") return error;
  const { message, extensions } = limitExceeded("bytes", limits, "The request is too large");
  return new GraphQLError(message, { originalError: error, extensions });
}

/** The status of a response with these errors: the first one decides. */
function statusOf([error]: readonly GraphQLError[], code: unknown, mediaType: MediaType): number {
  const cause = error?.originalError;
  const own = cause !== undefined && "statusCode" in cause ? cause.statusCode : undefined;
  const byCode = statusByCode[isErrorCode(code) ? code : "INTERNAL_SERVER_ERROR"];
  // For these two codes, the status of an HTTP error (such as 405, 413 or 415) is more precise than the status of the
  // code. For other codes it is ignored, because it could hide an internal error.
  const precise = (code === "BAD_REQUEST" || code === "LIMIT_EXCEEDED") && typeof own === "number" ? own : byCode;
  return mediaType === JSON_TYPE && precise === 400 && answeredByJson.has(code) ? 200 : precise;
}
