/** What each plugin costs on a plain route, and what http-log keeps in memory when its server does not answer. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import type { Document } from "@sluice/model";
import { startLdapServer } from "../../../tools/programs/servers/ldap.ts";
import type { BenchReport } from "../report.ts";
import { median } from "../rounds.ts";
import { writePlugin } from "./cost-plugins.ts";
import { hmacToken, startLineReaders, startTokenProvider, type TokenProvider } from "./cost-servers.ts";
import type { CaseContestants } from "./field.ts";
import { residentMemory } from "./memory.ts";
import { referTo, startSluice } from "./sluice.ts";
import { startBenchProgram } from "./stage.ts";
import { runWrk, type WrkOptions } from "./wrk.ts";

const NONE = "no plugin";
const SECRET = "a secret of thirty-two characters";
const consumer = referTo("consumers", "consumer-5");

interface Measured {
  readonly name: string;
  /** Default: one plugin with this name and `config`. */
  readonly plugins?: readonly object[];
  readonly config?: object;
  readonly others?: Partial<Document>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: WrkOptions["body"];
  readonly env?: Readonly<Record<string, string>>;
  /** The requests carry the cookie of a session that an earlier request has started. */
  readonly withCookie?: true;
}

/**
 * The headers of a request that is signed for hmac-auth. By default a signature is valid for five minutes, so the
 * plugin's clock skew is set to a day.
 */
function signedHeaders(): Readonly<Record<string, string>> {
  const date = new Date().toUTCString();
  const signature = createHmac("sha256", SECRET).update(`x-date: ${date}`).digest("base64");
  const authorization = `hmac username="bench", algorithm="hmac-sha256", headers="x-date", signature="${signature}"`;
  return { "X-Date": date, Authorization: authorization };
}

const session = { name: "session", config: { secret: SECRET, cookie_secure: false } };
const acl = { name: "acl", config: { allow: ["staff"] } };
const groups = { acls: [{ ...referTo("acls", "staff"), group: "staff", consumer }] };

const webhook = '{"type":"order.created"}';

/** The headers of a webhook; the plugin's tolerance is set to a day. */
function webhookHeaders(): Readonly<Record<string, string>> {
  const [id, timestamp] = ["bench", Math.floor(Date.now() / 1000)];
  const signature = createHmac("sha256", SECRET).update(`${id}.${timestamp}.${webhook}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": `${timestamp}`, "webhook-signature": `v1,${signature}` };
}

interface Servers {
  /** Port of a server that reads requests. */
  readonly collector: number;
  /** Port of servers that read lines, over TCP or UDP. */
  readonly lines: number;
  /** Port of an LDAP server in which `b` has the password `p`. */
  readonly ldap: number;
  readonly provider: TokenProvider;
  readonly folder: string;
}

/** An operation, which the plugin graphql reads once and then finds among the known documents. */
const operation = {
  body: { json: '{"query":"query Users { users { name email } }","operationName":"Users"}' },
};

const measured = ({ collector, lines, ldap, provider, folder }: Servers): readonly Measured[] => [
  { name: NONE, plugins: [] },
  { name: "key-auth" },
  {
    name: "basic-auth",
    others: {
      basicauth_credentials: [{ ...referTo("basicauth_credentials", "b"), username: "b", password: "p", consumer }],
    },
    headers: { Authorization: `Basic ${btoa("b:p")}` },
  },
  {
    name: "hmac-auth",
    config: { clock_skew: 86_400 },
    others: {
      hmacauth_credentials: [{ ...referTo("hmacauth_credentials", "b"), username: "bench", secret: SECRET, consumer }],
    },
    headers: signedHeaders(),
  },
  {
    name: "jwt",
    others: { jwt_secrets: [{ ...referTo("jwt_secrets", "b"), key: "bench", secret: SECRET, consumer }] },
    headers: { Authorization: `Bearer ${hmacToken({ iss: "bench" }, SECRET)}` },
  },
  {
    name: "openid-connect",
    config: { issuer: provider.issuer, auth_methods: ["bearer"] },
    headers: { Authorization: `Bearer ${provider.token}` },
  },
  {
    name: "ldap-auth",
    config: { ldap_host: "127.0.0.1", ldap_port: ldap, base_dn: "ou=people,dc=example,dc=com", attribute: "uid" },
    headers: { Authorization: `ldap ${btoa("b:p")}` },
  },
  { name: "session, with key-auth", plugins: [{ name: "key-auth" }, session], withCookie: true },
  { name: "forward-auth", config: { address: `http://127.0.0.1:${collector}/` } },
  {
    name: "standard-webhooks",
    config: { secret_v1: SECRET, tolerance_second: 86_400 },
    headers: webhookHeaders(),
    body: { json: webhook },
  },
  { name: "no plugin, POST", plugins: [], ...operation },
  { name: "graphql", ...operation },
  { name: "acl, with key-auth", plugins: [{ name: "key-auth" }, acl], others: groups },
  { name: "ip-restriction", config: { allow: ["127.0.0.0/8"] } },
  { name: "bot-detection" },
  { name: "cors" },
  { name: "redirect", config: { location: "https://example.com/" } },
  { name: "request-termination", config: { status_code: 200 } },
  { name: "proxy-cache, hits", plugins: [{ name: "proxy-cache", config: { strategy: "memory", cache_ttl: 86_400 } }] },
  { name: "rate-limiting", config: { minute: 1_000_000_000 } },
  {
    name: "rate-limiting, with a bucket",
    plugins: [
      {
        name: "rate-limiting",
        config: { second: 50_000, algorithm: "bucket", burst: { second: 1_000_000 } },
      },
    ],
  },
  { name: "concurrency-limiting", config: { limit: 1_000_000 } },
  { name: "response-ratelimiting", config: { limits: { video: { minute: 1_000_000_000 } } } },
  { name: "request-size-limiting" },
  {
    name: "request-validator",
    config: {
      parameter_schema: [
        { in: "query", name: "q", required: false, schema: '{"type":"string"}', style: "form", explode: false },
      ],
    },
  },
  { name: "request-transformer", config: { add: { headers: ["x-tier:gold"] }, remove: { headers: ["x-internal"] } } },
  { name: "response-transformer", config: { add: { headers: ["x-tier:gold"] }, remove: { headers: ["server"] } } },
  { name: "correlation-id", config: { header_name: "X-Correlation-ID", generator: "uuid", echo_downstream: true } },
  { name: "prometheus", config: { status_code_metrics: true, latency_metrics: true, bandwidth_metrics: true } },
  {
    name: "a plugin of your own, with phases",
    plugins: [{ name: "header-phases" }],
    env: writePlugin("header-phases", folder),
  },
  {
    name: "a plugin of your own, as middleware",
    plugins: [{ name: "header-middleware" }],
    env: writePlugin("header-middleware", folder),
  },
  { name: "http-log", config: { http_endpoint: `http://127.0.0.1:${collector}/` } },
  {
    name: "http-log, batches of 1,000",
    plugins: [
      {
        name: "http-log",
        config: { http_endpoint: `http://127.0.0.1:${collector}/`, queue: { max_batch_size: 1000 } },
      },
    ],
  },
  { name: "file-log", config: { path: join(folder, "requests.log") } },
  { name: "tcp-log", config: { host: "127.0.0.1", port: lines } },
  { name: "udp-log", config: { host: "127.0.0.1", port: lines } },
  { name: "syslog", config: { host: "127.0.0.1", port: lines } },
  { name: "loggly", config: { host: "127.0.0.1", port: lines, key: "token" } },
  { name: "datadog", config: { host: "127.0.0.1", port: lines } },
  { name: "statsd", config: { host: "127.0.0.1", port: lines } },
  { name: "zipkin", config: { http_endpoint: `http://127.0.0.1:${collector}/`, sample_ratio: 0.01 } },
  {
    name: "opentelemetry",
    config: { traces_endpoint: `http://127.0.0.1:${collector}/v1/traces`, sampling_rate: 0.01 },
  },
];

/** A sentence with a node's memory before and during requests, while the log server of http-log never answers. */
async function memoryWithoutCollector({ stage, effort }: CaseContestants): Promise<string> {
  const silent = createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const plugin = { name: "http-log", config: { http_endpoint: `http://127.0.0.1:${port}/` } };
  const node = await stage.keep(startSluice(stage, { routes: 10, plugins: [plugin] }));
  const before = residentMemory(node.process.pid).now;
  const seconds = effort.seconds * effort.rounds;
  const url = `http://127.0.0.1:${node.port}/api/x`;
  const { requests, failures } = await runWrk({ url, folder: stage.folder, seconds });
  if (failures > 0) throw new Error(`${failures} requests failed while the log server did not answer`);
  const { most } = residentMemory(node.process.pid);
  silent.close();
  const [from, to] = [before, most].map(Math.round);
  return `http-log with a server that does not answer: ${from} MB before and at most ${to} MB during ${requests} requests`;
}

/** The header `Cookie` with the session cookie that the gateway sets for a request with a key. */
async function cookieFrom(port: number): Promise<Readonly<Record<string, string>>> {
  const response = await fetch(`http://127.0.0.1:${port}/api/x`, { headers: { apikey: "key-5" } });
  const [cookie = ""] = response.headers.getSetCookie();
  if (cookie === "") throw new Error(`the session plugin set no cookie: status ${response.status}`);
  return { Cookie: cookie.split(";")[0] ?? "" };
}

export async function measureCosts(field: CaseContestants): Promise<BenchReport> {
  const { stage } = field;
  const collector = await stage.keep(startBenchProgram("sink", [join(import.meta.dirname, "../peers/sink.ts")]));
  const [lines, provider, ldap] = [
    await startLineReaders(),
    await startTokenProvider(),
    await startLdapServer({ b: "p" }),
  ];
  const ports = { collector: collector.port, lines: lines.port, ldap: ldap.port };
  for (const { name, plugins, config = {}, others = {}, headers = {}, body, env, withCookie } of measured({
    ...ports,
    provider,
    folder: stage.folder,
  })) {
    const content = { routes: 10, consumers: 10, plugins: plugins ?? [{ name, config }], others };
    const started = await field.start(name, () => startSluice(stage, content, env));
    const cookie = withCookie && started ? await cookieFrom(started.port) : {};
    field.enter(name, started, { headers: { ...headers, ...cookie }, body });
  }
  const samples = await field.run();
  const memory = await memoryWithoutCollector(field);
  lines.close();
  provider.close();
  await ldap.stop();
  const none = samples.get(NONE) ?? [];
  const rows = [...samples].map(([name, list]) => {
    const added = list.map(({ cpu }, round) => cpu - (none[round]?.cpu ?? Number.NaN));
    return {
      plugin: name,
      "CPU us/request": median(list.map(({ cpu }) => cpu)).toFixed(1),
      "added us": name === NONE ? "" : median(added).toFixed(1),
      "p99 ms": median(list.map(({ p99 }) => p99)).toFixed(2),
    };
  });
  const { verdicts } = field.report({
    title: "",
    method: "",
    samples,
    ratios: ["http-log", "http-log, batches of 1,000"].map((of) => ({
      name: `${of} / no plugin`,
      of,
      to: NONE,
      bound: 1.15,
    })),
  });
  return {
    title: "Each plugin alone",
    method:
      "GET of a 100-byte JSON response through one plugin at ten routes. standard-webhooks and graphql get a " +
      "POST request, whose body they read. `added us` is the median of the rounds' differences from the node without a " +
      "plugin. Log servers read everything; traces are recorded for one request in a hundred. All caches are warm, because every request is a repetition of the first. forward-auth asks its server " +
      "about every request. Redirects, terminated requests and hits of the cache do not reach the upstream. grpc-web " +
      "and mtls-auth are not measured: they need a gRPC upstream and TLS. Nor are compression, request-mirror and " +
      "request-redirect, which Kong does not have. The rows for a plugin of your own use an " +
      "example plugin, which sets one header of the request and one of the response.",
    rows,
    verdicts: [...verdicts, memory],
  };
}
