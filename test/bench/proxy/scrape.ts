/** Requests while a client reads the metrics of 10,000 routes every second. */
import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { preloadPath } from "../peers/preload.ts";
import type { BenchReport } from "../report.ts";
import { median } from "../rounds.ts";
import { type CaseContestants, sampleOf } from "./field.ts";
import { pluginsContent } from "./plugins.ts";
import { startSluice } from "./sluice.ts";
import type { Started } from "./stage.ts";
import { runWrk } from "./wrk.ts";

const EVERY = 1000;
/** With this pause, 64 connections make about 4,000 requests/s. */
const PAUSE = 16;

interface Scrape {
  readonly bytes: number;
  /** Milliseconds until the last byte. */
  readonly took: number;
}

async function scrape(port: number): Promise<Scrape> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const request = get({ host: "127.0.0.1", port, path: "/metrics", agent: false }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("end", () => resolve({ bytes, took: performance.now() - began }));
      response.on("error", reject);
    });
    request.on("error", reject);
  });
}

/** Scrapes until `until` settles: every second, or right after a scrape that took longer than a second. */
async function keepScraping(port: number, until: Promise<unknown>): Promise<readonly Scrape[]> {
  const scrapes: Scrape[] = [];
  let over = false;
  const end = () => {
    over = true;
  };
  until.then(end, end);
  while (!over) {
    const last = await scrape(port);
    scrapes.push(last);
    await Promise.race([sleep(Math.max(0, EVERY - last.took)), until]);
  }
  return scrapes;
}

/** The longest event loop iteration in milliseconds since the last call. */
async function longestIteration({ process }: Started): Promise<number> {
  const since = process.output().length;
  process.signal("SIGUSR2");
  return Number((await process.waitForOutput(/longest iteration ([\d.]+)/, { since }))[1]);
}

export async function measureScraped(field: CaseContestants): Promise<BenchReport> {
  const { stage, effort } = field;
  const sluice = await stage.keep(
    startSluice(stage, pluginsContent, { NODE_OPTIONS: `--import=${preloadPath("loop-delay")}` }),
  );
  const scrapes: Scrape[] = [];
  const iterations = new Map<string, number[]>();
  const url = `http://127.0.0.1:${sluice.port}`;
  for (const [rate, pause] of [
    ["at full speed", {}],
    ["4,000 requests/s", { pause: PAUSE }],
  ] as const) {
    const load = () =>
      runWrk({ url, folder: stage.folder, seconds: effort.seconds, spread: pluginsContent.routes, ...pause });
    const whileScraped = async () => {
      const loaded = load();
      scrapes.push(...(await keepScraping(sluice.statusPort, loaded)));
      return loaded;
    };
    for (const [how, run] of [
      ["without scrapes", load],
      ["with scrapes", whileScraped],
    ] as const) {
      const name = `${how}, ${rate}`;
      iterations.set(name, []);
      field.add({
        name,
        async sample() {
          await longestIteration(sluice);
          const sample = await sampleOf(sluice.process, run);
          iterations.get(name)?.push(await longestIteration(sluice));
          return sample;
        },
      });
    }
  }
  const samples = await field.run();
  const last = scrapes.at(-1);
  field.note(
    `${((last?.bytes ?? 0) / 1e6).toFixed(0)} MB of metrics, scraped in ${median(scrapes.map(({ took }) => took)).toFixed(0)} ms (median)`,
  );
  // The first value of each list belongs to the warm-up round.
  for (const [name, all] of iterations)
    field.note(`longest event loop iteration, ${name}: ${median(all.slice(1)).toFixed(1)} ms (median)`);
  const ratio = (rate: string) => ({
    of: `with scrapes, ${rate}`,
    to: `without scrapes, ${rate}`,
    figure: "p99" as const,
  });
  return field.report({
    title: "Metrics of 10,000 active routes, scraped every second",
    method:
      "One node with key-auth, rate-limiting, prometheus and cors at 10,000 routes and 1,000 consumers. Requests go " +
      "to all routes in turn, so that each route has its time series. 64 connections, once at full speed and once with " +
      "pauses.",
    samples,
    ratios: [
      { name: "p99 at full speed, with scrapes / without", ...ratio("at full speed") },
      { name: "p99 at 4,000 requests/s, with scrapes / without", ...ratio("4,000 requests/s") },
    ],
  });
}
