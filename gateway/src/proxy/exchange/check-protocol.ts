/** Checks that a request uses a protocol that its route serves. */

import type { DirectResponse } from "../../exchange/exchange.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { isGrpcService } from "./grpc.ts";
import type { LiveExchange } from "./live-exchange.ts";

/**
 * Null when it does, else the response. If route or service require gRPC the client must use HTTP/2: an HTTP/1.1 client
 * would not receive the trailers of a gRPC upstream.
 */
export function checkProtocol({ route, request, service }: LiveExchange): DirectResponse | GatewayErrorName | null {
  const { protocols } = route;
  const first = protocols[0];
  const isHttp2 = request.head.httpVersion === "2";
  if (first === "http" || first === "https") {
    if (request.scheme === "http" && !protocols.includes("http")) return toHttps({ route, request });
    return service === null || isHttp2 || !isGrpcService(service) ? null : "needsHttp2";
  }
  if (request.header("content-type")?.startsWith("application/grpc") !== true) return "notGrpc";
  if (!isHttp2) return "needsHttp2";
  return request.scheme === "https" || protocols.includes("grpc") ? null : needsGrpcs;
}

/** Kong's response to a gRPC call without TLS on a route that requires TLS: CANCELLED. */
const needsGrpcs: DirectResponse = {
  status: 200,
  headers: {
    "Content-Type": "application/grpc",
    "grpc-status": "1",
    "grpc-message": "gRPC request matched gRPCs route",
  },
  body: "",
};

function toHttps({ route, request }: Pick<LiveExchange, "route" | "request">): DirectResponse | GatewayErrorName {
  const status = route.https_redirect_status_code;
  if (status === 426) return "needsHttps";
  const host = request.host.replace(/:\d+$/, "");
  return { status, headers: { Location: `https://${host}${request.target.sentPath}${request.query}` }, body: "" };
}
