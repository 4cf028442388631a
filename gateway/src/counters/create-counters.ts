/** The counters of a worker, by the policy of each rate-limiting config. */
import type { Counter, CounterOptions, Counters, Warn, WindowCounters } from "@sluice/plugin-sdk";
import type { Connect } from "../outbound/connect.ts";
import { NO_FLEET } from "../settings/peers.ts";
import { RedisCounters } from "./redis/redis-counters.ts";
import { slidingCounters } from "./sliding-windows.ts";
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
  /** Counters of `policy: fleet`. Default: the policy is unavailable. */
  readonly fleet?: WindowCounters;
}

const NO_CLUSTER = "policy cluster needs the database mode";

const noCounters = (reason: string): WindowCounters => ({
  incrementBelowLimit: () => Promise.reject(new Error(reason)),
  addAmount: () => Promise.reject(new Error(reason)),
  close: async () => undefined,
});

/** The schema of rate-limiting refuses buckets with these policies. */
const withoutBuckets = (policy: string, counters: WindowCounters): Counters => ({
  incrementBelowLimit: (wanted, config) => counters.incrementBelowLimit(wanted, config),
  addAmount: (wanted, amount, config) => counters.addAmount(wanted, amount, config),
  fillBuckets: () => Promise.reject(new Error(`policy ${policy} has no buckets`)),
  bucketLevels: () => Promise.reject(new Error(`policy ${policy} has no buckets`)),
  close: () => counters.close(),
});

export function createCounters({
  warn,
  connect,
  now,
  local = new ThreadCounters(),
  cluster = noCounters(NO_CLUSTER),
  fleet,
}: CountersOptions) {
  const byPolicy: Readonly<Record<CounterOptions["policy"], Counters>> = {
    local,
    cluster: withoutBuckets("cluster", cluster),
    fleet: withoutBuckets("fleet", fleet ?? noCounters(NO_FLEET)),
    redis: new RedisCounters({ warn, connect, now }),
  };
  /** The nodes of a fleet know the window before themselves. */
  const slidingByPolicy: Readonly<
    Record<CounterOptions["policy"], WindowCounters | ReturnType<typeof slidingCounters>>
  > = {
    local: slidingCounters(byPolicy.local),
    cluster: slidingCounters(byPolicy.cluster),
    fleet: byPolicy.fleet,
    redis: slidingCounters(byPolicy.redis),
  };
  const windowsOf = (wanted: readonly Counter[], { policy }: CounterOptions) =>
    (wanted[0]?.sliding === undefined ? byPolicy : slidingByPolicy)[policy];
  const counters: Counters = {
    incrementBelowLimit: (wanted, config) => windowsOf(wanted, config).incrementBelowLimit(wanted, config),
    addAmount: (wanted, amount, config) => windowsOf(wanted, config).addAmount(wanted, amount, config),
    fillBuckets: (buckets, now, config) => byPolicy[config.policy].fillBuckets(buckets, now, config),
    bucketLevels: (buckets, now, config) => byPolicy[config.policy].bucketLevels(buckets, now, config),
    unavailableReason: (policy) => (policy === "fleet" && fleet === undefined ? NO_FLEET : null),
    async close() {
      await Promise.all(Object.values(byPolicy).map((each) => each.close()));
    },
  };
  return counters;
}
