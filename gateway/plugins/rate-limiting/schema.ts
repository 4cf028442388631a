/** Config of rate-limiting: the number of requests in a period. */

import {
  addressListMember,
  boolean,
  choice,
  decimal,
  definePluginFacts,
  deprecatedRedisMembers,
  fleetFallbacks,
  integer,
  limitByMembers,
  MAX_BURST,
  nullable,
  type Period,
  record,
  redisServer,
  type Static,
  scopeNameMember,
  text,
} from "@sluice/plugin-sdk";
import { checkRateLimiting, kongChecks } from "./checks.ts";

const limit = (period: Period) =>
  nullable(decimal({ description: `Number of requests allowed in one ${period}.`, exclusiveMinimum: 0 }));

const burst = (period: Period) =>
  nullable(integer({ description: `Burst of the limit per ${period}.`, minimum: 0, maximum: MAX_BURST }));

const schema = record(
  {
    second: limit("second"),
    minute: limit("minute"),
    hour: limit("hour"),
    day: limit("day"),
    month: limit("month"),
    year: limit("year"),
    ...limitByMembers("consumer"),
    policy: choice(["local", "cluster", "redis", "fleet"], {
      description:
        "Where counters are kept: local (in the memory of each node, which holds about a million counters), redis, " +
        "cluster (in the database; database mode only), or fleet (in the memory of the nodes, which count together " +
        "without Redis; they need SLUICE_PEER_LISTEN, and requests are answered with 503 by a node without it). Kong " +
        "has no policy fleet.",
      default: "local",
    }),
    fault_tolerant: boolean({
      description:
        "Whether requests pass without a limit while the counters are unreachable. If false, they are answered with " +
        "500. With policy fleet, `fleet_fallback` decides instead.",
      default: true,
    }),
    fleet_fallback: choice(fleetFallbacks, {
      description:
        "With policy fleet, what a node does with requests while the node that owns their counter does not answer, " +
        "for example for about two seconds after a crash: share (it admits at most the limit divided by the number of " +
        "nodes, rounded down), open (it admits all), or closed (it refuses all). Kong has no such field.",
      default: "share",
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
    algorithm: choice(["fixed-window", "bucket"], {
      description:
        "How requests are limited. fixed-window: each period has a window (see `window_type`). bucket: each period has a leaky bucket, " +
        "which admits requests evenly at the rate of the limit, and in addition as many at once as `burst` allows. " +
        "Kong has no such field.",
      default: "fixed-window",
    }),
    window_type: choice(["fixed", "sliding"], {
      description:
        "The windows of algorithm fixed-window. fixed: counting begins at 0 with each window, so a client may send twice " +
        "the limit in a short time around the end of a window. sliding: in addition, the requests of the previous window " +
        "count in part, by the part of a period that is left of the present window. The name is that of Kong's plugin " +
        "rate-limiting-advanced; Kong's rate-limiting has no such field. A change of this member begins to count at 0.",
      default: "fixed",
    }),
    cost: choice(["request", "graphql"], {
      description:
        "What a request takes of the limits: request (1), or graphql (the cost of its GraphQL operations, which the " +
        "plugin graphql computes; 1 for requests without operations). A request whose cost exceeds what is left is " +
        "refused and takes nothing. For algorithm fixed-window and the policies local, redis and fleet. Kong has no such field.",
      default: "request",
    }),
    burst: nullable(
      record(
        {
          second: burst("second"),
          minute: burst("minute"),
          hour: burst("hour"),
          day: burst("day"),
          month: burst("month"),
          year: burst("year"),
        },
        {
          description:
            "With algorithm bucket, the number of requests that a client may send at once beyond the rate, for each " +
            "period with a limit; unset is 0. With `second: 5` and `burst.second: 25`, a client may send 26 requests " +
            "at once, and then one every 200 ms. Kong has no such field.",
        },
      ),
    ),
    exempt: addressListMember(
      "Addresses and CIDR blocks of clients whose requests are neither limited nor counted. Kong has no such field.",
    ),
    scope_name: scopeNameMember(),
  },
  {
    description:
      "Limits the number of requests in each period. Windows begin and end with the second, minute, " +
      "hour, day, month or year in UTC. A refused request is not counted. `X-RateLimit-*` headers report each period, " +
      "and `RateLimit-*` headers report the period with the fewest requests left. In the response to a refused " +
      "request, `Retry-After` is the number of seconds until the window of that period ends. With `window_type: sliding`, " +
      "`RateLimit-Reset` is the number of seconds until no request of the past counts any more, and `Retry-After` the " +
      "number until a request is admitted, both if there are no further requests. Local counters survive " +
      "a change of the configuration, but not a restart of the node. With `algorithm: bucket`, there are no windows: " +
      "`X-RateLimit-Limit-*` has the limit of each period, `X-RateLimit-Remaining-*` the number of requests that its " +
      "bucket still admits at once, `RateLimit-Limit` one more than the burst, `RateLimit-Reset` the number of seconds " +
      "until the bucket is empty, and `Retry-After` the number of seconds until it admits a request.",
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
