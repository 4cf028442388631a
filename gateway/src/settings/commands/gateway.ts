/** Start-up settings of `sluice gateway`. */
import { defineSettings, logFormat, type SettingsOf } from "@sluice/model/serving";
import { nodeAcmeSettings } from "../acme.ts";
import { clientTlsSettings } from "../client-tls.ts";
import { databaseSettings } from "../database.ts";
import { fileSettings } from "../file.ts";
import { observerSettings } from "../observers.ts";
import { peerSettings } from "../peers.ts";
import { pluginSettings } from "../plugins.ts";

export const logLevel = {
  variable: "SLUICE_LOG_LEVEL",
  kind: "choice",
  words: ["debug", "info", "warn", "error"],
  default: "info",
  description: "Minimum level of log lines.",
} as const;

export const compatSetting = {
  variable: "SLUICE_COMPAT",
  kind: "choice",
  words: ["sluice", "kong"],
  default: "sluice",
  description: "`kong` uses Kong's header names X-Kong-* and metric names kong_*.",
} as const;

export const allowedUpstreams = {
  variable: "SLUICE_ALLOWED_UPSTREAMS",
  kind: "addresses",
  ports: true,
  default: [],
  description:
    "Addresses and CIDR blocks, such as 127.0.0.0/8, to which nodes may connect although they are refused by default " +
    "(loopback, link-local, multicast and metadata addresses). Applies to upstreams, health checks, and the " +
    "connections of plugins, such as to Redis. `address:port` also allows one of the gateway's own listeners. The " +
    "admin API warns of refused addresses according to its own value of this setting. Give the admin API the " +
    "same value as the nodes.",
} as const;

export const gatewaySettings = defineSettings({
  proxy: {
    variable: "SLUICE_PROXY_LISTEN",
    kind: "address",
    default: "127.0.0.1:8000",
    description: "Address of the listener for clients' requests.",
  },
  proxyTls: {
    variable: "SLUICE_PROXY_TLS_LISTEN",
    kind: "address",
    default: null,
    description:
      "Address of the TLS listener for clients' requests, such as 127.0.0.1:8443. The server name (SNI) selects " +
      "the certificate. Unset: no TLS listener.",
  },
  streams: {
    variable: "SLUICE_STREAM_LISTEN",
    kind: "listeners",
    default: [],
    description:
      "Addresses of listeners for connections that are not HTTP, separated by commas, such as " +
      "`127.0.0.1:9000, 127.0.0.1:9443 ssl`. Routes with the protocol tcp apply to connections without TLS. At an " +
      "address followed by the word `ssl`, clients must use TLS, and Routes with the protocols tls and " +
      "tls_passthrough apply. Listen on addresses other than 127.0.0.1 only if clients on other machines shall " +
      "connect. Kong's other words, such as `proxy_protocol`, are refused: SLUICE_PROXY_PROTOCOL applies here too. " +
      "Unset or `off`: there are none.",
  },
  ...clientTlsSettings,
  engine: {
    variable: "SLUICE_ENGINE",
    kind: "choice",
    words: ["http1", "reply-from"],
    default: "http1",
    description:
      "HTTP/1.1 engine. `http1` is Sluice's own engine on plain sockets. `reply-from` uses Fastify and " +
      "@fastify/reply-from, and needs more CPU for each request.",
  },
  workers: {
    variable: "SLUICE_WORKERS",
    kind: "count",
    maximum: 255,
    default: 1,
    description:
      "Number of worker threads that serve clients' requests, all on the same address; `auto`: one for each CPU " +
      "core that the process may use. With more than 1, or with SLUICE_PLUGINS, the main thread only handles " +
      "documents, health checks and the other listeners. Each worker uses its own memory. " +
      "More than 1 works on Linux and FreeBSD only.",
  },
  workerTimeout: {
    variable: "SLUICE_WORKER_TIMEOUT",
    kind: "duration",
    default: 30_000,
    description:
      "A worker thread whose event loop is blocked for this time is replaced. Does not apply to a single worker " +
      "without SLUICE_PLUGINS, because that worker runs in the main thread.",
  },
  cleartextHttp2: {
    variable: "SLUICE_PROXY_HTTP2",
    kind: "flag",
    default: false,
    description:
      "Whether SLUICE_PROXY_LISTEN also accepts HTTP/2 with prior knowledge (h2c), such as gRPC without TLS. " +
      "Over TLS, HTTP/2 is always available (ALPN). Applies to engine `http1`.",
  },
  keepAliveTimeout: {
    variable: "SLUICE_KEEPALIVE_TIMEOUT",
    kind: "duration",
    default: 75_000,
    description: "Time after which an idle client connection is closed.",
  },
  headersTimeout: {
    variable: "SLUICE_CLIENT_HEADER_TIMEOUT",
    kind: "duration",
    default: 15_000,
    description: "Time within which a request's head must arrive; otherwise the request is answered with 408.",
  },
  bodyTimeout: {
    variable: "SLUICE_CLIENT_BODY_TIMEOUT",
    kind: "duration",
    default: 60_000,
    description:
      "Maximum pause while a client sends a body; after it the request is answered with 408. With HTTP/2, time in " +
      "which other bodies of the connection make progress does not count.",
  },
  sendTimeout: {
    variable: "SLUICE_SEND_TIMEOUT",
    kind: "duration",
    default: 60_000,
    description:
      "Maximum time for which a client may read nothing while a part of its response is waiting; after it the " +
      "connection is closed (with HTTP/2: the stream). With HTTP/2, time in which other responses of the connection " +
      "make progress does not count.",
  },
  bodyMinRate: {
    variable: "SLUICE_CLIENT_BODY_MIN_RATE",
    kind: "integer",
    minimum: 0,
    default: 240,
    description:
      "Minimum average rate of a request's body in bytes per second, while the gateway reads it; a slower " +
      "request is answered with 408. After a fast period, the client may be slower for at most " +
      "SLUICE_CLIENT_BODY_TIMEOUT. 0: no minimum. Does not apply to gRPC. With HTTP/2, all traffic of the connection " +
      "counts for each of its streams.",
  },
  sendMinRate: {
    variable: "SLUICE_SEND_MIN_RATE",
    kind: "integer",
    minimum: 0,
    default: 240,
    description:
      "Minimum average rate in bytes per second at which a client must read a response that is waiting; " +
      "otherwise the connection is closed (with HTTP/2: the stream). After a fast period, the client may be slower " +
      "for at most SLUICE_SEND_TIMEOUT. 0: no minimum. With HTTP/2, all traffic of the connection counts for each of " +
      "its streams.",
  },
  minRateGrace: {
    variable: "SLUICE_MIN_RATE_GRACE",
    kind: "duration",
    default: 5000,
    description:
      "Time at the beginning of each body and each response in which the minimum rates " +
      "(SLUICE_CLIENT_BODY_MIN_RATE, SLUICE_SEND_MIN_RATE) do not apply.",
  },
  maxRequests: {
    variable: "SLUICE_KEEPALIVE_REQUESTS",
    kind: "integer",
    minimum: 1,
    default: 10_000,
    description: "Maximum number of requests on one client connection. Applies to engine `http1`.",
  },
  maxConnections: {
    variable: "SLUICE_MAX_CONNECTIONS",
    kind: "integer",
    minimum: 1,
    default: 16_384,
    description:
      "Maximum number of client connections of a node, over all workers. Further connections are closed at once.",
  },
  maxConnectionsPerAddress: {
    variable: "SLUICE_MAX_CONNECTIONS_PER_ADDRESS",
    kind: "integer",
    minimum: 0,
    default: 0,
    description:
      "Maximum number of client connections from one address; 0: no limit. Many clients may share one address.",
  },
  probeInterval: {
    variable: "SLUICE_CLIENT_PROBE_INTERVAL",
    kind: "duration",
    default: 20_000,
    description:
      "Time without data from a client after which the node probes the connection. If TCP keep-alive probes are not " +
      "answered for ten more seconds, the connection is closed. While HTTP/2 streams are open the node also sends " +
      "PING, and closes the connection after one and a half times this setting without an answer. On Linux the " +
      "node also looks for unacknowledged data at this interval, and closes the connection of a client that has " +
      "acknowledged nothing for about 13 seconds. At least 1s.",
  },
  clientMemory: {
    variable: "SLUICE_CLIENT_MEMORY",
    kind: "integer",
    minimum: 4_194_304,
    default: 134_217_728,
    description:
      "Bytes of memory that all client connections of a node may use together. The count includes 16 KiB for each " +
      "HTTP/2 connection, 8 KiB and the decoded head for each of its active requests, the received bytes of their " +
      "bodies that wait for an upstream, and the bytes that clients have not read yet, on all connections. When three " +
      "quarters of this memory are in use, the node makes room for a new stream: it closes the connection with the " +
      "most bytes that have waited for the client or for an upstream for a second. If there is none, it refuses the " +
      "stream (REFUSED_STREAM). All workers get equal shares of the memory. The default " +
      "suits a memory limit of 512 MiB. The metric " +
      '`sluice_memory_bytes` (`kind="clients"`) shows the use.',
  },
  cacheMemory: {
    variable: "SLUICE_PLUGIN_CACHE_MEMORY",
    kind: "integer",
    minimum: 0,
    default: 67_108_864,
    description:
      "Bytes of memory that the caches of all plugins of a node may use together, such as the responses of " +
      "proxy-cache with strategy `memory`. All workers get equal shares. Each worker has its own caches, with at " +
      "most 65,536 values in total. When a share is used up, the plugin with the most bytes loses its " +
      "least recently used values. 0: nothing is cached in memory.",
  },
  status: {
    variable: "SLUICE_STATUS_LISTEN",
    kind: "address",
    default: "127.0.0.1:8007",
    description:
      "Address of the status listener: /status, /healthz, /livez, /readyz, /status/live, /status/ready, /metrics and " +
      "/upstreams/health.",
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
    description: "Address of the listener to which the operator pushes documents, for source `push`.",
  },
  pushToken: {
    variable: "SLUICE_PUSH_TOKEN",
    kind: "text",
    default: null,
    secret: true,
    description: "Token that the operator must send. Required unless mutual TLS is configured.",
  },
  pushCert: {
    variable: "SLUICE_PUSH_TLS_CERT",
    kind: "text",
    default: null,
    description:
      "PEM file of the node's certificate for mutual TLS. Certificate, key and authority are reloaded when they " +
      "change.",
  },
  pushKey: {
    variable: "SLUICE_PUSH_TLS_KEY",
    kind: "text",
    default: null,
    description: "PEM file of the private key of SLUICE_PUSH_TLS_CERT.",
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
    description: "DNS name that the operator's certificate must contain.",
  },
  keptDocument: {
    variable: "SLUICE_KEPT_DOCUMENT",
    kind: "text",
    default: null,
    description:
      "File in which the node saves the last pushed document, on a volume that no other node uses. After a start " +
      "without an operator the node serves this document. The file contains private keys and passwords, so only " +
      "its owner may read it (mode 0600). Unset: the document is not saved.",
  },
  keptDocumentWait: {
    variable: "SLUICE_KEPT_DOCUMENT_WAIT",
    kind: "duration",
    default: 5000,
    description:
      "Time for which a starting node waits for the operator before it serves the saved document " +
      "(SLUICE_KEPT_DOCUMENT).",
  },
  ...peerSettings,
  ...nodeAcmeSettings,
  proxyProtocol: {
    variable: "SLUICE_PROXY_PROTOCOL",
    kind: "addresses",
    default: [],
    description:
      "Addresses and CIDR blocks of load balancers that begin each connection with a header of the PROXY protocol " +
      "(version 1 or 2). The addresses in the header count as those of the connection, also for SLUICE_TRUSTED_IPS; " +
      "the load balancer itself needs no entry there. A connection from one of these addresses is closed unless a valid " +
      "header arrives within SLUICE_CLIENT_HEADER_TIMEOUT. A header from any other address is an invalid request. " +
      "Applies to all listeners for clients' requests, with and without TLS. Unset: no header is accepted.",
  },
  trustedIps: {
    variable: "SLUICE_TRUSTED_IPS",
    kind: "addresses",
    default: [],
    description:
      "Addresses and CIDR blocks of proxies in front of the node. X-Forwarded-* headers of these proxies are trusted: " +
      "the client's address is taken from the header SLUICE_REAL_IP_HEADER that they send, and X-Forwarded-Proto " +
      "decides between http and https.",
  },
  realIpHeader: {
    variable: "SLUICE_REAL_IP_HEADER",
    kind: "choice",
    words: ["x-real-ip", "x-forwarded-for"],
    default: "x-real-ip",
    description:
      "Header in which the proxies of SLUICE_TRUSTED_IPS send the client's address. Of several entries the last " +
      "one that is not a trusted proxy is used, without its port. If an entry is not an address, the proxy that " +
      "sent it counts as the client.",
  },
  plugins: pluginSettings,
  vaultVariables: {
    variable: "SLUICE_VAULT_ENV",
    kind: "list",
    default: [],
    description:
      "Environment variables of the node whose values configs of plugins may use, by references such as " +
      "{vault://env/NAME} or through a Vault. A name that ends in `*`, such as SECRET_*, allows all variables that " +
      "begin with the text before it. Every author of a plugin's config can use the values, and can for example send " +
      "them to a server. Unset: none.",
  },
  allowedUpstreams,
  zone: {
    variable: "SLUICE_ZONE",
    kind: "text",
    default: null,
    description:
      "The zone in which the node runs (label topology.kubernetes.io/zone of its machine). Of the endpoints of a core " +
      "Service the node uses those that EndpointSlices suggest for this zone (hints.forZones), if all endpoints have " +
      "such hints and at least one is for this zone; otherwise all. Unset: always all.",
  },
  dnsResolver: {
    variable: "SLUICE_DNS_RESOLVER",
    kind: "addresses",
    ports: true,
    blocks: false,
    default: [],
    description:
      "DNS servers that look up the names of targets, of upstreams and of plugins' servers, such as 10.0.0.53 or, for " +
      "Consul, 127.0.0.1:8600. Names that they do not know are looked up by the system. Unset: the system looks up " +
      "addresses (hosts file and DNS), and its DNS servers are asked for SRV records of targets.",
  },
  trustedCertificates: {
    variable: "SLUICE_TRUSTED_CERTIFICATES",
    kind: "text",
    default: null,
    description:
      "PEM file of certificate authorities that are trusted in addition to Node's own. Applies to connections of " +
      "plugins that verify certificates (to log servers, and to a Redis with `ssl_verify`), and to the collector of " +
      "traces (SLUICE_TRACING), not to upstreams. " +
      "The node reads the file only when it starts. Corresponds to Kong's `lua_ssl_trusted_certificate`.",
  },
  ...observerSettings,
  drain: {
    variable: "SLUICE_DRAIN_TIMEOUT",
    kind: "duration",
    default: 30_000,
    description:
      "Time for which a stopping node completes requests and keeps tunnels (WebSocket) open. Then the remaining " +
      "connections are closed. The same applies to worker threads that are replaced when plugins are loaded again. " +
      "Configure the supervisor to kill the process some seconds after this time.",
  },
  compat: compatSetting,
  logLevel,
  logFormat,
});

export type GatewaySettings = SettingsOf<typeof gatewaySettings>;
