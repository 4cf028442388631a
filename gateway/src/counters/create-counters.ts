/** The counters of a worker, by the policy of each rate-limiting config. */
import type { CounterOptions, Counters, Warn, WindowCounters } from "@sluice/plugin-sdk";
import type { Connect } from "../outbound/connect.ts";
import { RedisCounters } from "./redis/redis-counters.ts";
import { ThreadCounters } from "./thread-counters.ts";

export interface CountersOptions {
  /** Called when Redis is lost and when it is back. */
  readonly warn: Warn;
  /** Opens the connections to Redis. */
  readonly connect: Connect;
  /** Unix milliseconds; default Date.now. */
  readonly now?: () => number;
  /** Counters of `policy: local`; default: counters of this thread only. */
  readonly local?: Counters;
  /** Counters of `policy: cluster`, for the database mode only. Default: calls with this policy reject. */
  readonly cluster?: WindowCounters;
}

const noCluster: WindowCounters = {
  incrementBelowLimit: () => Promise.reject(new Error("policy cluster needs the database mode")),
  addAmount: () => Promise.reject(new Error("policy cluster needs the database mode")),
  close: async () => undefined,
};

/** The schema of rate-limiting refuses buckets with policy cluster. */
const withoutBuckets = (counters: WindowCounters): Counters => ({
  incrementBelowLimit: (wanted, config) => counters.incrementBelowLimit(wanted, config),
  addAmount: (wanted, amount, config) => counters.addAmount(wanted, amount, config),
  fillBuckets: () => Promise.reject(new Error("policy cluster has no buckets")),
  bucketLevels: () => Promise.reject(new Error("policy cluster has no buckets")),
  close: () => counters.close(),
});

export function createCounters({
  warn,
  connect,
  now,
  local = new ThreadCounters(),
  cluster = noCluster,
}: CountersOptions) {
  const byPolicy: Readonly<Record<CounterOptions["policy"], Counters>> = {
    local,
    cluster: withoutBuckets(cluster),
    redis: new RedisCounters({ warn, connect, now }),
  };
  const counters: Counters = {
    incrementBelowLimit: (wanted, config) => byPolicy[config.policy].incrementBelowLimit(wanted, config),
    addAmount: (wanted, amount, config) => byPolicy[config.policy].addAmount(wanted, amount, config),
    fillBuckets: (buckets, now, config) => byPolicy[config.policy].fillBuckets(buckets, now, config),
    bucketLevels: (buckets, now, config) => byPolicy[config.policy].bucketLevels(buckets, now, config),
    async close() {
      await Promise.all(Object.values(byPolicy).map((each) => each.close()));
    },
  };
  return counters;
}
