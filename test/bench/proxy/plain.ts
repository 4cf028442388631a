/** One plain route: the cost of the engine alone. */
import type { BenchReport } from "../report.ts";
import type { CaseContestants } from "./field.ts";
import { haproxy, nginx, relay, replyFrom, startEnvoyPeer, startGoPeer } from "./peers.ts";
import { startSluice } from "./sluice.ts";

export const RELAY = "node:net relay";

export async function measurePlain(field: CaseContestants): Promise<BenchReport> {
  const peers = {
    nginx,
    HAProxy: haproxy,
    Envoy: startEnvoyPeer,
    "Go ReverseProxy": startGoPeer,
    "reply-from": replyFrom,
  };
  // The lower bound of any proxy on Node's sockets.
  field.enter(RELAY, await field.start(RELAY, relay));
  for (const [name, start] of Object.entries(peers)) field.enter(name, await field.start(name, start));
  field.enter("sluice", await field.start("sluice", (stage) => startSluice(stage, { routes: 10 })));
  return field.report({
    title: "A plain route",
    method:
      "GET of a 100-byte JSON response. reply-from is a minimal handler of @fastify/reply-from with the same young " +
      "generation (2 x 8 MB) as Sluice; Go runs with GOMAXPROCS=1. The node:net relay forwards bytes without parsing " +
      "them: its CPU is the lower bound for any proxy on Node's sockets.",
    samples: await field.run(),
    ratios: [
      { name: "sluice / nginx", of: "sluice", to: "nginx", bound: 1.2 },
      { name: "sluice / HAProxy", of: "sluice", to: "HAProxy" },
      { name: "sluice / Envoy", of: "sluice", to: "Envoy", bound: 0.45 },
      { name: "sluice / Go ReverseProxy", of: "sluice", to: "Go ReverseProxy", bound: 0.5 },
      { name: "node:net relay / nginx", of: RELAY, to: "nginx" },
      { name: "sluice / node:net relay", of: "sluice", to: RELAY },
      { name: "sluice / reply-from", of: "sluice", to: "reply-from", bound: 0.35 },
    ],
  });
}
