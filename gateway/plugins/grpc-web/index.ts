/** grpc-web: converts between gRPC-Web and gRPC (docs/reference/kong-compatibility.md#grpc-web). */
import { type DirectResponse, definePlugin, type Exchange, ExchangeValues } from "@sluice/plugin-sdk";
import { decodedText, encodedText, trailerFrame } from "./messages.ts";
import { grpcWebFacts } from "./schema.ts";

/** The media types of gRPC-Web, and whether bodies of each are in base64. */
const isText: ReadonlyMap<string, boolean> = new Map([
  ["application/grpc-web", false],
  ["application/grpc-web+proto", false],
  ["application/grpc-web-text", true],
  ["application/grpc-web-text+proto", true],
]);

/** Maximum bytes of a body in base64, which is buffered to be decoded as a whole. */
const MAX_BODY = 8 * 1024 * 1024;

const ORIGIN = "Access-Control-Allow-Origin";

/** Kong's response to all other media types, which Kong could convert only with a .proto file. */
const unsupportedType: DirectResponse = {
  status: 400,
  body: "transcoding requests require a .proto file defining the service",
};
const tooLarge: DirectResponse = { status: 413, message: "Payload too large" };
const invalidText: DirectResponse = { status: 400, message: "The body is not valid base64" };

/** Replaces a body in base64 by the decoded bytes. Resolves to the refusal of a body that is too long or invalid. */
async function decodeBody(exchange: Exchange): Promise<DirectResponse | undefined> {
  const body = await exchange.request.body(MAX_BODY);
  if (body === null) return tooLarge;
  const bytes = decodedText(body);
  if (bytes === null) return invalidText;
  exchange.replaceBody(bytes);
  return undefined;
}

/**
 * The headers grpc-status and grpc-message of the response, as a flat list of names and values. A response without gRPC
 * messages may have the status of the call in its headers (Trailers-Only).
 */
const statusInHead = (exchange: Exchange): readonly string[] =>
  (["grpc-status", "grpc-message"] as const).flatMap((name) =>
    exchange.responseHeaderValues(name).flatMap((value) => [name, value]),
  );

export const grpcWeb = definePlugin({
  ...grpcWebFacts,
  phases({ allow_origin_header: origin, pass_stripped_path: passesStrippedPath }) {
    /** Media types of the requests that were converted. */
    const converted = new ExchangeValues<string>();

    const preflight: DirectResponse = {
      status: 200,
      headers: {
        "Content-Type": "application/grpc-web-text+proto",
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": "content-type,x-grpc-web,x-user-agent",
      },
      body: "OK",
    };

    /** The media type of a response that is converted; undefined: the response stays as it is. */
    function typeOf(exchange: Exchange): string | undefined {
      // If the HTTP status is not 200, clients derive the status of the call from it.
      return exchange.source === "service" && exchange.status === 200 ? converted.get(exchange) : undefined;
    }

    return {
      access(exchange) {
        const { request, upstreamHeaders } = exchange;
        exchange.responseHeaders.set(ORIGIN, origin);
        if (request.method === "OPTIONS") return preflight;
        const type = (request.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
        const isEncoded = isText.get(type);
        if (isEncoded === undefined) return unsupportedType;
        converted.set(exchange, type);
        exchange.convertsGrpc = true;
        upstreamHeaders.set("Content-Type", "application/grpc");
        upstreamHeaders.set("TE", "trailers");
        if (passesStrippedPath !== true) exchange.upstreamPath = request.path;
        return isEncoded ? decodeBody(exchange) : undefined;
      },

      responseHeaders(exchange) {
        const type = typeOf(exchange);
        if (type !== undefined) exchange.responseHeaders.set("Content-Type", type);
      },

      responseBody(exchange) {
        const type = typeOf(exchange);
        if (type === undefined) return null;
        const encoded = isText.get(type) === true ? encodedText : (bytes: Buffer) => bytes;
        const head = statusInHead(exchange);
        return {
          piece: encoded,
          end: (trailers) => encoded(trailerFrame(trailers.length > 0 ? trailers : head)),
        };
      },
    };
  },
});
