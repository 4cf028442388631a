/** Start-up settings of `sluice gateway`. */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";
import { databaseSettings } from "./database.ts";
import { fileSettings } from "./file.ts";
import { observerSettings } from "./observers.ts";

export const logLevel = {
  variable: "SLUICE_LOG_LEVEL",
  kind: "choice",
  words: ["debug", "info", "warn", "error"],
  default: "info",
  description: "The least important log lines that are written.",
} as const;

export const compat = {
  variable: "SLUICE_COMPAT",
  kind: "choice",
  words: ["sluice", "kong"],
  default: "sluice",
  description: "`kong` brings back the header names X-Kong-* and the metric names kong_*.",
} as const;

export const allowedUpstreams = {
  variable: "SLUICE_ALLOWED_UPSTREAMS",
  kind: "addresses",
  ports: true,
  default: [],
  description:
    "Addresses and CIDR blocks to which nodes connect although they are refused by default (loopback, link-local, " +
    "multicast and metadata addresses), such as 127.0.0.0/8: for upstreams, health checks, and the Redis of a plugin. " +
    "`address:port` also allows one of the gateway's own listeners. The admin listener uses its own value for its " +
    "warnings: give it the same value as the nodes.",
} as const;

export const gatewaySettings = defineSettings({
  proxy: {
    variable: "SLUICE_PROXY_LISTEN",
    kind: "address",
    default: "127.0.0.1:8000",
    description: "Where clients' requests are taken.",
  },
  proxyTls: {
    variable: "SLUICE_PROXY_TLS_LISTEN",
    kind: "address",
    default: null,
    description:
      "Where clients' requests are taken over TLS, such as 127.0.0.1:8443: the certificate is the one whose SNI the " +
      "client asks for. Unset: nowhere.",
  },
  engine: {
    variable: "SLUICE_ENGINE",
    kind: "choice",
    words: ["http1", "reply-from"],
    default: "http1",
    description:
      "What carries HTTP/1.1: `http1` is Sluice's own engine on bare sockets, `reply-from` stands on Fastify and " +
      "@fastify/reply-from and costs more for each request.",
  },
  workers: {
    variable: "SLUICE_WORKERS",
    kind: "count",
    maximum: 255,
    default: 1,
    description:
      "How many threads take clients' requests, on one address; `auto`: one for each core that the process may use. " +
      "With more than 1 a thread of its own keeps documents, health checks and the other listeners, and each takes " +
      "memory of its own. Linux and FreeBSD only.",
  },
  workerTimeout: {
    variable: "SLUICE_WORKER_TIMEOUT",
    kind: "duration",
    default: 30_000,
    description:
      "After which time a thread that does nothing any more (its event loop does not turn) is replaced by another. With " +
      "more than one worker.",
  },
  proxyHttp2: {
    variable: "SLUICE_PROXY_HTTP2",
    kind: "flag",
    default: false,
    description:
      "Whether SLUICE_PROXY_LISTEN also takes HTTP/2 of clients that know beforehand, such as those of gRPC without " +
      "TLS. Over TLS clients may always choose it. With engine `http1`.",
  },
  keepAlive: {
    variable: "SLUICE_KEEPALIVE_TIMEOUT",
    kind: "duration",
    default: 75_000,
    description: "How long an idle connection of a client is kept.",
  },
  headersTimeout: {
    variable: "SLUICE_CLIENT_HEADER_TIMEOUT",
    kind: "duration",
    default: 15_000,
    description: "In which time a request's head must have arrived: else the client is answered 408.",
  },
  bodyTimeout: {
    variable: "SLUICE_CLIENT_BODY_TIMEOUT",
    kind: "duration",
    default: 60_000,
    description:
      "How long a client may be silent in the middle of its body: then it is answered 408. With HTTP/2 time does not " +
      "count in which other bodies of its connection come.",
  },
  sendTimeout: {
    variable: "SLUICE_SEND_TIMEOUT",
    kind: "duration",
    default: 60_000,
    description:
      "In which time a client must take what was written to it: else its connection is closed, or with HTTP/2 the " +
      "stream. There time does not count in which other responses of the connection are taken.",
  },
  bodyMinRate: {
    variable: "SLUICE_CLIENT_BODY_MIN_RATE",
    kind: "integer",
    minimum: 0,
    default: 240,
    description:
      "How many bytes a second a client must send of a request's body, on an average, while the gateway takes them: else " +
      "it is answered 408. What it sends beyond counts for later, up to SLUICE_CLIENT_BODY_TIMEOUT. 0: any. Not for " +
      "gRPC. With HTTP/2 all that passes on the connection counts for each of its streams.",
  },
  sendMinRate: {
    variable: "SLUICE_SEND_MIN_RATE",
    kind: "integer",
    minimum: 0,
    default: 240,
    description:
      "How many bytes a second a client must take, on an average, while there are some that wait for it: else its " +
      "connection is closed, or with HTTP/2 the stream. What it takes beyond counts for later, up to " +
      "SLUICE_SEND_TIMEOUT. 0: any. With HTTP/2 all that passes on the connection counts for each of its streams.",
  },
  minRateGrace: {
    variable: "SLUICE_MIN_RATE_GRACE",
    kind: "duration",
    default: 5000,
    description: "How long a client may be slower than these two at first.",
  },
  maxRequests: {
    variable: "SLUICE_KEEPALIVE_REQUESTS",
    kind: "integer",
    minimum: 1,
    default: 10_000,
    description: "How many requests one connection of a client carries. With engine `http1`.",
  },
  maxConnections: {
    variable: "SLUICE_MAX_CONNECTIONS",
    kind: "integer",
    minimum: 1,
    default: 16_384,
    description:
      "How many connections of clients there may be at a time, over all workers: those beyond are closed at once.",
  },
  maxConnectionsPerAddress: {
    variable: "SLUICE_MAX_CONNECTIONS_PER_ADDRESS",
    kind: "integer",
    minimum: 0,
    default: 0,
    description: "The same for one address; 0 is no limit, because many clients may share one.",
  },
  probeInterval: {
    variable: "SLUICE_CLIENT_PROBE_INTERVAL",
    kind: "duration",
    default: 20_000,
    description:
      "How long a client may be silent before the node probes it. A TCP keep-alive probe closes the connection after ten " +
      "more seconds without an answer. While HTTP/2 streams are open the node also sends PING, and closes the " +
      "connection after one and a half times this setting without an answer. On Linux the node also checks at this " +
      "interval, and closes the connection of a client that has acknowledged nothing for about 13 seconds. At least 1s.",
  },
  clientMemory: {
    variable: "SLUICE_CLIENT_MEMORY",
    kind: "integer",
    minimum: 4_194_304,
    default: 134_217_728,
    description:
      "How many bytes of memory all client connections of a node may use together: 16 KiB for each HTTP/2 connection, 8 " +
      "KiB and the decoded head for each of its active requests, and unread bytes of every protocol. Above three " +
      "quarters, new streams are refused (REFUSED_STREAM), or the connection with the most unread bytes is closed. " +
      "Workers divide the memory evenly. The default suits a memory limit of 512 MiB. The metric " +
      '`sluice_memory_bytes` (`kind="clients"`) shows the use.',
  },
  status: {
    variable: "SLUICE_STATUS_LISTEN",
    kind: "address",
    default: "127.0.0.1:8007",
    description: "Where /status, /status/live, /status/ready and /metrics are answered.",
  },
  source: {
    variable: "SLUICE_SOURCE",
    kind: "choice",
    words: ["push", "database", "file"],
    default: "push",
    description: "Where documents come from: pushed by the operator, or read from a database or a declarative file.",
  },
  ...databaseSettings,
  file: fileSettings.file,
  unprotectWait: fileSettings.unprotectWait,
  push: {
    variable: "SLUICE_PUSH_LISTEN",
    kind: "address",
    default: "127.0.0.1:8005",
    description: "Where the operator pushes documents, with source `push`.",
  },
  pushToken: {
    variable: "SLUICE_PUSH_TOKEN",
    kind: "text",
    default: null,
    secret: true,
    description: "Token that the operator must send. Needed unless mutual TLS is set up.",
  },
  pushCert: {
    variable: "SLUICE_PUSH_TLS_CERT",
    kind: "text",
    default: null,
    description:
      "PEM file of the node's certificate for mutual TLS. It and its companions are read again when they change.",
  },
  pushKey: {
    variable: "SLUICE_PUSH_TLS_KEY",
    kind: "text",
    default: null,
    description: "PEM file of that certificate's key.",
  },
  pushAuthority: {
    variable: "SLUICE_PUSH_TLS_CA",
    kind: "text",
    default: null,
    description: "PEM file of the authority that signed the operator's certificate.",
  },
  pushClient: {
    variable: "SLUICE_PUSH_CLIENT",
    kind: "text",
    default: "sluice-operator",
    description: "DNS name that the operator's certificate must carry.",
  },
  keptDocument: {
    variable: "SLUICE_KEPT_DOCUMENT",
    kind: "text",
    default: null,
    description:
      "File on a volume of this node alone in which it keeps what the operator pushed last, to serve it after a start " +
      "while there is no operator. It holds private keys and passwords: only its owner may read it (mode 0600). Unset: " +
      "nothing is kept.",
  },
  keptDocumentWait: {
    variable: "SLUICE_KEPT_DOCUMENT_WAIT",
    kind: "duration",
    default: 5000,
    description: "How long a start waits for the operator before it serves what was kept.",
  },
  trustedAddresses: {
    variable: "SLUICE_TRUSTED_IPS",
    kind: "addresses",
    default: [],
    description: "Addresses and CIDR blocks of proxies in front, whose X-Forwarded-* headers are believed.",
  },
  realIpHeader: {
    variable: "SLUICE_REAL_IP_HEADER",
    kind: "choice",
    words: ["x-real-ip", "x-forwarded-for"],
    default: "x-real-ip",
    description:
      "The header in which those proxies send the client's address. Of several entries the last one that is not a trusted " +
      "proxy counts, without its port. An entry that is not an address ends the search at the proxy that sent it.",
  },
  allowedUpstreams,
  trustedCertificates: {
    variable: "SLUICE_TRUSTED_CERTIFICATES",
    kind: "text",
    default: null,
    description:
      "PEM file with certificate authorities that are trusted in addition to Node's own, on connections of plugins that " +
      "verify certificates (to a Redis with `ssl_verify`). Kong's `lua_ssl_trusted_certificate`. Read at the start. " +
      "Does not apply to upstreams.",
  },
  ...observerSettings,
  drain: {
    variable: "SLUICE_DRAIN_TIMEOUT",
    kind: "duration",
    default: 30_000,
    description:
      "How long requests under way may take, and tunnels (WebSocket) go on, after the node was told to stop. What is left " +
      "then is cut off: give the process some seconds more before it is killed.",
  },
  compat,
  logLevel,
});

export type GatewaySettings = SettingsOf<typeof gatewaySettings>;
