/** Sluice with four plugins, 10,000 routes and 1,000 consumers, compared with plain proxies, with and without TLS. */
import type { BenchReport } from "../report.ts";
import type { CaseContestants } from "./field.ts";
import { nginx, nginxTls, startEnvoyPeer } from "./peers.ts";
import { type Content, fourPlugins, startSluice } from "./sluice.ts";

export const pluginsContent: Content = { routes: 10_000, consumers: 1000, plugins: fourPlugins };
const what = "key-auth, rate-limiting (local), prometheus and cors at 10,000 routes and 1,000 consumers";

export async function measurePlugins(field: CaseContestants): Promise<BenchReport> {
  field.enter("nginx, plain", await field.start("nginx", nginx));
  field.enter("Envoy, plain", await field.start("Envoy", startEnvoyPeer));
  field.enter("sluice", await field.start("sluice", (stage) => startSluice(stage, pluginsContent)));
  return field.report({
    title: "Four plugins among 10,000 routes",
    method: `GET of a 100-byte JSON response; Sluice with ${what}.`,
    samples: await field.run(),
    ratios: [
      { name: "sluice / nginx plain", of: "sluice", to: "nginx, plain", bound: 1.45 },
      { name: "sluice / Envoy plain", of: "sluice", to: "Envoy, plain", bound: 0.55 },
    ],
  });
}

export async function measureTls(field: CaseContestants): Promise<BenchReport> {
  const peer = await field.start("nginx", nginxTls);
  field.enter("nginx, plain over TLS", peer, { path: `https://localhost:${peer?.port}/api/x` });
  let tlsPort = 0;
  const sluice = await field.start("sluice", async (stage) => {
    const started = await startSluice(stage, pluginsContent);
    ({ tlsPort } = started);
    return started;
  });
  field.enter("sluice over TLS", sluice, { path: `https://localhost:${tlsPort}/api/x` });
  return field.report({
    title: "The same over TLS",
    method: `GET of a 100-byte JSON response over persistent TLS 1.3 connections with a P-256 certificate; Sluice with ${what}.`,
    samples: await field.run(),
    ratios: [{ name: "sluice / nginx over TLS", of: "sluice over TLS", to: "nginx, plain over TLS", bound: 1.7 }],
  });
}
