/** The HTTP response for a request that failed before execution. */
import { GraphQLError } from "graphql";
import { isCode, statuses } from "../errors.ts";
import { type Limits, limitExceeded } from "../limits/limits.ts";
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

/** Converts Fastify's error for a body that is too large. */
export function bodyTooLarge(error: Error, limits: Limits): Error {
  if (!("code" in error) || error.code !== "FST_ERR_CTP_BODY_TOO_LARGE") return error;
  const { message, extensions } = limitExceeded("bytes", limits, "The request is too large");
  return new GraphQLError(message, { originalError: error, extensions });
}

/** The status for errors of Fastify or of our own checks, of which the first one decides. */
export function statusOf([error]: readonly GraphQLError[], code: unknown, mediaType: MediaType): number {
  const cause = error?.originalError;
  const own = cause !== undefined && "statusCode" in cause ? cause.statusCode : undefined;
  const byCode = statuses[isCode(code) ? code : "INTERNAL_SERVER_ERROR"];
  // The transport's own statuses are finer than a code (405, 413, 415); never one that hides a fault of ours.
  const precise = (code === "BAD_REQUEST" || code === "LIMIT_EXCEEDED") && typeof own === "number" ? own : byCode;
  return mediaType === JSON_TYPE && precise === 400 && answeredByJson.has(code) ? 200 : precise;
}
