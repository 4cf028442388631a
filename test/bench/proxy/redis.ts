/** The cost of counting limits in Redis: time and round trips. */
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { startRedis } from "../../../tools/programs/servers/redis.ts";
import { preloadPath } from "../peers/preload.ts";
import { atMost, type BenchReport } from "../report.ts";
import { median } from "../rounds.ts";
import type { CaseContestants } from "./field.ts";
import { startSluice } from "./sluice.ts";
import type { Stage, Started } from "./stage.ts";
import { runWrk } from "./wrk.ts";

/** Milliseconds between two plain round trips, so that these cause little load. */
const PING_PAUSE = 3;

/** Mean milliseconds between two requests of one connection: with 64 connections about 2,000 requests/s. */
const PAUSE = 32;

const limited = (policy: object) => [
  { name: "key-auth" },
  { name: "rate-limiting", config: { minute: 1_000_000_000, ...policy } },
];

async function iterationsOf({ process }: Started): Promise<number> {
  const since = process.output().length;
  process.signal("SIGUSR2");
  return Number((await process.waitForOutput(/iterations (\d+)/, { since }))[1]);
}

/** How often Redis has read from its connections; commands that arrive together count as one read. */
async function readsOf(client: Redis): Promise<number> {
  return Number(/total_reads_processed:(\d+)/.exec(await client.info("stats"))?.[1]);
}

/** Round trips to Redis per event loop iteration, and requests per round trip, at full speed on all connections. */
async function tripsPerIteration(started: Started, client: Redis, { folder }: Stage, seconds: number) {
  const [iterations, reads] = [await iterationsOf(started), await readsOf(client)];
  const url = `http://127.0.0.1:${started.port}/api/x`;
  const { requests } = await runWrk({ url, folder, seconds });
  const trips = (await readsOf(client)) - reads;
  return { perIteration: trips / ((await iterationsOf(started)) - iterations), requestsPerTrip: requests / trips };
}

/** Sends PINGs with short pauses until `until` settles. Resolves to the milliseconds of each round trip. */
async function pingWhile(client: Redis, until: Promise<unknown>): Promise<readonly number[]> {
  const took: number[] = [];
  let over = false;
  const end = () => {
    over = true;
  };
  until.then(end, end);
  while (!over) {
    const sent = performance.now();
    await client.ping();
    took.push(performance.now() - sent);
    await sleep(PING_PAUSE);
  }
  return took;
}

const p99Of = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[Math.floor(values.length * 0.99)] ?? Number.NaN;

export async function measureRedis(field: CaseContestants): Promise<BenchReport> {
  const { stage, effort } = field;
  const server = await startRedis();
  const client = new Redis(server.url);
  try {
    const start = (policy: object, env = {}) =>
      field.start("sluice", () => startSluice(stage, { routes: 10, consumers: 10, plugins: limited(policy) }, env));
    const local = await start({ policy: "local" });
    const config = { policy: "redis", redis: { host: "127.0.0.1", port: server.port } };
    const counted = await start(config, { NODE_OPTIONS: `--import=${preloadPath("loop-iterations")}` });
    if (!counted) throw new Error("sluice could not be started");
    for (const [name, started] of [
      ["local", local],
      ["redis", counted],
    ] as const) {
      field.enter(`${name}, 2,000 requests/s`, started, { pause: PAUSE });
      field.enter(`${name}, at full speed`, started);
    }
    const samples = await field.run();
    // The baseline: a client's plain round trips on the same machine, while the node that counts locally gets requests.
    const loaded = runWrk({
      url: `http://127.0.0.1:${local?.port}/api/x`,
      folder: stage.folder,
      seconds: effort.seconds * 2,
      pause: PAUSE,
    });
    const pings = await pingWhile(client, loaded);
    await loaded;
    const trips = await tripsPerIteration(counted, client, stage, effort.seconds);
    const p99 = (name: string) => (samples.get(name) ?? []).map((sample) => sample.p99);
    const there = p99("redis, 2,000 requests/s");
    const added = median(p99("local, 2,000 requests/s").map((here, round) => (there[round] ?? Number.NaN) - here));
    const report = field.report({
      title: "Rate limiting with Redis",
      method:
        "key-auth and rate-limiting with sync_rate -1 and a Redis on the same machine. Round trips are the reads that " +
        "Redis counts; iterations are those of the gateway's event loop that libuv counts. Both are measured on 64 " +
        "connections at full speed.",
      samples,
      ratios: [],
    });
    const verdicts = [
      atMost("round trips per event loop iteration", trips.perIteration, { bound: 1, unit: "" }),
      atMost("added p99 at 2,000 requests/s", added, { bound: 1.2, unit: " ms" }),
      `a plain PING during 2,000 requests/s that do not use Redis: median ${median(pings).toFixed(2)} ms, p99 ${p99Of(pings).toFixed(2)} ms`,
      `requests per round trip: ${trips.requestsPerTrip.toFixed(1)}`,
    ];
    return { ...report, verdicts: [...report.verdicts, ...verdicts] };
  } finally {
    client.disconnect();
    await server.stop();
  }
}
