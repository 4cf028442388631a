/** What each plugin costs on a plain route, and what http-log keeps in memory when its server does not answer. */
import { createHmac } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import type { Document } from "@sluice/model";
import type { BenchReport } from "../report.ts";
import { median } from "../rounds.ts";
import type { Field } from "./field.ts";
import { memoryOf } from "./memory.ts";
import { referTo, startSluice } from "./sluice.ts";
import { startOurs } from "./stage.ts";
import { runWrk } from "./wrk.ts";

const NONE = "no plugin";
const SECRET = "a secret of thirty-two characters";
const consumer = referTo("consumers", "consumer-5");

interface Measured {
  readonly name: string;
  /** Default: one plugin with the name and this config. */
  readonly plugins?: readonly object[];
  readonly config?: object;
  readonly others?: Partial<Document>;
  readonly headers?: Readonly<Record<string, string>>;
}

function jwtToken(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "HS256", typ: "JWT" })}.${part({ iss: "bench" })}`;
  return `${text}.${createHmac("sha256", SECRET).update(text).digest("base64url")}`;
}

/** A signature is valid for five minutes, so the plugin's clock skew is set to a day. */
function signedHeaders(): Readonly<Record<string, string>> {
  const date = new Date().toUTCString();
  const signature = createHmac("sha256", SECRET).update(`x-date: ${date}`).digest("base64");
  const authorization = `hmac username="bench", algorithm="hmac-sha256", headers="x-date", signature="${signature}"`;
  return { "X-Date": date, Authorization: authorization };
}

const acl = { name: "acl", config: { allow: ["staff"] } };
const groups = { acls: [{ ...referTo("acls", "staff"), group: "staff", consumer }] };

/** @param collector Port of a server that reads requests; @param lines Port of one that reads lines, over TCP or UDP. */
const measured = (collector: number, lines: number, folder: string): readonly Measured[] => [
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
    headers: { Authorization: `Bearer ${jwtToken()}` },
  },
  { name: "acl, with key-auth", plugins: [{ name: "key-auth" }, acl], others: groups },
  { name: "ip-restriction", config: { allow: ["127.0.0.0/8"] } },
  { name: "bot-detection" },
  { name: "cors" },
  { name: "rate-limiting", config: { minute: 1_000_000_000 } },
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
  { name: "statsd", config: { host: "127.0.0.1", port: lines } },
  { name: "zipkin", config: { http_endpoint: `http://127.0.0.1:${collector}/`, sample_ratio: 0.01 } },
  {
    name: "opentelemetry",
    config: { traces_endpoint: `http://127.0.0.1:${collector}/v1/traces`, sampling_rate: 0.01 },
  },
];

/** The ports of servers in this process that read lines and say nothing. */
async function readLines(): Promise<{ readonly port: number; close(): void }> {
  const server = createServer((socket) => socket.on("error", () => {}).resume()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const datagrams = createSocket("udp4").bind(port, "127.0.0.1");
  await once(datagrams, "listening");
  const close = () => {
    server.close();
    datagrams.close();
  };
  return { port, close };
}

/** Resident megabytes of a node with http-log before and after requests whose records nobody accepts. */
async function memoryWithoutCollector({ stage, effort }: Field): Promise<string> {
  const silent = createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const plugin = { name: "http-log", config: { http_endpoint: `http://127.0.0.1:${port}/` } };
  const node = await stage.keep(startSluice(stage, { routes: 10, plugins: [plugin] }));
  const before = memoryOf(node.process.pid).now;
  const seconds = effort.seconds * effort.rounds;
  const url = `http://127.0.0.1:${node.port}/api/x`;
  const { requests, failures } = await runWrk({ url, folder: stage.folder, seconds });
  if (failures > 0) throw new Error(`${failures} requests failed while the log server did not answer`);
  const { most } = memoryOf(node.process.pid);
  silent.close();
  const [from, to] = [before, most].map(Math.round);
  return `http-log with a server that does not answer: ${from} MB before and at most ${to} MB during ${requests} requests`;
}

export async function costs(field: Field): Promise<BenchReport> {
  const { stage } = field;
  const collector = await stage.keep(startOurs("sink", [join(import.meta.dirname, "../peers/sink.ts")]));
  const lines = await readLines();
  const contestants = measured(collector.port, lines.port, stage.folder);
  for (const { name, plugins, config = {}, others = {}, headers = {} } of contestants) {
    const content = { routes: 10, consumers: 10, plugins: plugins ?? [{ name, config }], others };
    field.enter(name, await field.start(name, () => startSluice(stage, content)), { headers });
  }
  const samples = await field.run();
  const memory = await memoryWithoutCollector(field);
  lines.close();
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
      "GET of a 100-byte JSON response through one plugin at ten routes. Added is the median of the rounds' differences " +
      "from the node without a plugin. Log servers read everything; traces are recorded for one request in a hundred.",
    rows,
    verdicts: [...verdicts, memory],
  };
}
