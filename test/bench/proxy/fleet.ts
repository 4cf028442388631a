/** The cost of limits that the nodes of a fleet enforce together, compared with those of single nodes and in Redis. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Document } from "@sluice/model";
import { PeriodWindows } from "@sluice/plugin-sdk";
import { counterId } from "../../../gateway/src/counters/fleet/accounts.ts";
import { Ownership, ownershipHash } from "../../../gateway/src/counters/fleet/view.ts";
import { freePort, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { startRedis } from "../../../tools/programs/servers/redis.ts";
import { cpuSeconds } from "../cpu.ts";
import { atMost, type BenchReport } from "../report.ts";
import { median, type RoundSample } from "../rounds.ts";
import { type CaseContestants, sampleOf } from "./field.ts";
import { referTo, type SluiceStarted, startSluice } from "./sluice.ts";
import type { Stage } from "./stage.ts";
import { runWrk, type WrkResult } from "./wrk.ts";

const SIZE = 8;
/** Connections to the node with most requests, and to another node. */
const CONNECTIONS = [58, 6] as const;
/** Mean milliseconds between two requests of one connection: with 64 connections about 2,000 requests/s. */
const PAUSE = 32;
const SCOPE = "bench";
/** Milliseconds in which the CPU time without requests is measured. */
const IDLE = 5000;

/** The paths of two routes: the limit of the first is never reached, and half of 2,000 requests/s reach the second. */
const paths = { far: "/api/x", near: "/group-1/route-1" } as const;
const routes = { far: "route-5", near: "route-1" } as const;
const limits = { far: { year: 1_000_000_000 }, near: { second: 1000 } } as const;

/** The plugins of the nodes, of which each counts the requests with one key. */
function pluginsOf(policy: object | null): Partial<Document> {
  const keyAuth = { ...referTo("plugins", "key-auth"), name: "key-auth", service: referTo("services", "up") };
  if (policy === null) return { plugins: [keyAuth] };
  const limited = (["far", "near"] as const).map((name) => ({
    ...referTo("plugins", name),
    name: "rate-limiting",
    route: referTo("routes", routes[name]),
    // wrk counts 429 as a failure.
    config: {
      ...limits[name],
      limit_by: "header",
      header_name: "apikey",
      scope_name: SCOPE,
      error_code: 200,
      ...policy,
    },
  }));
  return { plugins: [keyAuth, ...limited] };
}

/** Nodes of which the first gets 90 % of the requests, and the second 10 %. */
interface LoadedNodes {
  readonly loaded: readonly [SluiceStarted, SluiceStarted];
  readonly all: readonly SluiceStarted[];
}

const startNode = (stage: Stage, policy: object | null, env: Readonly<Record<string, string>> = {}) =>
  stage.keep(startSluice(stage, { routes: 10, consumers: 10, others: pluginsOf(policy) }, env));

async function startPair(stage: Stage, policy: object | null): Promise<LoadedNodes> {
  const loaded = [await startNode(stage, policy), await startNode(stage, policy)] as const;
  return { loaded, all: loaded };
}

interface SluiceStatus {
  readonly node: string;
  readonly fleet: { readonly members: readonly string[] };
}

async function statusOf({ statusPort }: SluiceStarted): Promise<SluiceStatus> {
  const response = await fetch(`http://127.0.0.1:${statusPort}/status`);
  return ((await response.json()) as { readonly sluice: SluiceStatus }).sluice;
}

/** Of the nodes of the fleet, the loaded ones do not own the counter of the route whose limit is never reached. */
async function startFleet(stage: Stage): Promise<LoadedNodes> {
  const authority = await makeAuthority();
  const issued = await authority.issue({ name: "fleet", sans: ["sluice-gateway"], usage: "peer" });
  const peers = await Promise.all(Array.from({ length: SIZE }, async () => `127.0.0.1:${await freePort()}`));
  const env = {
    SLUICE_PEERS: peers.join(","),
    SLUICE_PEER_TLS_CERT: stage.file("node.crt", issued.certificate),
    SLUICE_PEER_TLS_KEY: stage.file("node.key", issued.key),
    SLUICE_PEER_TLS_CA: stage.file("ca.crt", authority.certificate),
  };
  const all = await Promise.all(
    peers.map((peer) => startNode(stage, { policy: "fleet" }, { ...env, SLUICE_PEER_LISTEN: peer })),
  );
  await waitFor(
    async () => (await Promise.all(all.map(statusOf))).every(({ fleet }) => fleet.members.length === SIZE),
    { what: "a view with all nodes" },
  );
  const names = await Promise.all(all.map(async (node) => (await statusOf(node)).node));
  const { start: windowStart, end: expires } = new PeriodWindows("year").at(Date.now());
  const scope = `named::${SCOPE}`;
  const counter = { name: `${scope}:header=key-5`, scope, period: "year", windowStart, expires, limit: 1 } as const;
  const owner = new Ownership({ epoch: 1, members: names, leaving: [] }).ownerOf(ownershipHash(counterId(counter)));
  const [first, second] = all.filter((_, at) => names[at] !== owner);
  if (first === undefined || second === undefined) throw new Error("the fleet has too few nodes");
  return { loaded: [first, second], all };
}

interface FleetBenchLoad {
  readonly path: string;
  readonly seconds: number;
  /** Default: at full speed. */
  readonly pause?: number;
}

/** The latencies are those of the slower node. */
async function loadBoth({ loaded }: LoadedNodes, { folder }: Stage, load: FleetBenchLoad): Promise<WrkResult> {
  const { path, ...rest } = load;
  const results = await Promise.all(
    loaded.map(({ port }, at) => {
      // Each wrk has a script.
      const own = join(folder, `load-${at}`);
      mkdirSync(own, { recursive: true });
      return runWrk({ ...rest, url: `http://127.0.0.1:${port}${path}`, folder: own, connections: CONNECTIONS[at] });
    }),
  );
  const sum = (member: "requests" | "failures") => sumOf(results.map((result) => result[member]));
  const most = (member: "seconds" | "p50" | "p99") => Math.max(...results.map((result) => result[member]));
  return {
    requests: sum("requests"),
    failures: sum("failures"),
    seconds: most("seconds"),
    p50: most("p50"),
    p99: most("p99"),
  };
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/** Messages that the nodes have sent to each other about limits. */
async function messagesOf({ all }: LoadedNodes): Promise<number> {
  const texts = await Promise.all(
    all.map(async ({ statusPort }) => (await fetch(`http://127.0.0.1:${statusPort}/metrics`)).text()),
  );
  return sumOf(texts.map((text) => Number(/^sluice_limit_messages_total\{\} (\d+)$/m.exec(text)?.[1])));
}

export async function measureFleetLimits(field: CaseContestants): Promise<BenchReport> {
  const { stage, effort } = field;
  const server = await startRedis();
  try {
    const contestants = {
      "no limit": await startPair(stage, null),
      local: await startPair(stage, { policy: "local" }),
      fleet: await startFleet(stage),
      redis: await startPair(stage, { policy: "redis", redis: { host: "127.0.0.1", port: server.port } }),
    };
    const loads: Readonly<Record<string, Omit<FleetBenchLoad, "seconds">>> = {
      "at full speed": { path: paths.far },
      "2,000 requests/s": { path: paths.far, pause: PAUSE },
      "2,000 requests/s at the limit": { path: paths.near, pause: PAUSE },
    };
    const idle = await idleCores(contestants, IDLE);
    /** Messages per 1,000 requests in each round, by the name of the load. */
    const messages = new Map<string, number[]>(Object.keys(loads).map((load) => [load, []]));
    for (const [load, how] of Object.entries(loads))
      for (const [policy, nodes] of Object.entries(contestants)) {
        if (policy === "no limit" && how.path === paths.near) continue;
        const name = `${policy}, ${load}`;
        const pids = nodes.all.map(({ process }) => process.pid);
        const hasFleet = policy === "fleet";
        field.add({
          name,
          async sample() {
            let requests = 0;
            // The nodes print their metrics before and after the sample: its CPU time must not contain this.
            const before = hasFleet ? await messagesOf(nodes) : 0;
            const sample = await sampleOf({ name, pids }, async () => {
              const result = await loadBoth(nodes, stage, { ...how, seconds: effort.seconds });
              requests = result.requests;
              return result;
            });
            if (hasFleet) messages.get(load)?.push((((await messagesOf(nodes)) - before) * 1000) / requests);
            return { ...sample, cpu: sample.cpu - ((idle.get(policy) ?? 0) * 1e6) / sample.perSecond };
          },
        });
      }
    const samples = await field.run();
    const report = field.report({
      title: "Limits of a fleet",
      method:
        "key-auth, and rate-limiting that counts the requests with one key. One node gets 90 % of the requests, and another " +
        `one 10 %. fleet: these are two of ${SIZE} nodes with mutual TLS that count together; neither owns the counter. ` +
        "local: each of two nodes counts for itself. redis: two nodes, with sync_rate -1 and a Redis on the same machine. " +
        "CPU is that of all nodes, less what they use without requests, and not that of Redis; the latencies are those of the slower node. At the limit: 1,000 per " +
        "second, so half of the requests are refused, and do not reach the upstream. Otherwise the limit is never reached.",
      samples,
      ratios: (["fleet", "redis"] as const).map((policy) => ({
        name: `${policy} / local, at full speed`,
        of: `${policy}, at full speed`,
        to: "local, at full speed",
        ...(policy === "fleet" && { bound: 1.1 }),
      })),
    });
    const verdicts = [
      ...["2,000 requests/s", "2,000 requests/s at the limit"].flatMap((load) => {
        const added = (policy: string) => addedP99(samples, `${policy}, ${load}`, `local, ${load}`);
        return [
          atMost(`added p99, fleet, ${load}`, added("fleet"), { bound: 0.4, unit: " ms" }),
          `added p99, redis, ${load}: ${added("redis").toFixed(2)} ms`,
        ];
      }),
      // The first round is the warm-up.
      ...[...messages].map(
        ([load, each]) => `messages per 1,000 requests, ${load}: ${median(each.slice(1)).toFixed(1)}`,
      ),
      ...(["local", "fleet"] as const).map((policy) => {
        const percent = ((idle.get(policy) ?? 0) * 100) / contestants[policy].all.length;
        return `CPU of a node without requests, ${policy}: ${percent.toFixed(2)} % of a core`;
      }),
    ];
    return { ...report, verdicts: [...report.verdicts, ...verdicts] };
  } finally {
    await server.stop();
  }
}

/** The median of the rounds' differences, in milliseconds. */
function addedP99(samples: ReadonlyMap<string, readonly RoundSample[]>, of: string, to: string): number {
  const p99 = (name: string) => (samples.get(name) ?? []).map((sample) => sample.p99);
  const there = p99(of);
  return median(p99(to).map((here, round) => (there[round] ?? Number.NaN) - here));
}

/** Cores that the nodes of each contestant use together without requests. */
async function idleCores(
  contestants: Readonly<Record<string, LoadedNodes>>,
  milliseconds: number,
): Promise<ReadonlyMap<string, number>> {
  const used = () =>
    Object.entries(contestants).map(
      ([policy, { all }]) => [policy, sumOf(all.map(({ process }) => cpuSeconds(process.pid)))] as const,
    );
  const [before, began] = [new Map(used()), performance.now()];
  await sleep(milliseconds);
  const seconds = (performance.now() - began) / 1000;
  return new Map(used().map(([policy, cpu]) => [policy, (cpu - (before.get(policy) ?? 0)) / seconds]));
}
