/**
 * Measures how long a node's event loop is busy with a change of one entity, from the pushed change to the runtime that
 * serves it (check, apply, compile). Also measures the additional cost of the first request after a change. Runs in one
 * process, without sockets.
 */
import { applyChange, type Change, deriveId, emptySnapshot, type Snapshot } from "@sluice/model";
import { builtInPlugins } from "@sluice/plugins";
import { compile } from "../../gateway/src/compile/compile.ts";
import type { RoutableRequest, Runtime } from "../../gateway/src/compile/runtime.ts";
import { ThreadConcurrency } from "../../gateway/src/counters/concurrency.ts";
import { createCounters } from "../../gateway/src/counters/create-counters.ts";
import { createMetrics } from "../../gateway/src/metrics/metrics.ts";
import { connectBehind } from "../../gateway/src/outbound/connect.ts";
import { datagramsBehind } from "../../gateway/src/outbound/datagrams.ts";
import { createGuard } from "../../gateway/src/outbound/guard.ts";
import { createCaches } from "../../gateway/src/plugin-caches/create-caches.ts";
import { httpClientsBehind } from "../../gateway/src/proxy/http1/plugin-client/http-client.ts";
import type { BenchReport } from "./report.ts";
import { median } from "./rounds.ts";

/** The upper bound for the time of a change in the event loop, in microseconds. */
const BOUND = 1000;

type Item = Readonly<Record<string, unknown>>;

const id = (collection: Parameters<typeof deriveId>[0], name: string): { readonly id: string } => ({
  id: deriveId(collection, name),
});
const put = (collection: string, ...items: readonly Item[]): Change => ({ put: { [collection]: items }, remove: {} });

/**
 * The host of every third service is an upstream entity. Some of the other services get endpoints in `contentOf`, as if
 * their host were a core Service of Kubernetes.
 */
const service = (at: number, members: Item = {}): Item => ({
  name: `s${at}`,
  host: at % 3 === 0 ? `pool-${at}` : `up-${at}.test`,
  ...members,
});
const route = (at: number, servicesCount: number, members: Item = {}): Item => ({
  name: `r${at}`,
  hosts: [`host-${at % 1000}.test`],
  paths: [`/path/${at}`],
  service: id("services", `s${at % servicesCount}`),
  ...members,
});
const limit = (members: Item, minute: number): Item => ({
  ...id("plugins", JSON.stringify(members)),
  name: "rate-limiting",
  config: { minute, policy: "local" },
  ...members,
});
const target = (pool: number, at: number, members: Item = {}): Item => ({
  ...id("targets", `${pool} ${at}`),
  upstream: id("upstreams", `pool-${pool}`),
  target: `10.1.${pool & 255}.${at}:80`,
  ...members,
});
const endpoints = (at: number, terminating: number) =>
  Array.from({ length: 50 }, (_, pod) => ({
    address: `10.2.${at & 255}.${pod + 1}`,
    port: 8080,
    ...(pod === terminating && { terminating: true }),
  }));

function contentOf(routes: number): Change {
  const services = Math.max(10, routes / 10);
  const consumers = Math.max(10, routes / 10);
  const list = (length: number, make: (at: number) => Item) => Array.from({ length }, (_, at) => make(at));
  const pools = list(services, (at) => ({ at })).filter(({ at }) => (at as number) % 3 === 0) as { at: number }[];
  return {
    put: {
      services: list(services, (at) => service(at)),
      routes: list(routes, (at) => route(at, services)),
      plugins: [
        { name: "key-auth" },
        { name: "prometheus" },
        ...list(services / 10, (at) => limit({ service: id("services", `s${at}`) }, 1000)),
        ...list(routes / 10, (at) => limit({ route: id("routes", `r${at * 10}`) }, 1000)),
      ],
      consumers: list(consumers, (at) => ({ username: `c${at}` })),
      keyauth_credentials: list(consumers, (at) => ({ key: `key-${at}`, consumer: id("consumers", `c${at}`) })),
      upstreams: pools.map(({ at }) => ({ name: `pool-${at}` })),
      targets: pools.flatMap(({ at }) => list(3, (one) => target(at, one + 1))),
    } as Change["put"],
    remove: {},
    endpoints: Object.fromEntries(
      list(services / 10, (at) => ({ at }))
        .filter(({ at }) => (at as number) % 3 !== 0)
        .map(({ at }) => [id("services", `s${at}`).id, endpoints(at as number, -1)]),
    ),
  };
}

/** Keyed by the kind of change; each function makes the change with the number `turn`. */
const kinds: Readonly<Record<string, (turn: number, services: number) => Change>> = {
  "a route changes": (turn, services) => put("routes", route(1, services, { paths: [`/path/1/${turn}`] })),
  "a route is added": (turn, services) =>
    put("routes", route(1, services, { name: `new-${turn}`, hosts: [`new-${turn}.test`] })),
  "a service changes": (turn) => put("services", service(1, { retries: turn % 10 })),
  "a service is enabled or disabled": (turn) => put("services", service(1, { enabled: turn % 2 === 0 })),
  "a plugin on a route": (turn) => put("plugins", limit({ route: id("routes", "r0") }, 2000 + turn)),
  "a plugin on a service": (turn) => put("plugins", limit({ service: id("services", "s0") }, 2000 + turn)),
  "a plugin on a consumer": (turn) => put("plugins", limit({ consumer: id("consumers", "c1") }, 2000 + turn)),
  "a global plugin": (turn) => put("plugins", limit({}, 2000 + turn)),
  "a consumer is added": (turn) => put("consumers", { username: `new-${turn}` }),
  "a credential is added": (turn) =>
    put("keyauth_credentials", { key: `new-${turn}`, consumer: id("consumers", "c1") }),
  "one of 50 endpoints": (turn) => ({
    put: {},
    remove: {},
    endpoints: { [id("services", "s1").id]: endpoints(1, turn % 50) },
  }),
  "a target's weight": (turn) => put("targets", target(0, 1, { weight: 1 + (turn % 1000) })),
};

const requestTo = (at: number): RoutableRequest => ({
  method: "GET",
  path: `/path/${at}`,
  scheme: "http",
  host: `host-${at % 1000}.test`,
  serverName: null,
  query: "",
  documentPort: null,
  headerValues: () => [],
});

function applied(previous: Snapshot, change: Change): Snapshot {
  const { value, violations } = applyChange(previous, change);
  if (violations) throw new Error(JSON.stringify(violations.slice(0, 3)));
  return value;
}

/** Uses the runtime as a request does before its first plugin runs and its upstream is called. */
function serve(runtime: Runtime, at: number): unknown {
  const match = runtime.match(requestTo(at));
  return match?.compiledRoute.upstream?.targets.length ?? match?.compiledRoute.chains.http.base;
}

/** Microseconds that `run` takes. */
const lasted = (run: () => void): number => {
  const from = performance.now();
  run();
  return (performance.now() - from) * 1000;
};

interface Swaps {
  readonly routes: readonly number[];
  readonly changes: number;
}

export async function benchSwap({ routes: sizes, changes }: Swaps): Promise<BenchReport> {
  const metrics = createMetrics({ compat: false, nodeId: "bench", version: "0" });
  const guard = createGuard({ allowedUpstreams: [], ownListeners: [] });
  const connect = connectBehind(guard);
  const counters = createCounters({ warn: () => {}, connect });
  const tools = {
    plugins: new Map(builtInPlugins.map((plugin) => [plugin.name, plugin])),
    services: {
      counters,
      concurrency: new ThreadConcurrency(),
      metrics,
      operations: { record() {} },
      now: Date.now,
      connect,
      openHttpClient: httpClientsBehind(connect),
      datagrams: datagramsBehind(guard),
      caches: createCaches({ memory: 0, warn: () => {}, connect }),
      log: { info() {}, warn() {}, error() {} },
      vault: { allowed: [], variables: {} },
    },
  };
  const rows: Record<string, string | number>[] = Object.keys(kinds).map((kind) => ({ "us per change": kind }));
  const worst: number[] = [];
  for (const size of sizes) {
    const services = Math.max(10, size / 10);
    const full = applied(emptySnapshot, contentOf(size));
    const first = compile(null, full, tools);
    for (let at = 0; at < size; at++) serve(first, at);
    for (const [row, make] of Object.values(kinds).entries()) {
      let [snapshot, runtime] = [full, first];
      const [swaps, firsts, seconds]: [number[], number[], number[]] = [[], [], []];
      for (let turn = 0; turn < changes; turn++) {
        const change = make(turn, services);
        swaps.push(
          lasted(() => {
            snapshot = applied(snapshot, change);
            runtime = compile(runtime, snapshot, tools);
          }),
        );
        const at = (turn % (size / 10)) * 10;
        firsts.push(lasted(() => serve(runtime, at)));
        seconds.push(lasted(() => serve(runtime, at)));
      }
      const counted = swaps.slice(changes >> 1).sort((one, other) => one - other);
      const cost = median(counted);
      const most = counted[Math.floor(counted.length * 0.95)] ?? Number.NaN;
      worst.push(cost);
      const extra = median(firsts.slice(changes >> 1)) - median(seconds.slice(changes >> 1));
      Object.assign(rows[row] ?? {}, {
        [`${size} routes`]: Math.round(cost),
        [`p95 (${size})`]: Math.round(most),
        [`first request (${size})`]: Number(extra.toFixed(1)),
      });
    }
  }
  await counters.close();
  const highest = Math.max(...worst);
  return {
    title: "A change of one entity among many",
    method: `Microseconds of one thread: check, apply, compile; medians over the second half of ${changes} successive changes of each kind. "First request": the additional cost of the first request after a change, compared with the next request. In addition to the routes: a tenth as many services, consumers and credentials; two global plugins, and plugins on a tenth of the services and of the routes; a third of the services have an upstream of three targets, and some have 50 endpoints.`,
    rows,
    verdicts: [
      `the most expensive kind of change: ${Math.round(highest)} us (bound ${BOUND} us: ${highest <= BOUND ? "met" : "MISSED"})`,
    ],
  };
}
