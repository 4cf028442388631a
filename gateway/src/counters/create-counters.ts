/** The counters of a worker, by the policy of each rate-limiting config. */
import type { CounterOptions, Counters, Warn } from "@sluice/plugin-sdk";
import type { Connect } from "../outbound/connect.ts";
import { RedisCounters } from "./redis-counters.ts";
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
  /** Counters of `policy: cluster`, for the database mode only. Default: `take` and `add` with this policy reject. */
  readonly cluster?: Counters;
}

const noCluster: Counters = {
  take: () => Promise.reject(new Error("policy cluster needs the database mode")),
  add: () => Promise.reject(new Error("policy cluster needs the database mode")),
  close: async () => undefined,
};

export function createCounters({
  warn,
  connect,
  now,
  local = new ThreadCounters(),
  cluster = noCluster,
}: CountersOptions) {
  const byPolicy: Readonly<Record<CounterOptions["policy"], Counters>> = {
    local,
    cluster,
    redis: new RedisCounters({ warn, connect, now }),
  };
  const counters: Counters = {
    take: (wanted, config) => byPolicy[config.policy].take(wanted, config),
    add: (wanted, amount, config) => byPolicy[config.policy].add(wanted, amount, config),
    async close() {
      await Promise.all(Object.values(byPolicy).map((each) => each.close()));
    },
  };
  return counters;
}
