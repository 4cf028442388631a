/** The HTTP response for a request that failed before execution. */
import { GraphQLError, type GraphQLFormattedError } from "graphql";
import { type ErrorContext, isCode, present, statuses, unwrapErrors } from "../errors.ts";
import type { Limits } from "../limits/limits.ts";
import { JSON_TYPE, type MediaType } from "./negotiate.ts";

/** A request error with an HTTP status that is more precise than the one of its code. */
export class RequestError extends Error {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(statusCode: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.statusCode = statusCode;
    this.headers = headers;
  }
}

export interface ErrorResponse {
  readonly status: number;
  /** Without `data` (GraphQL 7.1). */
  readonly body: { readonly errors: readonly GraphQLFormattedError[] };
}

/**
 * The codes that `application/json` answers with 200: well-formed requests whose document or values cannot be
 * executed. Clients that know only this type take any other status for an error of an intermediary.
 */
const answeredByJson: ReadonlySet<unknown> = new Set([
  "GRAPHQL_PARSE_FAILED",
  "GRAPHQL_VALIDATION_FAILED",
  "LIMIT_EXCEEDED",
  "BAD_USER_INPUT",
]);

const asGraphQL = (error: Error): GraphQLError =>
  error instanceof GraphQLError ? error : new GraphQLError(error.message, { originalError: error });

/** Converts Fastify's error for a body that is too large. */
export function bodyTooLarge(error: Error, limits: Pick<Limits, "bytes">): Error {
  if (!("code" in error) || error.code !== "FST_ERR_CTP_BODY_TOO_LARGE") return error;
  const extensions = { code: "LIMIT_EXCEEDED", limit: "bytes", maximum: limits.bytes };
  const message = `The request is too large; the limit is ${limits.bytes}`;
  return new GraphQLError(message, { originalError: new RequestError(413, message), extensions });
}

/** @param faults Errors thrown or found by Fastify, mercurius or our own checks; at least one. */
export function errorResponse(
  faults: readonly Error[],
  mediaType: MediaType,
  errorContext: ErrorContext,
): ErrorResponse {
  const errors = faults.map(asGraphQL);
  const presented = errors.flatMap(unwrapErrors).map((error) => present(error, errorContext));
  const code = presented[0]?.extensions?.code;
  const cause = errors[0]?.originalError;
  const own = cause !== undefined && "statusCode" in cause ? cause.statusCode : undefined;
  const byCode = statuses[isCode(code) ? code : "INTERNAL_SERVER_ERROR"];
  // The transport's own statuses are finer than a code (405, 413, 415); never one that hides a fault of ours.
  const precise = (code === "BAD_REQUEST" || code === "LIMIT_EXCEEDED") && typeof own === "number" ? own : byCode;
  const status = mediaType === JSON_TYPE && precise === 400 && answeredByJson.has(code) ? 200 : precise;
  return { status, body: { errors: presented } };
}
