/** Config of response-ratelimiting: limits of the amounts that services report in their responses. */
import {
  atLeastOneOf,
  boolean,
  choice,
  conditionalViolations,
  decimal,
  definePluginFacts,
  deprecatedRedisMembers,
  isEmptyValue,
  isRecord,
  mapping,
  nullable,
  type Period,
  periods,
  type RecordMembers,
  type RecordRule,
  record,
  redisServer,
  type Static,
  text,
  type Violation,
} from "@sluice/plugin-sdk";

const amount = (period: Period) =>
  nullable(decimal({ description: `Amount that may be used in one ${period}.`, exclusiveMinimum: 0 }));

const limit = record(
  {
    second: amount("second"),
    minute: amount("minute"),
    hour: amount("hour"),
    day: amount("day"),
    month: amount("month"),
    year: amount("year"),
  },
  { description: "Amounts by period." },
);

const schema = record(
  {
    header_name: text({
      description: "Response header of the service with the used amounts, such as `videos=2, images=1`.",
      default: "x-kong-limit",
      rule: "header-name",
      maxLength: 256,
    }),
    limit_by: choice(["consumer", "credential", "ip"], {
      description:
        "The property by which amounts are counted: requests with the same value share the counters. If a request " +
        "has no such value, the client's address is used.",
      default: "consumer",
    }),
    policy: choice(["local", "cluster", "redis", "fleet"], {
      description:
        "Where counters are kept: local (in the memory of each node), redis, cluster (in the database; database " +
        "mode only), or fleet (in the memory of the nodes, which count together without Redis; they need " +
        "SLUICE_PEER_LISTEN, and requests are answered with 503 by a node without it). Kong has no policy fleet.",
      default: "local",
    }),
    fault_tolerant: boolean({
      description:
        "Whether requests pass without a limit while the counters are unreachable. If false, they are answered with " +
        "500. With policy fleet, a node decides by the amounts that it knows.",
      default: true,
    }),
    redis: redisServer("The Redis server for policy redis."),
    block_on_first_violation: boolean({
      description: "Whether requests are refused as soon as one of the limits is used up.",
      default: false,
    }),
    hide_client_headers: boolean({ description: "Omit the rate-limit headers from responses.", default: false }),
    limits: mapping(limit, { description: "Limits by name.", keyRule: "header-name", maxProperties: 64 }),
  },
  {
    description:
      "Limits the amounts that services report in a header of their responses, for example `videos=2` for a request " +
      "that has used two videos. If a limit is used up, a response that reports an amount for it is replaced by one " +
      "with status 429. Amounts are added after the response, so concurrent requests " +
      "can exceed a limit.",
    deprecatedMembers: deprecatedRedisMembers,
  },
);

export type ResponseRatelimitingConfig = Static<typeof schema>;

/** The message for the first two periods whose limits contradict each other; null: none. Kong reports one pair only. */
function periodsInOrder(limits: RecordMembers): string | null {
  const given = periods.flatMap((period) => {
    const value = limits[period];
    return typeof value === "number" ? [{ period, value }] : [];
  });
  for (const [index, shorter] of given.entries()) {
    const longer = given.slice(index + 1).find(({ value }) => value < shorter.value);
    if (longer === undefined) continue;
    const [high, low] = [longer, shorter].map(({ period, value }) => `${period}(${value.toFixed(1)})`);
    return `the limit for ${high} cannot be lower than the limit for ${low}`;
  }
  return null;
}

function checkLimit(name: string, limits: RecordMembers): readonly Violation[] {
  const message = periodsInOrder(limits);
  const below = atLeastOneOf(limits, periods).map((violation) => ({
    ...violation,
    path: ["limits", name, ...violation.path],
  }));
  return [...below, ...(message === null ? [] : [{ path: ["limits", name], message }])];
}

const check: RecordRule = ({ limits, policy, redis }) => [
  ...(isRecord(limits)
    ? Object.entries(limits).flatMap(([name, each]) => (isRecord(each) ? checkLimit(name, each) : []))
    : []),
  ...(isRecord(limits) && Object.keys(limits).length === 0
    ? [{ path: ["limits"], message: "length must be at least 1" }]
    : []),
  ...(policy === "redis" && isEmptyValue(isRecord(redis) ? redis.host : null)
    ? conditionalViolations("config.policy", ["redis", "host"], "required field missing")
    : []),
];

export const responseRatelimitingFacts = definePluginFacts({
  name: "response-ratelimiting",
  version: "0.1.0",
  priority: 900,
  protects: true,
  check,
  kongChecks: ["redis.host", "redis.port", "redis.timeout"].map((member) => ({
    conditional: {
      if_field: "config.policy",
      if_match: { eq: "redis" },
      then_field: `config.${member}`,
      then_match: { required: true },
    },
  })),
  schema,
});
