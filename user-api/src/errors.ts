/** The errors that clients receive: a message and a stable `extensions.code`. */
import type { FastifyRequest } from "fastify";
import { GraphQLError, type GraphQLFormattedError } from "graphql";

/** Every code, with the HTTP status of a response without `data` that has this code. */
export const statusByCode = {
  BAD_REQUEST: 400,
  GRAPHQL_PARSE_FAILED: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  LIMIT_EXCEEDED: 400,
  PERSISTED_QUERY_NOT_FOUND: 400,
  BAD_USER_INPUT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  SLOW_CONSUMER: 429,
  RATE_LIMITED: 429,
  INTERNAL_SERVER_ERROR: 500,
  TIMEOUT: 503,
  UNAVAILABLE: 503,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof statusByCode;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === "string" && Object.hasOwn(statusByCode, code);

/** An error that is sent to clients unchanged. */
export function createFailure(
  code: ErrorCode,
  message: string,
  extensions: Readonly<Record<string, unknown>> = {},
): GraphQLError {
  return new GraphQLError(message, { extensions: { code, ...extensions } });
}

/**
 * The messages of graphql-js (execution/values.js) for a client's value that does not fit its type. When a nullable
 * variable passes null to a non-null argument, graphql-js detects this only while it executes the field.
 */
const VALUE_FAULT = /^(?:Variable|Argument) "[^"]*" (?:(?:got|has) invalid value|of (?:required|non-null) type)/;

/**
 * The code of an error. An error of graphql-js has none and is classified by its message and its cause. Null: the error
 * is not the client's fault.
 */
export function graphqlErrorCode(error: GraphQLError): ErrorCode | null {
  if (isErrorCode(error.extensions.code)) return error.extensions.code;
  const executed = error.path !== undefined;
  const cause = error.originalError;
  const standard = cause === undefined || cause instanceof GraphQLError;
  if (standard && VALUE_FAULT.test(error.message)) return "BAD_USER_INPUT";
  if (executed) return null;
  if (standard) return error.message.startsWith("Syntax Error") ? "GRAPHQL_PARSE_FAILED" : "GRAPHQL_VALIDATION_FAILED";
  const status = "statusCode" in cause ? cause.statusCode : undefined;
  return typeof status === "number" && status >= 400 && status < 500 ? "BAD_REQUEST" : null;
}

export const errorCodesOf = (errors: readonly GraphQLFormattedError[] | undefined): readonly unknown[] =>
  (errors ?? []).map(({ extensions }) => extensions?.code);

/** The id and the log of the request in which an error occurred. The log adds the id to each line. */
export type ErrorContext = Pick<FastifyRequest, "log" | "id">;

/**
 * The error for the client. An error that is not the client's fault is logged with its cause and sent without details.
 */
export function formatError(error: GraphQLError, { log, id }: ErrorContext): GraphQLFormattedError {
  const code = graphqlErrorCode(error);
  if (code !== null) {
    const formatted = error.toJSON();
    return { ...formatted, extensions: { ...formatted.extensions, code } };
  }
  log.error({ err: error.originalError ?? error, path: error.path }, "a request failed");
  return {
    message: `Internal server error; the log has the cause under the request id ${id}`,
    ...(error.path === undefined ? {} : { path: error.path }),
    extensions: { code: "INTERNAL_SERVER_ERROR", requestId: id },
  };
}

/** Returns a GraphQL error unchanged. An error of another kind becomes the cause of a new GraphQL error. */
export function asGraphqlError(fault: unknown): GraphQLError {
  if (fault instanceof GraphQLError) return fault;
  const originalError = fault instanceof Error ? fault : new Error(String(fault));
  return new GraphQLError(originalError.message, { originalError });
}
