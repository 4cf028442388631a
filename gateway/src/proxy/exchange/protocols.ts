/** Checks whether a request uses a protocol that its route serves, and recognises requests of gRPC. */
import { type Service, streamProtocols } from "@sluice/model/serving";
import type { DirectResponse } from "@sluice/plugin-sdk";
import { isGrpcService } from "../../compile/upstream.ts";
import { errorAnswer, type GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { LiveExchange } from "./live-exchange.ts";
import type { IncomingRequest } from "./request.ts";

/** `application/grpc`, with an optional format (`+proto`); not gRPC-Web, which also runs over HTTP/1.1. */
const GRPC = /^application\/grpc(?:$|[+;\s])/i;

export const isGrpc = (request: IncomingRequest): boolean => GRPC.test(request.header("content-type") ?? "");

const STATUS = /^\d{1,2}$/;

/** The status of a gRPC call from the final headers or trailers (flat list) of its response; null: none or invalid. */
export function grpcStatusOf(fields: readonly (string | Buffer)[]): number | null {
  for (let at = 0; at < fields.length; at += 2) {
    const value = String(fields[at + 1]);
    if (String(fields[at]).toLowerCase() === "grpc-status") return STATUS.test(value) ? Number(value) : null;
  }
  return null;
}

/** Status codes that are server errors (OpenTelemetry's semantic conventions for gRPC). */
const SERVER_FAULTS: ReadonlySet<number> = new Set([2, 4, 12, 13, 14, 15]);

export const isServerFault = (status: number): boolean => SERVER_FAULTS.has(status);

const isForConnections = ({ protocol }: Service): boolean => streamProtocols.some((one) => one === protocol);

/**
 * Checks that a request uses a protocol that its route and its service have. Returns null when it does, else the response. If the
 * route requires gRPC, the client must use HTTP/2: an HTTP/1.1 client would not receive the trailers of a gRPC
 * upstream.
 */
export function checkProtocol({ route, request, service }: LiveExchange): DirectResponse | GatewayErrorName | null {
  const { protocols } = route;
  // Kong accepts such a service for a route of requests, too, and answers 500.
  if (service !== null && isForConnections(service)) {
    const { protocol, name, host } = service;
    return errorAnswer(
      "closed",
      `the protocol of the service ${name ?? host} is ${protocol}, which is not for requests`,
    );
  }
  const first = protocols[0];
  const isHttp2 = request.head.httpVersion === "2";
  if (first === "http" || first === "https") {
    return request.scheme === "http" && !protocols.includes("http") ? toHttps({ route, request }) : null;
  }
  if (request.header("content-type")?.startsWith("application/grpc") !== true) return "notGrpc";
  if (!isHttp2) return "needsHttp2";
  return request.scheme === "https" || protocols.includes("grpc") ? null : needsGrpcs;
}

/** Whether the client can call the service. A gRPC service needs HTTP/2, or a plugin that converts the trailers. */
export const mayCall = (service: Service, { request, convertsGrpc, sender }: LiveExchange): boolean =>
  !isGrpcService(service) || request.head.httpVersion === "2" || (convertsGrpc && sender?.reachesGrpc === true);

/** Kong's response to a gRPC call without TLS on a route that requires TLS: the gRPC status is CANCELLED (1). */
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
