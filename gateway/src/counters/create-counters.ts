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
  take: () => Promise.reject(new Error("policy cluster needs the database mode")),
  add: () => Promise.reject(new Error("policy cluster needs the database mode")),
  close: async () => undefined,
};

/** The schema of rate-limiting refuses buckets with policy cluster. */
const withoutBuckets = (counters: WindowCounters): Counters => ({
  take: (wanted, config) => counters.take(wanted, config),
  add: (wanted, amount, config) => counters.add(wanted, amount, config),
  fill: () => Promise.reject(new Error("policy cluster has no buckets")),
  levels: () => Promise.reject(new Error("policy cluster has no buckets")),
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
    take: (wanted, config) => byPolicy[config.policy].take(wanted, config),
    add: (wanted, amount, config) => byPolicy[config.policy].add(wanted, amount, config),
    fill: (buckets, now, config) => byPolicy[config.policy].fill(buckets, now, config),
    levels: (buckets, now, config) => byPolicy[config.policy].levels(buckets, now, config),
    async close() {
      await Promise.all(Object.values(byPolicy).map((each) => each.close()));
    },
  };
  return counters;
}
