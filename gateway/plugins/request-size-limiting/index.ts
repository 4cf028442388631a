/** request-size-limiting: limits request bodies (docs/reference/kong-compatibility.md#request-size-limiting). */
import { type DirectResponse, definePlugin, type ExchangeRequest } from "@sluice/plugin-sdk";
import { requestSizeLimitingFacts } from "./schema.ts";

const bytesIn = { bytes: 1, kilobytes: 1024, megabytes: 1024 * 1024 } as const;

const message = "Request size limit exceeded";
const tooLarge: DirectResponse = { status: 413, message };
/** Sent instead of `tooLarge` to a client that waits for 100 Continue (RFC 9110 section 10.1.1). */
const expectationFailed: DirectResponse = { status: 417, message };
const lengthRequired: DirectResponse = { status: 411, message: "A valid Content-Length header is required" };

const refusal = (request: ExchangeRequest): DirectResponse =>
  request.header("expect")?.trim().toLowerCase() === "100-continue" ? expectationFailed : tooLarge;

/**
 * Whether the request has neither Content-Length nor a chunked body. The HTTP engines refuse a Content-Length that is
 * not a number, or that comes with a chunked body.
 */
const lacksLength = (request: ExchangeRequest): boolean =>
  request.header("content-length") === undefined && request.header("transfer-encoding")?.toLowerCase() !== "chunked";

export const requestSizeLimiting = definePlugin({
  ...requestSizeLimitingFacts,
  phases(config) {
    const limit = config.allowed_payload_size * bytesIn[config.size_unit];
    return {
      access(exchange) {
        const { request } = exchange;
        if (config.require_content_length && lacksLength(request)) return lengthRequired;
        return exchange.limitBody(limit, refusal(request));
      },
    };
  },
});
