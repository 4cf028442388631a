/** Hits of proxy-cache in memory, compared with hits of nginx' proxy_cache. */
import type { BenchReport } from "../report.ts";
import type { CaseContestants } from "./field.ts";
import { nginxCache } from "./peers.ts";
import { startSluice } from "./sluice.ts";
import type { Started } from "./stage.ts";

const proxyCache = { name: "proxy-cache", config: { strategy: "memory", content_type: ["*/*"], cache_ttl: 3600 } };

const bodies = { "100 bytes": "/api/x", "64 KiB": "/api/64k" };

/** Sends a request, so that the proxy caches the response. Rejects if the next request is not a hit. */
async function warm({ port }: Started, path: string): Promise<void> {
  const statuses: (string | null)[] = [];
  for (let request = 0; request < 2; request++) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    await response.arrayBuffer();
    statuses.push(response.headers.get("x-cache-status"));
  }
  if (statuses[1]?.toLowerCase() !== "hit") throw new Error(`${path} is not cached: ${statuses.join(", ")}`);
}

export async function measureCache(field: CaseContestants): Promise<BenchReport> {
  const contestants = {
    nginx: await field.start("nginx", nginxCache),
    sluice: await field.start("sluice", (stage) => startSluice(stage, { routes: 10, plugins: [proxyCache] })),
  };
  for (const [name, started] of Object.entries(contestants)) {
    for (const [size, path] of Object.entries(bodies)) {
      if (started) await warm(started, path);
      field.enter(`${name}, ${size}`, started, { path });
    }
  }
  return field.report({
    title: "Hits of a cache",
    method:
      "GET of a cached response, 100 bytes of JSON or 64 KiB: proxy-cache with strategy memory, and nginx with " +
      "proxy_cache, whose files are in the page cache.",
    samples: await field.run(),
    ratios: Object.keys(bodies).map((size) => ({
      name: `hits of ${size}, sluice / nginx`,
      of: `sluice, ${size}`,
      to: `nginx, ${size}`,
      bound: 1.3,
    })),
  });
}
