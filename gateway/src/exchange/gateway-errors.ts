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
   * In Kong, nginx generates this response. Therefore, without Accept, its format follows the request's Content-Type,
   * and is plain text by default.
   */
  readonly transport?: true;
  /** When the gateway sends this response. */
  readonly cause: string;
  /** Where an administrator finds the reason for a single response. */
  readonly evidence: string;
  /** What to change. */
  readonly cure: string;
}

const upgradeTo = (protocol: string) => ({ Connection: "Upgrade", Upgrade: protocol });

const explanation = "`POST /explain` of the admin API";
const reasonInLog = "the node's log: the line with this `requestId` has the `reason`";
const accessLog = "the access log (`SLUICE_PROXY_ACCESS_LOG`)";
const clientBytes = "the bytes that the client sends, for example with `curl -v --raw`";

/**
 * The single source of the page docs/reference/errors.md, which `npm run generate` writes; the texts are Markdown.
 * Clients receive only status, message and headers.
 */
export const gatewayErrors = {
  badRequest: {
    status: 400,
    message: "Bad request",
    transport: true,
    cause:
      "The request violates HTTP, or could be read in two ways: a malformed head or chunk, a missing, repeated or " +
      "invalid Host, or contradictory lengths. The connection is closed, because the start of the next request is " +
      "unknown.",
    evidence: clientBytes,
    cure: "Correct the client, or the proxy in front of the gateway that wrote the request.",
  },
  brokenEscape: {
    status: 400,
    message: "Bad request: a % in the path must be followed by two hexadecimal digits",
    transport: true,
    cause: "The path contains a `%` that begins no escape, such as `/100%`.",
    evidence: "the URL that the client sends",
    cure: "Write a literal `%` as `%25`.",
  },
  dotSegmentParameter: {
    status: 400,
    message: "Bad request: a dot segment of the path must not have parameters",
    transport: true,
    cause:
      "A segment of the path is `.` or `..` with parameters, such as `/a/..;x/b`. Some upstreams remove the parameters " +
      "and then resolve the dot segment, which would bypass routes and plugins.",
    evidence: "the URL that the client sends",
    cure: "Send the normalised path, without dot segments.",
  },
  requestTimeout: {
    status: 408,
    message: "Request timeout",
    transport: true,
    cause:
      "The client was too slow: the request's head did not arrive in time, or its body paused or arrived too slowly.",
    evidence: `${accessLog}: the bytes of the request and the duration`,
    cure:
      "Check the client's network. For clients that are slow by nature, raise `SLUICE_CLIENT_HEADER_TIMEOUT` or " +
      "`SLUICE_CLIENT_BODY_TIMEOUT`, or lower `SLUICE_CLIENT_BODY_MIN_RATE`.",
  },
  targetTooLong: {
    status: 414,
    message: "URI too long",
    transport: true,
    cause: "The request line, with method and URL, exceeds 8 kB.",
    evidence: "the URL that the client sends",
    cure: "Send large parameters in the body of a POST.",
  },
  notGrpc: {
    status: 415,
    message: "Non-gRPC request matched gRPC route",
    cause: "The route's `protocols` are `grpc` or `grpcs`, and the request's Content-Type is not `application/grpc`.",
    evidence: explanation,
    cure:
      "If the route is for ordinary requests, set its `protocols` to `http` and `https`. Otherwise give it a path " +
      "that ordinary requests do not match.",
  },
  unknownExpectation: {
    status: 417,
    message: "Expectation failed",
    transport: true,
    cause: "The header Expect has a value other than `100-continue`.",
    evidence: clientBytes,
    cure: "Remove the header Expect from the client's requests.",
  },
  misdirected: {
    status: 421,
    message: "Misdirected request",
    cause:
      "The request came to an HTTPS listener of a Gateway over a connection whose TLS server name (SNI) selects a " +
      "listener other than that of the request's host. Clients that reuse a connection for several hosts send the " +
      "request again on a new connection.",
    evidence: `${explanation}, with the server name as \`server_name\``,
    cure:
      "Send the host as the server name. If a certificate covers the hosts of several listeners, browsers reuse " +
      "connections for all of them: use a certificate for each listener.",
  },
  needsHttps: {
    status: 426,
    message: "Please use HTTPS protocol",
    headers: upgradeTo("TLS/1.2, HTTP/1.1"),
    cause: "The route's `protocols` contain only `https`, and the request came without TLS.",
    evidence: explanation,
    cure:
      "Use an `https` URL. To redirect clients, set the route's `https_redirect_status_code` to 301. If a proxy in front " +
      "of the gateway terminates TLS, list it in `SLUICE_TRUSTED_IPS` and let it send `X-Forwarded-Proto`.",
  },
  needsHttp2: {
    status: 426,
    message: "Please use HTTP2 protocol",
    headers: upgradeTo("HTTP/2"),
    cause: "A request over HTTP/1.1 matched a gRPC route, or a route whose service speaks gRPC.",
    evidence: explanation,
    cure: "Use HTTP/2 in the client. For browsers, add the plugin grpc-web.",
  },
  headTooLarge: {
    status: 431,
    message: "Request header or cookie too large",
    transport: true,
    cause: "The headers exceed 16 kB together, or there are more than 100 of them.",
    evidence: clientBytes,
    cure: "Remove headers; usually cookies have accumulated for the domain.",
  },
  clientGone: {
    /** nginx's status for a client that disconnected before its response; visible to plugins and logs only. */
    status: 499,
    message: "Client closed request",
    transport: true,
    cause: "The client disconnected before its response began. The status is in logs and metrics only.",
    evidence: `${accessLog}: the duration`,
    cure: "Compare the duration with the client's timeout: usually the upstream takes longer than the client waits.",
  },
  unexpected: {
    status: 500,
    message: "An unexpected error occurred",
    transport: true,
    cause:
      "A plugin failed: it threw an error, its counters cannot be reached, or a consumer that it names is missing.",
    evidence: "the node's log: the line with this `requestId` has the error of the plugin or the `reason`",
    cure:
      "Repair what the line names, such as Redis. With `fault_tolerant: true`, rate-limiting admits requests while its " +
      "counters cannot be reached. If the line shows a bug of Sluice, report it.",
  },
  unknownCoding: {
    status: 501,
    message: "Not implemented",
    transport: true,
    cause: "Transfer-Encoding has a value other than `chunked`.",
    evidence: clientBytes,
    cure: "Send the body with Content-Length or with `chunked` alone, and compress with Content-Encoding.",
  },
  unknownProtocol: {
    status: 501,
    message: "Not implemented: the only protocol for CONNECT is websocket",
    transport: true,
    cause: "An HTTP/2 request with the method CONNECT has a `:protocol` other than `websocket`.",
    evidence: clientBytes,
    cure: "Let the client open a WebSocket, or send ordinary HTTP requests.",
  },
  badUpstream: {
    status: 502,
    message: "An invalid response was received from the upstream server",
    transport: true,
    cause:
      "The upstream refused or closed the connection, its certificate failed verification, or its response is not valid " +
      "HTTP or too large for a plugin that buffers it.",
    evidence: reasonInLog,
    cure:
      "Check that the upstream runs and listens at the service's host and port, that `protocol` is right (`http` or " +
      "`https`), and that its certificate is issued by a trusted CA (`ca_certificates` of the service).",
  },
  noRoute: {
    status: 404,
    message: "no Route matched with those values",
    cause: "No route matches the request by host, path, method, headers and server name.",
    evidence: `${explanation}, which names, for each of the nearest routes, the first attribute that does not match`,
    cure:
      "Correct the request or the route. In a cluster, also check that the Route is Accepted and Programmed " +
      "(`kubectl get gwroute -o wide`).",
  },
  noConfiguration: {
    status: 503,
    message: "no configuration is available yet",
    cause: "The node has just started, and its first configuration has not arrived.",
    evidence: "`GET /status/ready` of the node's status listener, which has the reason",
    cure:
      "Send requests only to nodes that are ready. If a node does not become ready, repair what the reason names: the " +
      "file, the database, or the connection from the operator.",
  },
  noService: {
    status: 503,
    message: "no Service found with those values",
    cause: "The route has no service, and no plugin answered the request.",
    evidence: explanation,
    cure: "Set the route's `service`, or add a plugin that answers, such as request-termination.",
  },
  closed: {
    status: 503,
    message: "This route is currently unavailable",
    cause:
      "The route is closed on purpose: its Service is missing or only for TCP or TLS connections, or a plugin that may " +
      "protect it is invalid, unknown, or cannot be created.",
    evidence: `${reasonInLog}; in a cluster also the condition of the resource that the reason names`,
    cure: "Repair or remove the resource that the reason names. The route opens as soon as the nodes have the change.",
  },
  nameResolution: {
    status: 503,
    message: "name resolution failed",
    cause: "The host of the service or target has no address in DNS, or the name server does not answer.",
    evidence: `${reasonInLog}, with the name`,
    cure:
      "Correct the `host`, or create an upstream of that name. Look the name up on the machine or in the pod of the node, " +
      "whose name servers may differ from yours.",
  },
  noPeer: {
    status: 503,
    message: "failure to get a peer from the ring-balancer",
    cause: "No target of the upstream accepts requests: there is none, all have the weight 0, or none is healthy.",
    evidence:
      "`GET /upstreams/health` of the node's status listener, and `GET /upstreams/{upstream}/health` of the admin API",
    cure: "Add a target, raise its weight, or repair it; check the path and the statuses of the health checks.",
  },
  upstreamDown: {
    status: 503,
    message: "The upstream server is currently unavailable",
    transport: true,
    cause:
      "The gateway refuses to connect to the upstream's address: loopback, link-local and metadata addresses and the " +
      "gateway's own listeners are refused, because a configuration could otherwise reach internal services.",
    evidence: `${reasonInLog}, with the address; \`sluice.refused_destinations\` in \`GET /status\` of the status listener`,
    cure: "If the address is intended, list it in `SLUICE_ALLOWED_UPSTREAMS`, such as `127.0.0.0/8` on your own machine.",
  },
  upstreamTimeout: {
    status: 504,
    message: "The upstream server is timing out",
    transport: true,
    cause: "The upstream did not accept a connection, read the request or send data within the service's timeouts.",
    evidence: `${reasonInLog}, which names the timeout`,
    cure:
      "Find out why the upstream is slow, or raise `connect_timeout`, `write_timeout` or `read_timeout` of the service. " +
      "If no connection is accepted, check firewalls and network policies.",
  },
  unknownVersion: {
    status: 505,
    message: "HTTP version not supported",
    transport: true,
    cause: "The request line names a version other than HTTP/1.0 and HTTP/1.1.",
    evidence: clientBytes,
    cure: "Use HTTP/1.1, or HTTP/2 from the first byte of the connection or by ALPN.",
  },
} satisfies Record<string, GatewayError>;

export type GatewayErrorName = keyof typeof gatewayErrors;

/** An error response. The reason is logged and not sent to the client. */
export function errorAnswer(name: GatewayErrorName, reason: string): DirectResponse {
  const { status, message } = gatewayErrors[name];
  return { status, message, reason };
}
