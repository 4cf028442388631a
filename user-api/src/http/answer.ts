/** The HTTP answer for an operation that was executed, or for a request of which nothing was. */
import type { ExecutionResult, GraphQLError, GraphQLFormattedError } from "graphql";
import { isCode, type Occasion, present, statuses, unwrapped } from "../errors.ts";
import { JSON_TYPE, type MediaType } from "./negotiate.ts";

export interface Answer {
  readonly status: number;
  /** Without `data` when nothing was executed (GraphQL 7.1). */
  readonly body: { readonly data?: ExecutionResult["data"]; readonly errors?: readonly GraphQLFormattedError[] };
}

/**
 * What `application/json` answers with 200: well-formed requests with documents or values that cannot be executed.
 * Clients that know no other type take every other status for a fault on the way.
 */
const answeredByJson: ReadonlySet<unknown> = new Set([
  "GRAPHQL_PARSE_FAILED",
  "GRAPHQL_VALIDATION_FAILED",
  "LIMIT_EXCEEDED",
  "BAD_USER_INPUT",
]);

/** The answer for a request of which nothing was executed. */
export function refusal(errors: readonly GraphQLError[], mediaType: MediaType, occasion: Occasion): Answer {
  const presented = errors.flatMap(unwrapped).map((error) => present(error, occasion));
  const code = presented[0]?.extensions?.code;
  const cause = errors[0]?.originalError;
  const own = cause !== undefined && "statusCode" in cause ? cause.statusCode : errors[0]?.extensions.status;
  const byCode = statuses[isCode(code) ? code : "INTERNAL_SERVER_ERROR"];
  // The transport's own statuses are finer than a code (405, 413, 415); never one that hides a fault of ours.
  const precise = code === "BAD_REQUEST" && typeof own === "number" ? own : byCode;
  const status = mediaType === JSON_TYPE && answeredByJson.has(code) ? 200 : precise;
  return { status, body: { errors: presented } };
}
