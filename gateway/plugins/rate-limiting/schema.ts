/** Config of rate-limiting: the number of requests in a period. */

import {
  boolean,
  choice,
  decimal,
  definePluginFacts,
  deprecatedRedisMembers,
  integer,
  nullable,
  type Period,
  record,
  redisServer,
  type Static,
  text,
} from "@sluice/plugin-sdk";
import { checkRateLimiting, kongChecks } from "./checks.ts";

const limit = (period: Period) =>
  nullable(decimal({ description: `Number of requests allowed in one ${period}.`, exclusiveMinimum: 0 }));

const schema = record(
  {
    second: limit("second"),
    minute: limit("minute"),
    hour: limit("hour"),
    day: limit("day"),
    month: limit("month"),
    year: limit("year"),
    limit_by: choice(["consumer", "credential", "ip", "service", "header", "path"], {
      description:
        "The property by which requests are counted: requests with the same value share a counter. If a request has " +
        "no such value, the client's address is used; for IPv6 it is the full address, as in Kong.",
      default: "consumer",
    }),
    header_name: nullable(
      text({ description: "The header to count by if limit_by is header.", rule: "header-name", maxLength: 256 }),
    ),
    path: nullable(
      text({
        description:
          "The path to count if limit_by is path: requests to it share a counter, other requests are counted by " +
          "address.",
        rule: "path",
        maxLength: 1024,
      }),
    ),
    policy: choice(["local", "cluster", "redis"], {
      description:
        "Where counters are kept: local (in the memory of each node, which holds about a million counters), redis, " +
        "or cluster (in the database; database mode only).",
      default: "local",
    }),
    fault_tolerant: boolean({
      description:
        "Whether requests pass without a limit while the counters are unreachable. If false, they are answered with " +
        "500.",
      default: true,
    }),
    redis: redisServer("The Redis server for policy redis."),
    hide_client_headers: boolean({ description: "Omit the rate-limit headers from responses.", default: false }),
    error_code: integer({
      description: "Status of the response to a request over the limit.",
      default: 429,
      minimum: 100,
      maximum: 599,
    }),
    error_message: text({
      description: "Message of the response to a request over the limit.",
      default: "API rate limit exceeded",
      maxLength: 1024,
    }),
    sync_rate: decimal({
      description: "Seconds between synchronizations with Redis; -1 counts every request in Redis.",
      default: -1,
    }),
  },
  {
    description:
      "Limits the number of requests in each period. Windows are fixed: they begin and end with the second, minute, " +
      "hour, day, month or year in UTC. A refused request is not counted. `X-RateLimit-*` headers report each period, " +
      "and `RateLimit-*` headers report the period with the fewest requests left. In the response to a refused " +
      "request, `Retry-After` is the number of seconds until the window of that period ends. Local counters survive " +
      "a change of the configuration, but not a restart of the node.",
    deprecatedMembers: deprecatedRedisMembers,
  },
);

export type RateLimitingConfig = Static<typeof schema>;

export const rateLimitingFacts = definePluginFacts({
  name: "rate-limiting",
  version: "0.1.0",
  priority: 910,
  protects: true,
  check: checkRateLimiting,
  kongChecks,
  schema,
});
