/** The throughput of large bodies in both directions. */
import type { BenchReport } from "../report.ts";
import type { CaseContestants } from "./field.ts";
import { nginx } from "./peers.ts";
import { startSluice } from "./sluice.ts";

const sizes = [
  { name: "64 kB", file: "64k", bytes: 64 * 1024 },
  { name: "1 MB", file: "1m", bytes: 1024 * 1024 },
];

export async function measureBodies(field: CaseContestants): Promise<BenchReport> {
  const proxies = {
    nginx: await field.start("nginx", nginx),
    sluice: await field.start("sluice", (stage) => startSluice(stage, { routes: 10 })),
  };
  const directions = sizes.flatMap(({ name, file, bytes }) => [
    { name: `${name} from the upstream`, bytes, load: { path: `/api/${file}` } },
    { name: `${name} to the upstream`, bytes, load: { path: "/reader/x", body: { bytes } } },
  ]);
  for (const { name, load, bytes } of directions)
    for (const [proxy, started] of Object.entries(proxies))
      field.enter(`${proxy}, ${name}`, started, { ...load, bytes });
  return field.report({
    title: "Bodies of 64 kB and 1 MB",
    method:
      "GET of a file, and POST to an upstream that reads the whole body, on 64 connections. nginx forwards bodies as " +
      "they arrive (proxy_request_buffering off) and writes none to disk. Load generator, proxy and upstream share the " +
      "machine, so throughput depends on all three; CPU per request is that of the proxy alone.",
    samples: await field.run(),
    ratios: directions.map(({ name }) => ({
      name: `throughput, ${name}: sluice / nginx`,
      of: `sluice, ${name}`,
      to: `nginx, ${name}`,
      figure: "perSecond",
      bound: 0.8,
    })),
  });
}
