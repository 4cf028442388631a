/** HTTP/2 over TLS with an HTTP/1.1 upstream. */
import type { BenchReport } from "../report.ts";
import { type CaseContestants, sampleOf } from "./field.ts";
import { runH2load } from "./h2load.ts";
import { nginxHttp2 } from "./peers.ts";
import { startSluice } from "./sluice.ts";
import type { Started } from "./stage.ts";

const shapes = [
  { name: "64 connections with 1 stream each", connections: 64, streams: 1, bound: 2 },
  { name: "8 connections with 16 streams each", connections: 8, streams: 16, bound: 1.8 },
] as const;

export async function measureH2(field: CaseContestants): Promise<BenchReport> {
  const { stage, effort } = field;
  const peer = await field.start("nginx", nginxHttp2);
  let tlsPort = 0;
  const sluice = await field.start("sluice", async () => {
    const started = await startSluice(stage, { routes: 10 });
    ({ tlsPort } = started);
    return started;
  });
  const enter = (name: string, started: Started | undefined, port: number | undefined) => {
    if (!started) return;
    for (const { name: shape, bound: _, ...load } of shapes) {
      const url = `https://localhost:${port}/api/x`;
      const run = () => runH2load({ ...load, url, seconds: effort.seconds, folder: stage.folder });
      field.add({ name: `${name}, ${shape}`, sample: () => sampleOf(started.process, run) });
    }
  };
  enter("nginx", peer, peer?.port);
  enter("sluice", sluice, tlsPort);
  return field.report({
    title: "HTTP/2 over TLS",
    method:
      "GET of a 100-byte JSON response over persistent TLS 1.3 connections with a P-256 certificate; ten routes, no " +
      "plugins; the upstream uses HTTP/1.1. h2load sends requests at full speed.",
    samples: await field.run(),
    ratios: shapes.flatMap(({ name, bound }) => [
      { name: `CPU, ${name}, sluice / nginx`, of: `sluice, ${name}`, to: `nginx, ${name}`, bound },
      { name: `p99, ${name}, sluice / nginx`, of: `sluice, ${name}`, to: `nginx, ${name}`, figure: "p99" as const },
    ]),
  });
}
