/** TLS handshakes per second: new sessions, and resumed ones. */
import { startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import type { BenchReport } from "../report.ts";
import { type CaseContestants, sampleOf } from "./field.ts";
import { nginxTls, tlsServer } from "./peers.ts";
import { startSluice } from "./sluice.ts";
import type { Started } from "./stage.ts";
import type { WrkResult } from "./wrk.ts";

const kinds = ["new", "resumed"] as const;
/** Handshakes at a time. */
const CONCURRENCY = 16;
const FLOOR = "node:tls server";

/** Runs the client of test/bench/peers/tls-client. */
async function runHandshakes(port: number, kind: (typeof kinds)[number], seconds: number): Promise<WrkResult> {
  const args = [`127.0.0.1:${port}`, kind, `${CONCURRENCY}`, `${seconds}s`];
  const client = await startProcess(await obtainTool("tls-client"), args, { name: "tls-client" });
  await client.ended();
  const line = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(client.output());
  if (!line) throw new Error(`tls-client reported no result:\n${client.tail()}`);
  const [requests = 0, lasted = 0, failures = 0, p50 = 0, p99 = 0] = line.slice(1).map(Number);
  return { requests, seconds: lasted / 1e6, failures, p50: p50 / 1000, p99: p99 / 1000 };
}

export async function measureHandshakes(field: CaseContestants): Promise<BenchReport> {
  const { stage, effort } = field;
  const peer = await field.start("nginx", nginxTls);
  const floor = await field.start(FLOOR, tlsServer);
  let tlsPort = 0;
  const sluice = await field.start("sluice", async () => {
    const started = await startSluice(stage, { routes: 10 });
    ({ tlsPort } = started);
    return started;
  });
  const enter = (name: string, started: Started | undefined, port: number) => {
    if (!started) return;
    for (const kind of kinds) {
      const run = () => runHandshakes(port, kind, effort.seconds);
      field.add({ name: `${name}, ${kind} sessions`, sample: () => sampleOf(started.process, run) });
    }
  };
  enter("nginx", peer, peer?.port ?? 0);
  enter(FLOOR, floor, floor?.port ?? 0);
  enter("sluice", sluice, tlsPort);
  return field.report({
    title: "TLS handshakes",
    method:
      `Handshakes of TLS 1.3 with X25519 and a P-256 certificate, ${CONCURRENCY} at a time; a connection ends after its ` +
      "handshake, and counts as one request. Resumed sessions use a ticket and a new key exchange. The client is written " +
      "in Go. The node:tls server does nothing after the handshake: its CPU is the lower bound on Node's sockets.",
    samples: await field.run(),
    ratios: kinds.flatMap((kind) => {
      const pair = { of: `sluice, ${kind} sessions`, to: `nginx, ${kind} sessions` };
      return [
        { name: `${kind} sessions per second, sluice / nginx`, ...pair, figure: "perSecond" as const, bound: 0.8 },
        { name: `CPU, ${kind} sessions, sluice / nginx`, ...pair },
        { name: `CPU, ${kind} sessions, sluice / ${FLOOR}`, ...pair, to: `${FLOOR}, ${kind} sessions` },
      ];
    }),
  });
}
