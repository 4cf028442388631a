/**
 * Refusals of GraphQL requests, as GraphQL over HTTP answers: a JSON object with `errors`. Clients that accept the media
 * type of GraphQL responses get it (GraphQL over HTTP, section 6.3), others get `application/json`.
 */
import type { DirectResponse, ExchangeRequest } from "@sluice/plugin-sdk";

/** The limits of the config, as errors and metrics name them. */
export type LimitName =
  | "depth"
  | "fields"
  | "rootFields"
  | "aliases"
  | "directives"
  | "tokens"
  | "length"
  | "batch"
  | "cost";

export type RefusalCode =
  | "BAD_REQUEST"
  | "DOCUMENT_NOT_TRUSTED"
  | "GRAPHQL_PARSE_FAILED"
  | "INTROSPECTION_DISABLED"
  | "LIMIT_EXCEEDED"
  | "METHOD_NOT_ALLOWED"
  | "OPERATION_RESOLUTION_FAILURE"
  | "PERSISTED_QUERY_NOT_FOUND"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "WEBSOCKET_NOT_ALLOWED";

export interface Refusal {
  readonly status: number;
  readonly code: RefusalCode;
  /** For the client: a sentence. */
  readonly message: string;
  /** Set with the code LIMIT_EXCEEDED. */
  readonly limit?: { readonly name: LimitName; readonly maximum: number };
}

export const malformedRequest = (message: string): Refusal => ({ status: 400, code: "BAD_REQUEST", message });

/** @param excess A clause that describes the excess, such as "The document is nested too deeply" */
export const beyondLimit = (name: LimitName, maximum: number, excess: string): Refusal => ({
  status: 400,
  code: "LIMIT_EXCEEDED",
  message: `${excess}; the limit is ${maximum}`,
  limit: { name, maximum },
});

const GRAPHQL_TYPE = "application/graphql-response+json";
const JSON_TYPE = "application/json";

/** The weight of a media type in Accept (RFC 9110 section 12.5.1); 0: the header does not name the type. */
function weightOf(accept: string, type: string): number {
  for (const range of accept.split(",")) {
    const [name, ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (name !== type) continue;
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0;
  }
  return 0;
}

export function responseOf({ status, code, message, limit }: Refusal, request: ExchangeRequest): DirectResponse {
  const accept = request.header("accept") ?? "";
  const weight = weightOf(accept, GRAPHQL_TYPE);
  const type = weight > 0 && weight >= weightOf(accept, JSON_TYPE) ? GRAPHQL_TYPE : JSON_TYPE;
  const extensions = limit === undefined ? { code } : { code, limit: limit.name, maximum: limit.maximum };
  return {
    status,
    headers: { "Content-Type": `${type}; charset=utf-8`, ...(status === 405 && { Allow: "POST" }) },
    body: JSON.stringify({ errors: [{ message, extensions }] }),
    reason: `graphql: ${message}`,
  };
}
