/**
 * Error responses of the gateway itself, with Kong's messages where Kong has the same response. None of them reveals
 * how the gateway is configured.
 */
import type { DirectResponse } from "@sluice/plugin-sdk";

export interface GatewayError {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * In Kong, nginx generates this response: without Accept, its format follows the request's Content-Type and is plain
   * text by default.
   */
  readonly transport?: true;
}

const upgradeTo = (protocol: string) => ({ Connection: "Upgrade", Upgrade: protocol });

export const gatewayErrors = {
  badRequest: { status: 400, message: "Bad request", transport: true },
  brokenEscape: {
    status: 400,
    message: "Bad request: a % in the path must be followed by two hexadecimal digits",
    transport: true,
  },
  dotSegmentParameter: {
    status: 400,
    message: "Bad request: a dot segment of the path must not have parameters",
    transport: true,
  },
  requestTimeout: { status: 408, message: "Request timeout", transport: true },
  unknownExpectation: { status: 417, message: "Expectation failed", transport: true },
  targetTooLong: { status: 414, message: "URI too long", transport: true },
  headTooLarge: { status: 431, message: "Request header or cookie too large", transport: true },
  /** nginx's status for a client that disconnected before its response; visible to plugins and logs only. */
  clientGone: { status: 499, message: "Client closed request", transport: true },
  unknownCoding: { status: 501, message: "Not implemented", transport: true },
  unknownVersion: { status: 505, message: "HTTP version not supported", transport: true },
  noRoute: { status: 404, message: "no Route matched with those values" },
  noService: { status: 503, message: "no Service found with those values" },
  needsHttps: { status: 426, message: "Please use HTTPS protocol", headers: upgradeTo("TLS/1.2, HTTP/1.1") },
  needsHttp2: { status: 426, message: "Please use HTTP2 protocol", headers: upgradeTo("HTTP/2") },
  notGrpc: { status: 415, message: "Non-gRPC request matched gRPC route" },
  closed: { status: 503, message: "This route is currently unavailable" },
  nameResolution: { status: 503, message: "name resolution failed" },
  noPeer: { status: 503, message: "failure to get a peer from the ring-balancer" },
  badUpstream: { status: 502, message: "An invalid response was received from the upstream server", transport: true },
  upstreamDown: { status: 503, message: "The upstream server is currently unavailable", transport: true },
  upstreamTimeout: { status: 504, message: "The upstream server is timing out", transport: true },
  unexpected: { status: 500, message: "An unexpected error occurred", transport: true },
} satisfies Record<string, GatewayError>;

export type GatewayErrorName = keyof typeof gatewayErrors;

/** An error response. The reason is logged and not sent to the client. */
export function errorAnswer(name: GatewayErrorName, reason: string): DirectResponse {
  const { status, message } = gatewayErrors[name];
  return { status, message, reason };
}
