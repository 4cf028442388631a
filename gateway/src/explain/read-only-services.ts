/**
 * The services of plugin instances that explain a request: counters and caches are read but not changed, and nothing is
 * sent. Reading a counter or a cache in Redis or in the database still asks that server.
 */
import type {
  Bucket,
  Concurrency,
  Counter,
  CounterOptions,
  Counters,
  PluginCache,
  RequestMetrics,
} from "@sluice/plugin-sdk";
import { refusedSocket } from "../outbound/connect.ts";
import type { InstanceCache } from "../plugin-caches/create-caches.ts";
import type { ServicesLog, WorkerServices } from "../plugin-services/instance-context.ts";

/** A counter, or a bucket, whose limit is the number of requests that it admits at once. */
export interface ReadCounter extends Pick<Counter, "name" | "scope" | "period" | "limit"> {
  readonly policy: CounterOptions["policy"];
}

/** Receives what the plugins of one explanation do or would do. */
export interface ReadOnlyActivity {
  /** Called for every counter or bucket that a plugin would increase. */
  counted(counter: ReadCounter, count: number): void;
  /** Called when a plugin would send something. The result of its phase is unknown then. */
  sending(what: string): void;
  logged(line: string): void;
}

export interface ReadOnlyOptions {
  readonly activity: ReadOnlyActivity;
  /** The cache of the plugin's real instance; null: none. */
  readonly cacheOf: (instance: string) => InstanceCache<unknown> | null;
}

/** The error that a plugin gets instead of a connection. It arrives like the error of a failed connection. */
class NothingSent extends Error {
  override readonly name = "NothingSent";
}

/** The services of a worker that an explanation reads. */
type ReadServices = Pick<WorkerServices, "counters" | "concurrency" | "metrics" | "now" | "vault">;

export function readOnlyServices(services: ReadServices, { activity, cacheOf }: ReadOnlyOptions): WorkerServices {
  const refusal = (what: string): NothingSent => {
    activity.sending(what);
    return new NothingSent(`an explanation sends nothing: ${what}`);
  };
  return {
    counters: readOnlyCounters(services.counters, activity),
    concurrency: readOnlyConcurrency(services.concurrency),
    metrics: { ...services.metrics, ...noMetrics },
    operations: { record() {} },
    now: () => services.now(),
    connect: ({ host, port }) => refusedSocket(refusal(`it connects to ${host}:${port}`)),
    openHttpClient: () => ({
      async send({ method, url }) {
        throw refusal(`it sends ${method} to ${originOf(url)}`);
      },
      close() {},
    }),
    datagrams: ({ host, port }) => ({
      async send() {
        throw refusal(`it sends datagrams to ${host}:${port}`);
      },
      close() {},
    }),
    caches: {
      open: <Value>(instance: string) => readOnlyCache(cacheOf(instance) as InstanceCache<Value> | null),
      close() {},
    },
    log: logTo(activity),
    vault: services.vault,
    startTimer: () => () => {},
  };
}

/** Scheme, host and port, because a path or a query may contain secrets. */
const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : "a server");

function readOnlyCounters(counters: Counters, activity: ReadOnlyActivity): Counters {
  const read = async (wanted: readonly Counter[], options: CounterOptions): Promise<readonly number[]> => {
    const counts = await counters.addAmount(wanted, 0, options);
    for (const [at, counter] of wanted.entries())
      activity.counted({ ...counter, policy: options.policy }, counts[at] ?? 0);
    return counts;
  };
  const levels = async (buckets: readonly Bucket[], now: number, options: CounterOptions) => {
    const found = await counters.bucketLevels(buckets, now, options);
    for (const [at, { name, scope, period, burst }] of buckets.entries())
      activity.counted({ name, scope, period, limit: 1 + burst, policy: options.policy }, Math.ceil(found[at] ?? 0));
    return found;
  };
  return {
    async incrementBelowLimit(wanted, options) {
      const counts = await read(wanted, options);
      const admitted = wanted.every(({ limit, amount = 1 }, at) => (counts[at] ?? 0) + amount - 1 < limit);
      return { admitted, counts: admitted ? counts.map((count, at) => count + (wanted[at]?.amount ?? 1)) : counts };
    },
    addAmount: async (wanted, amount, options) => (await read(wanted, options)).map((count) => count + amount),
    async fillBuckets(buckets, now, options) {
      const found = await levels(buckets, now, options);
      const admitted = buckets.every(({ burst }, at) => (found[at] ?? 0) <= burst);
      return { admitted, levels: admitted ? found.map((level) => level + 1) : found };
    },
    bucketLevels: levels,
    unavailableReason: (policy) => counters.unavailableReason?.(policy) ?? null,
    async close() {},
  };
}

const readOnlyConcurrency = (concurrency: Concurrency): Concurrency => ({
  acquire: (name, limit) => concurrency.held(name) < limit,
  release() {},
  held: (name) => concurrency.held(name),
});

const readOnlyCache = <Value>(cache: InstanceCache<Value> | null): PluginCache<Value> => ({
  get: (key) => (cache?.peek === undefined ? cache?.get(key) : cache.peek(key)),
  set() {},
  delete: () => false,
  clear() {},
});

const noMetrics = {
  recorder: (): ReturnType<RequestMetrics["recorder"]> => ({ request() {}, bytes() {}, latency() {} }),
  pluginCounter: () => ({ add() {} }),
  pluginHistogram: () => ({ observe() {} }),
};

const logTo = (activity: ReadOnlyActivity): ServicesLog => {
  const write = (_facts: object, message: string) => activity.logged(message);
  return { info: write, warn: write, error: write };
};
