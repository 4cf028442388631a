/** Checks between the members of a rate-limiting config, with Kong's messages. */
import {
  atLeastOneOf,
  conditionalViolations,
  isEmptyValue,
  type KongCheck,
  limitByKongChecks,
  limitByViolations,
  MIN_INTERVAL,
  nominalLength,
  periods,
  type RecordMembers,
  type RecordRule,
  type Violation,
} from "@sluice/plugin-sdk";

export const checkRateLimiting: RecordRule = (config) => [
  ...atLeastOneOf(config, periods, "config."),
  ...periodsInOrder(config),
  ...syncRate(config),
  ...needed(config),
  ...bucketMembers(config),
  ...costMembers(config),
  ...slidingMembers(config),
];

/** Like Kong, reports only the first pair of periods whose limits contradict each other. */
function periodsInOrder(config: RecordMembers): readonly Violation[] {
  // A bucket's burst may make the limits of any two periods useful together.
  if (config.algorithm === "bucket") return [];
  const limits = periods.flatMap((period) => {
    const limit = config[period];
    return typeof limit === "number" ? [{ period, limit }] : [];
  });
  for (const [index, shorter] of limits.entries()) {
    const longer = limits.slice(index + 1).find(({ limit }) => limit < shorter.limit);
    if (longer === undefined) continue;
    const [high, low] = [longer, shorter].map(({ period, limit }) => `${period}(${limit.toFixed(1)})`);
    return [{ path: [], message: `The limit for ${high} cannot be lower than the limit for ${low}` }];
  }
  return [];
}

function syncRate({ policy, sync_rate: rate }: RecordMembers): readonly Violation[] {
  if (typeof rate !== "number" || rate === -1) return [];
  if (policy !== "redis") return [{ path: [], message: "sync_rate can only be used with the redis policy" }];
  if (rate < 0.02) return [{ path: [], message: "sync_rate must be greater than 0.02, or -1 to disable" }];
  return [];
}

function needed(config: RecordMembers): readonly Violation[] {
  if (config.policy !== "redis" || !isEmptyValue(recordOf(config.redis).host)) return limitByViolations(config);
  return [
    ...conditionalViolations("config.policy", ["redis", "host"], "required field missing"),
    ...limitByViolations(config),
  ];
}

const recordOf = (value: unknown): RecordMembers => (typeof value === "object" && value !== null ? { ...value } : {});

/** Maximum requests per second of a bucket. */
const MAX_RATE = 1000 / MIN_INTERVAL;

function bucketMembers(config: RecordMembers): readonly Violation[] {
  const bursts = Object.entries(recordOf(config.burst)).filter(([, burst]) => !isEmptyValue(burst));
  if (config.algorithm !== "bucket") {
    return bursts.length === 0 ? [] : [{ path: ["burst"], message: "burst can only be used with algorithm bucket" }];
  }
  const found: Violation[] = bursts
    .filter(([period]) => isEmptyValue(config[period]))
    .map(([period]) => ({ path: ["burst", period], message: `there is no limit for ${period}` }));
  for (const period of periods) {
    const limit = config[period];
    if (typeof limit === "number" && nominalLength[period] / limit < MIN_INTERVAL)
      found.push({ path: [period], message: `a bucket admits at most ${MAX_RATE} requests per second` });
  }
  if (config.policy === "cluster" || config.policy === "fleet")
    found.push({ path: ["policy"], message: "algorithm bucket can only be used with the policies local and redis" });
  if (config.policy === "redis" && config.sync_rate !== -1)
    found.push({
      path: ["sync_rate"],
      message: "algorithm bucket counts every request in Redis: sync_rate must be -1",
    });
  return found;
}

function costMembers({ cost, algorithm, policy }: RecordMembers): readonly Violation[] {
  if (cost !== "graphql") return [];
  const found: Violation[] = [];
  if (algorithm === "bucket")
    found.push({ path: ["cost"], message: "cost graphql can only be used with algorithm fixed-window" });
  // The database counts requests, not amounts.
  if (policy === "cluster")
    found.push({ path: ["cost"], message: "cost graphql can only be used with the policies local, redis and fleet" });
  return found;
}

function slidingMembers({ window_type: type, algorithm, policy, sync_rate }: RecordMembers): readonly Violation[] {
  if (type !== "sliding") return [];
  const found: Violation[] = [];
  if (algorithm === "bucket")
    found.push({ path: ["window_type"], message: "window_type sliding can only be used with algorithm fixed-window" });
  if (policy === "redis" && sync_rate !== -1)
    found.push({
      path: ["sync_rate"],
      message: "window_type sliding counts every request in Redis: sync_rate must be -1",
    });
  return found;
}

/** The checks in this file that Kong's schema language can express. */
export const kongChecks: readonly KongCheck[] = [
  { at_least_one_of: periods.map((period) => `config.${period}`) },
  {
    conditional: {
      if_field: "config.policy",
      if_match: { eq: "redis" },
      then_field: "config.redis.host",
      then_match: { required: true },
    },
  },
  ...limitByKongChecks,
];
