/** A Route is edited repeatedly while requests use it. */
import { setTimeout as pause } from "node:timers/promises";
import { runWrk } from "../proxy/wrk.ts";
import { atMost, type BenchReport } from "../report.ts";
import { BENCH_MANAGER, populationResource } from "./population.ts";
import { untilServed } from "./proxy-requests.ts";
import type { PopulatedStage } from "./stage.ts";

export interface EditsOptions {
  /** The minimum number of requests. */
  readonly requests: number;
}

const PER_SECOND = 10;
const NAME = "edited";

/** Edits of the Route that do not change the responses. */
const editions: readonly ((turn: number) => Readonly<Record<string, unknown>>)[] = [
  (turn) => ({ paths: ["/edited", `/edited-${turn}`] }),
  (turn) => ({ serviceRef: { name: `service-${turn % 2}` } }),
  (turn) => ({ preserveHost: turn % 2 === 0 }),
  (turn) => ({ methods: turn % 2 === 0 ? ["GET"] : ["GET", "POST"] }),
  (turn) => ({ tags: [`turn-${turn}`] }),
];

export async function measureEdits(stage: PopulatedStage, { requests }: EditsOptions): Promise<BenchReport> {
  const { nodes, operator } = await stage.running();
  const edit = (spec: Readonly<Record<string, unknown>>) =>
    stage.client.apply(
      "Route",
      populationResource("Route", NAME, { serviceRef: { name: "service-0" }, paths: ["/edited"], ...spec }),
      {
        manager: BENCH_MANAGER,
      },
    );
  await edit({});
  // The document that the nodes acknowledged last may not contain the Route yet.
  await Promise.all(nodes.map(({ proxy }) => untilServed({ port: proxy, path: "/edited" })));
  const revision = await operator.metric("sluice_operator_revision");
  let [sent, failures, turns, over] = [0, 0, 0, false];

  async function load(proxy: number): Promise<void> {
    const url = `http://127.0.0.1:${proxy}/edited`;
    const result = await runWrk({ url, seconds: 5, folder: stage.folder, connections: 32 });
    sent += result.requests;
    failures += result.failures;
  }

  async function keepEditing(): Promise<void> {
    const began = performance.now();
    for (; !over; turns++) {
      await edit(editions[turns % editions.length]?.(turns) ?? {});
      await pause(Math.max(0, began + ((turns + 1) * 1000) / PER_SECOND - performance.now()));
    }
  }

  const editing = keepEditing();
  try {
    while (sent < requests) {
      await Promise.all(nodes.map(({ proxy }) => load(proxy)));
      console.log(`${sent} requests, ${failures} failed, ${turns} edits`);
    }
  } finally {
    over = true;
    await editing;
  }
  const published = (await operator.metric("sluice_operator_revision")) - revision;
  const { routes, services, consumers } = stage.size;
  return {
    title: "A Route is edited under load",
    method: `wrk sends requests on 32 connections to each of two nodes. Meanwhile the Route of these requests is edited (paths, Service, host, methods and tags) ${PER_SECOND} times a second, with ${routes} Routes, ${services} Services and ${consumers} Consumers present. A failure is a connection that failed, was interrupted or timed out, or a response with status 400 or above.`,
    rows: [{ requests: sent, failed: failures, edits: turns, "documents published": published }],
    verdicts: [atMost(`failed requests of ${sent}`, failures, { bound: 0, unit: "" })],
  };
}
