/** The proxies for comparison with Sluice: one worker each, keep-alive upstream connections, /api/x becomes /x. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { connectToPort, freePort, startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { nginxConfig } from "./nginx.ts";
import { type Stage, type Started, startBenchProgram } from "./stage.ts";

/** Starts the proxy, or rejects with the reason why it is not available here. */
export type StartPeer = (stage: Stage) => Promise<Started>;

async function start(
  name: string,
  port: number,
  command: { readonly path: string; readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> },
): Promise<Started> {
  const { path, args, env } = command;
  return {
    process: await startProcess(path, args, { name, ready: () => connectToPort(port), ...(env && { env }) }),
    port,
  };
}

/** Streams bodies like Sluice; nginx would otherwise buffer request bodies, possibly on disk. */
const streaming = "proxy_request_buffering off; proxy_max_temp_file_size 0;";

/** Keeps responses with status 200 for an hour; `$upstream_cache_status` is HIT for a response of the cache. */
const cache = "proxy_cache kept; proxy_cache_valid 200 1h; add_header X-Cache-Status $upstream_cache_status;";

const nginxBehind =
  (listen: (stage: Stage, port: number) => readonly string[], { caches = false } = {}): StartPeer =>
  async (stage) => {
    const path = await obtainTool("nginx");
    const port = await freePort();
    const folder = join(stage.folder, `nginx-${port}`);
    mkdirSync(folder);
    const pool = (name: string, to: number) =>
      `upstream ${name} { server 127.0.0.1:${to}; keepalive 256; keepalive_requests 1000000000; keepalive_timeout 1h; }`;
    const pass = (from: string, to: string) =>
      `location ${from} { proxy_pass http://${to}/; proxy_http_version 1.1; proxy_set_header Connection ""; ${streaming} ${caches ? cache : ""} }`;
    const http = [
      ...(caches
        ? [`proxy_cache_path ${join(folder, "cache")} keys_zone=kept:10m max_size=64m use_temp_path=off;`]
        : []),
      pool("up", stage.upstream),
      pool("reader", stage.reader),
      "server {",
      ...listen(stage, port),
      pass("/api/", "up"),
      pass("/reader/", "reader"),
      "}",
    ];
    const config = stage.file(`nginx-${port}.conf`, nginxConfig(folder, http));
    return start("nginx", port, { path, args: ["-c", config, "-p", folder] });
  };

export const nginx = nginxBehind((_, port) => [`listen 127.0.0.1:${port};`]);

export const nginxCache = nginxBehind((_, port) => [`listen 127.0.0.1:${port};`], { caches: true });

const overTls = (stage: Stage, listen: string): readonly string[] => [
  listen,
  `ssl_certificate ${stage.file("certificate.pem", stage.certificate.certificate)};`,
  `ssl_certificate_key ${stage.file("key.pem", stage.certificate.key)};`,
  "ssl_protocols TLSv1.2 TLSv1.3;",
];

/** TLS 1.2 and 1.3, like Sluice. */
export const nginxTls = nginxBehind((stage, port) => overTls(stage, `listen 127.0.0.1:${port} ssl;`));
/** nginx with TLS and HTTP/2, in a syntax that every version of nginx accepts. */
export const nginxHttp2 = nginxBehind((stage, port) => overTls(stage, `listen 127.0.0.1:${port} ssl http2;`));

const haproxyTo =
  (upstream: (stage: Stage) => number): StartPeer =>
  async (stage) => {
    const path = await obtainTool("haproxy");
    const port = await freePort();
    const config = [
      "global",
      "  nbthread 1",
      "  maxconn 8000",
      "defaults",
      "  mode http",
      "  timeout connect 5s",
      "  timeout client 1h",
      "  timeout server 1h",
      "  timeout tunnel 1h",
      "frontend front",
      `  bind 127.0.0.1:${port}`,
      "  http-request replace-path /api(/.*) \\1",
      "  default_backend up",
      "backend up",
      "  http-reuse always",
      `  server up 127.0.0.1:${upstream(stage)}`,
      "",
    ];
    const file = stage.file(`haproxy-${port}.cfg`, config.join("\n"));
    return start("haproxy", port, { path, args: ["-db", "-f", file] });
  };

export const haproxy = haproxyTo((stage) => stage.upstream);
/** HAProxy as a tunnel to the server at this port, instead of the stage's upstream. */
export const haproxyTunnel = (port: number): StartPeer => haproxyTo(() => port);

const address = (port: number) => ({ socket_address: { address: "127.0.0.1", port_value: port } });
const many = { max_connections: 100_000, max_pending_requests: 100_000, max_requests: 100_000 };
const typed = (name: string) => ({ "@type": `type.googleapis.com/envoy.extensions.filters.${name}` });

/** HTTP filters of Envoy, in their order, without the router: each with the name of its type, and its config. */
export type EnvoyFilters = readonly (readonly [type: string, config: object])[];

interface EnvoyOptions {
  readonly filters?: EnvoyFilters;
  /** The port of a gRPC server, called by HTTP/2 with unchanged paths. Default: /api/x becomes /x of the upstream. */
  readonly grpc?: number;
}

/** For a cluster: HTTP/2 with prior knowledge. */
const http2Upstream = {
  typed_extension_protocol_options: {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
      "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
      explicit_http_config: { http2_protocol_options: {} },
    },
  },
};

/** Written as JSON, which Envoy accepts like YAML. */
const envoyConfig = (port: number, upstream: number, { filters = [], grpc }: EnvoyOptions): object => ({
  static_resources: {
    listeners: [
      {
        name: "front",
        address: address(port),
        filter_chains: [
          {
            filters: [
              {
                name: "http",
                typed_config: {
                  ...typed("network.http_connection_manager.v3.HttpConnectionManager"),
                  stat_prefix: "front",
                  route_config: {
                    virtual_hosts: [
                      {
                        name: "all",
                        domains: ["*"],
                        routes: [
                          grpc === undefined
                            ? { match: { prefix: "/api/" }, route: { cluster: "up", prefix_rewrite: "/" } }
                            : { match: { prefix: "/" }, route: { cluster: "up" } },
                        ],
                      },
                    ],
                  },
                  http_filters: [...filters, ["router.v3.Router", {}] as const].map(([type, config]) => ({
                    name: type,
                    typed_config: { ...typed(`http.${type}`), ...config },
                  })),
                },
              },
            ],
          },
        ],
      },
    ],
    clusters: [
      {
        name: "up",
        type: "STATIC",
        circuit_breakers: { thresholds: [many] },
        ...(grpc !== undefined && http2Upstream),
        load_assignment: {
          cluster_name: "up",
          endpoints: [{ lb_endpoints: [{ endpoint: { address: address(grpc ?? upstream) } }] }],
        },
      },
    ],
  },
});

export const envoyWith =
  (options: EnvoyOptions): StartPeer =>
  async (stage) => {
    const path = await obtainTool("envoy");
    const port = await freePort();
    const file = stage.file(`envoy-${port}.json`, JSON.stringify(envoyConfig(port, stage.upstream, options)));
    const args = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "error", "-c", file];
    return start("envoy", port, { path, args });
  };

/** grpc-go's server for interoperability tests. */
export const grpcGoServer: StartPeer = async () => {
  const port = await freePort();
  return start("grpc-interop-server", port, {
    path: await obtainTool("grpc-interop-server"),
    args: [`--port=${port}`],
  });
};

export const startEnvoyPeer = envoyWith({});

/** One thread runs Go code, because all other proxies have one worker. */
export const startGoPeer: StartPeer = async (stage) => {
  const path = await obtainTool("reverse-proxy");
  const port = await freePort();
  const args = [`127.0.0.1:${port}`, `http://127.0.0.1:${stage.upstream}`];
  return start("reverse-proxy", port, { path, args, env: { GOMAXPROCS: "1" } });
};

/** Runs a peer on Node, with Sluice's size of the young generation. */
const onNode =
  (name: string, file: string, argumentsOf: (stage: Stage) => readonly string[]): StartPeer =>
  (stage) =>
    startBenchProgram(name, [
      "--min-semi-space-size=8",
      "--max-semi-space-size=8",
      join(import.meta.dirname, "../peers", file),
      ...argumentsOf(stage),
    ]);

const upstreamOf = ({ upstream }: Stage): readonly string[] => [`http://127.0.0.1:${upstream}`];

export const replyFrom = onNode("reply-from", "reply-from.ts", upstreamOf);
/** Only forwards bytes: the lower bound for proxies on Node's sockets. */
export const relay = onNode("node:net relay", "relay.ts", upstreamOf);
/** Only performs handshakes: the lower bound for TLS on Node's sockets. */
export const tlsServer = onNode("node:tls server", "tls-server.ts", (stage) => [
  stage.file("tls-server.crt", stage.certificate.certificate),
  stage.file("tls-server.key", stage.certificate.key),
]);
