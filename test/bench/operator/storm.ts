/** Changes at a constant rate for some time: their latency, and the operator's CPU and memory. */
import { setTimeout as pause } from "node:timers/promises";
import { atMost, type BenchReport } from "../report.ts";
import { processMemory } from "./memory.ts";
import { BENCH_MANAGER, populationRoute } from "./population.ts";
import { untilServed } from "./proxy-requests.ts";
import { atShare } from "./shares.ts";
import type { PopulatedStage } from "./stage.ts";

/**
 * The number of Routes that are changed in turn. The first change of each adds a path, which needs memory. All these
 * Routes have the path before the growth of memory is measured, so that the growth is the operator's own.
 */
const CHANGED = 1000;

export interface StormOptions {
  readonly perSecond: number;
  readonly seconds: number;
}

interface Applied {
  readonly path: string;
  /** The time of the API server's response by `performance.now`. */
  readonly at: number;
}

/** A growing list with several readers, each at its own pace. */
class Feed {
  readonly #list: Applied[] = [];
  #more = Promise.withResolvers<void>();
  #ended = false;

  add(one: Applied): void {
    this.#list.push(one);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  #wake(): void {
    const { resolve } = this.#more;
    this.#more = Promise.withResolvers();
    resolve();
  }

  async *read(): AsyncGenerator<Applied> {
    for (let at = 0; ; at++) {
      while (at === this.#list.length) {
        if (this.#ended) return;
        await this.#more.promise;
      }
      yield this.#list[at] as Applied;
    }
  }
}

export async function measureStorm(stage: PopulatedStage, { perSecond, seconds }: StormOptions): Promise<BenchReport> {
  const { nodes, operator } = await stage.running();
  const { routes, services, consumers } = stage.size;
  const feed = new Feed();
  const late: number[] = [];
  const counts = Math.round(perSecond * seconds);
  const pid = operator.process.pid;

  /** Requests each change's path from a node until the node serves it, in the order of the API server's responses. */
  async function watch(proxy: number): Promise<void> {
    for await (const { path, at } of feed.read())
      late.push((await untilServed({ port: proxy, path }, { interval: 5 })) - at);
  }

  async function change(at: number): Promise<void> {
    const path = `/changed-${at}`;
    const which = at % Math.min(routes, CHANGED);
    const made = populationRoute(which, services, [`/route-${which}`, path]);
    await stage.client.apply("Route", made, { manager: BENCH_MANAGER });
    feed.add({ path, at: performance.now() });
  }

  const statusesBefore = await operator.metric("sluice_operator_status_writes_total");
  const began = performance.now();
  const cpuBefore = operator.cpu();
  const before = processMemory(pid).resident;
  const watching = Promise.all(nodes.map(({ proxy }) => watch(proxy)));
  const under: Promise<void>[] = [];
  const memories: number[] = [];
  for (let at = 0; at < counts; at++) {
    const wait = began + (at * 1000) / perSecond - performance.now();
    if (wait > 1) await pause(wait);
    under.push(change(at));
    if (at % perSecond === 0) memories.push(processMemory(pid).resident);
  }
  await Promise.all(under);
  const took = (performance.now() - began) / 1000;
  const cpu = (operator.cpu() - cpuBefore) / took;
  feed.end();
  await watching;
  await operator.untilSettled();
  const after = processMemory(pid).resident;
  const third = memories.slice(Math.floor(memories.length / 3), Math.ceil((memories.length * 2) / 3));
  const last = memories.slice(Math.floor((memories.length * 2) / 3));
  const mean = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0) / list.length;
  const growth = mean(last) - mean(third);
  late.sort((one, other) => one - other);
  const latest = atShare(late, 1);
  return {
    title: `${perSecond} changes a second for ${seconds} s`,
    method: `Each change applies different paths to one of ${CHANGED} Routes in turn, with ${routes} Routes, ${services} Services and ${consumers} Consumers present. The delay of a change is the time from the API server's response until both nodes serve the change. Growth of memory: the mean over the last third of the time minus the mean over the second third.`,
    rows: [
      {
        changes: counts,
        "changes/s": Number((counts / took).toFixed(0)),
        "p50 ms": atShare(late, 0.5),
        "p99 ms": atShare(late, 0.99),
        "maximum ms": latest,
        "operator CPU, % of a core": Number((cpu * 100).toFixed(0)),
        "statuses written": (await operator.metric("sluice_operator_status_writes_total")) - statusesBefore,
        "MB before": Math.round(before),
        "MB second third": Math.round(mean(third)),
        "MB last third": Math.round(mean(last)),
        "MB after": Math.round(after),
      },
    ],
    verdicts: [
      atMost("slowest change", latest / 1000, { bound: 1, unit: " s" }),
      atMost("operator CPU", cpu * 100, { bound: 40, unit: " %" }),
      // The bound allows for variations by garbage collection of the young generation, which are not growth.
      atMost("growth of memory", growth, { bound: 10, unit: " MB" }),
    ],
  };
}
