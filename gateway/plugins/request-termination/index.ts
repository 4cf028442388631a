/**
 * request-termination: ends requests with a configured response
 * (docs/reference/kong-compatibility.md#request-termination).
 */
import { type DirectResponse, definePlugin, type ExchangeRequest, headerValue, lowerCase } from "@sluice/plugin-sdk";
import { echoOf, queryPairs } from "./echo.ts";
import { type RequestTerminationConfig, requestTerminationFacts } from "./schema.ts";

const defaultMessages: ReadonlyMap<number, string> = new Map([
  [401, "Unauthorized"],
  [404, "Not found"],
  [405, "Method not allowed"],
  [500, "An unexpected error occurred"],
  [502, "Bad Gateway"],
  [503, "Service unavailable"],
]);

const json = { "Content-Type": "application/json; charset=utf-8" };

/**
 * Unlike other messages of the gateway, the message of this response is JSON whatever the client accepts, and has no
 * request id (as in Kong).
 */
function responseOf({ status_code: status, body, content_type: type }: RequestTerminationConfig, message?: string) {
  if (body !== null) return { status, body, ...(type !== null && { headers: { "Content-Type": headerValue(type) } }) };
  return message === undefined ? { status, body: "" } : { status, headers: json, body: JSON.stringify({ message }) };
}

/**
 * Returns a function that tells whether a request has the trigger; null: every request has it. As in Kong, a trigger
 * `a_b` is also found in a header `a-b`.
 */
function triggerTest(trigger: string | null): (request: ExchangeRequest) => boolean {
  if (trigger === null) return () => true;
  const headers = [...new Set([lowerCase(trigger), lowerCase(trigger.replaceAll("_", "-"))])];
  return (request) => {
    if (headers.some((header) => request.header(header) !== undefined)) return true;
    if (request.query.length > 1) for (const [name] of queryPairs(request.query)) if (name === trigger) return true;
    return false;
  };
}

export const requestTermination = definePlugin({
  ...requestTerminationFacts,
  phases(config) {
    const { status_code: status } = config;
    const message = config.message ?? defaultMessages.get(status);
    const response: DirectResponse = responseOf(config, message);
    // A gRPC client reads the body or message from a header.
    const grpcResponse: DirectResponse = { status, message: config.body ?? message ?? "" };
    const isTriggered = triggerTest(config.trigger);
    return {
      access(exchange) {
        const { request } = exchange;
        if (!isTriggered(request)) return undefined;
        if (request.header("content-type")?.startsWith("application/grpc")) return grpcResponse;
        if (!config.echo) return response;
        return echoOf(exchange, message).then((body) => ({ status, headers: json, body }));
      },
    };
  },
});
