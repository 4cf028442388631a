/** Requests while a client reads the metrics of 10,000 routes every second. */
import { startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { preloadPath } from "../peers/preload.ts";
import type { BenchReport } from "../report.ts";
import { median } from "../rounds.ts";
import { type CaseContestants, sampleOf } from "./field.ts";
import { pluginsContent } from "./plugins.ts";
import { startSluice } from "./sluice.ts";
import type { Started } from "./stage.ts";
import { runWrk } from "./wrk.ts";

/** With this pause, 64 connections make about 4,000 requests/s. */
const PAUSE = 16;

interface Scrape {
  readonly bytes: number;
  readonly seconds: number;
}

/**
 * Runs `load` while curl scrapes once a second, or right after a scrape that took longer. A client in Node would take
 * more CPU than the node, and both would wait for the same cores.
 */
async function whileScraped<Result>(
  port: number,
  load: () => Promise<Result>,
): Promise<{ result: Result; scrapes: readonly Scrape[] }> {
  const figures = ["--silent", "--output", "/dev/null", "--write-out", "%{stderr}%{size_download} %{time_total}\\n"];
  const url = `http://127.0.0.1:${port}/metrics?[1-1000]`;
  const curl = await startProcess(await obtainTool("curl"), [...figures, "--rate", "60/m", url], { name: "curl" });
  try {
    const result = await load();
    const found = curl.output().matchAll(/^(\d+) (\d+\.\d+)$/gm);
    return {
      result,
      scrapes: Array.from(found, ([, bytes, seconds]) => ({ bytes: Number(bytes), seconds: Number(seconds) })),
    };
  } finally {
    await curl.stop();
  }
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
    const loadWithScrapes = async () => {
      const { result, scrapes: done } = await whileScraped(sluice.statusPort, load);
      scrapes.push(...done);
      return result;
    };
    for (const [how, run] of [
      ["without scrapes", load],
      ["with scrapes", loadWithScrapes],
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
    `${((last?.bytes ?? 0) / 1e6).toFixed(0)} MB of metrics, scraped in ${median(scrapes.map(({ seconds }) => seconds)).toFixed(1)} s (median)`,
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
    title: "Metrics of 10,000 active routes, scraped continuously",
    method:
      "One node with key-auth, rate-limiting, prometheus and cors at 10,000 routes and 1,000 consumers. Requests go " +
      "to all routes in turn, so that each route has its time series. 64 connections, once at full speed and once with " +
      "pauses. curl scrapes once a second, or right after a scrape that took longer.",
    samples,
    ratios: [
      { name: "p99 at full speed, with scrapes / without", ...ratio("at full speed"), bound: 1.5 },
      { name: "p99 at 4,000 requests/s, with scrapes / without", ...ratio("4,000 requests/s"), bound: 1.5 },
    ],
  });
}
