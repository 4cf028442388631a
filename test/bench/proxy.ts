/**
 * CPU of the proxy per request: the whole way through Sluice against a bare @fastify/reply-from handler, and 10,000
 * routes against 10. 64 connections, a 100-byte JSON answer, in turn, medians.
 */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { freePort, type Process, startProcess, temporaryFolder } from "../process/index.ts";
import { cpuSeconds } from "./cpu.ts";
import { load } from "./load.ts";
import { type BenchReport, reportOf } from "./report.ts";
import { type Contestant, inTurn, type Sample } from "./rounds.ts";

const root = resolve(import.meta.dirname, "../..");
const CONNECTIONS = 64;

/** A file with so many routes to one service; the one that is asked for stands in the middle. */
function documentWith(routes: number, upstream: string, protectedByPlugins: boolean): object {
  const middle = Math.floor(routes / 2);
  const plugins = protectedByPlugins
    ? [
        { name: "key-auth" },
        { name: "rate-limiting", config: { minute: 1_000_000_000 } },
        { name: "cors" },
        { name: "prometheus", config: { status_code_metrics: true, latency_metrics: true, bandwidth_metrics: true } },
      ]
    : [];
  return {
    _format_version: "3.0",
    services: [
      {
        name: "up",
        url: upstream,
        plugins,
        routes: Array.from({ length: routes }, (_, index) => ({
          name: `route-${index}`,
          paths: [index === middle ? "/api" : `/group-${index % 97}/route-${index}`],
        })),
      },
    ],
    consumers: [{ username: "bench", keyauth_credentials: [{ key: "key-5" }] }],
  };
}

async function startSluice(
  name: string,
  document: object,
  folder: string,
  engine: string,
): Promise<{ process: Process; port: number }> {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(document));
  const [port, status] = [await freePort(), await freePort()];
  // The command itself, so that its first line chooses Node's flags.
  const started = await startProcess(join(root, "gateway/src/main.ts"), ["gateway"], {
    name,
    ready: `http://127.0.0.1:${status}/status/ready`,
    timeout: 120_000,
    env: {
      SLUICE_SOURCE: "file",
      SLUICE_ENGINE: engine,
      SLUICE_FILE: file,
      SLUICE_PROXY_LISTEN: `127.0.0.1:${port}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      SLUICE_LOG_LEVEL: "warn",
    },
  });
  return { process: started, port };
}

async function startPeer(name: string, args: readonly string[]): Promise<{ process: Process; port: number }> {
  const started = await startProcess(process.execPath, args, { name, ready: /listening on (\d+)/ });
  return { process: started, port: Number(/listening on (\d+)/.exec(started.output())?.[1]) };
}

const request = `GET /api/x HTTP/1.1\r\nHost: bench.test\r\napikey: key-5\r\nAccept: */*\r\n\r\n`;

function contestant(
  name: string,
  { process: running, port }: { process: Process; port: number },
  seconds: number,
): Contestant {
  const sample = async (): Promise<Sample> => {
    const before = cpuSeconds(running.pid);
    const result = await load({ host: "127.0.0.1", port, requests: [request], connections: CONNECTIONS, seconds });
    if (result.failures > 0) throw new Error(`${name}: ${result.failures} of ${result.requests} requests failed`);
    const cpu = ((cpuSeconds(running.pid) - before) * 1e6) / result.requests;
    return { cpu, p50: result.p50, p99: result.p99, perSecond: result.requests / result.seconds };
  };
  return { name, sample };
}

export async function benchProxy({ rounds, seconds }: { rounds: number; seconds: number }): Promise<BenchReport> {
  const folder = temporaryFolder("bench");
  const processes: Process[] = [];
  const keep = <Started extends { process: Process }>(started: Started): Started => {
    processes.push(started.process);
    return started;
  };
  try {
    const upstream = keep(await startPeer("upstream", [join(import.meta.dirname, "peers/upstream.ts")]));
    const url = `http://127.0.0.1:${upstream.port}`;
    const sluice = async (name: string, routes: number, withPlugins: boolean, engine = "http1") =>
      contestant(
        name,
        keep(await startSluice(name, documentWith(routes, url, withPlugins), folder.path, engine)),
        seconds,
      );
    const handler = join(import.meta.dirname, "peers/reply-from.ts");
    const peer = keep(await startPeer("reply-from", [handler, url]));
    const equal = keep(await startPeer("reply-from-16MB", ["--min-semi-space-size=16", handler, url]));
    const samples = await inTurn(
      [
        contestant("reply-from", peer, seconds),
        contestant("reply-from-16MB", equal, seconds),
        await sluice("sluice-reply-from", 10, false, "reply-from"),
        await sluice("sluice-10-routes", 10, false),
        await sluice("sluice-10000-routes", 10_000, false),
        await sluice("sluice-10000-routes-4-plugins", 10_000, true),
      ],
      rounds,
    );
    return reportOf({
      title: "CPU of the proxy per request",
      method: `${CONNECTIONS} keep-alive connections, GET of a 100-byte JSON answer, ${rounds} rounds of ${seconds} s each in turn after a warm-up, medians; CPU (user + system) of the proxy process from /proc, divided by its requests; upstream and load on the same machine. Sluice runs as its command does, with a young generation of 16 MB; reply-from-16MB is the bare handler with the same, reply-from with Node's defaults.`,
      samples,
      ratios: [
        {
          name: "sluice-10-routes / reply-from with the same memory setting",
          of: "sluice-10-routes",
          to: "reply-from-16MB",
          bound: 1.15,
        },
        { name: "sluice-10-routes / reply-from with Node's defaults", of: "sluice-10-routes", to: "reply-from" },
        { name: "10,000 / 10 routes", of: "sluice-10000-routes", to: "sluice-10-routes", bound: 1.1 },
        { name: "with four plugins / without", of: "sluice-10000-routes-4-plugins", to: "sluice-10000-routes" },
      ],
    });
  } finally {
    for (const running of processes.reverse()) await running.stop();
    folder.remove();
  }
}
