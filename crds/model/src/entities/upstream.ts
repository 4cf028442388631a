/** An upstream: several targets behind one host name, and how requests are balanced over them. */
import { boolean, choice, decimal, integer, nullable, record, reference, type Static, text } from "@sluice/plugin-sdk";
import { created_at, idMember, tagsMember, updated_at } from "./common-members.ts";
import { healthchecksSchema } from "./healthchecks.ts";

const algorithms = ["consistent-hashing", "least-connections", "round-robin", "latency"] as const;

const sources = ["none", "consumer", "ip", "header", "cookie", "path", "query_arg", "uri_capture"] as const;

const headerName = (description: string) =>
  nullable(text({ description, rule: "header-name", minLength: 1, maxLength: 256 }));
const word = (description: string) => nullable(text({ description, minLength: 1, maxLength: 256 }));

/** Members that Kong does not have. Their names are those of Envoy. */
const slowStartWindow = nullable(
  decimal({
    description:
      "Seconds over which the weight of a target grows, from a tenth to all of it, after the target was added or " +
      "became healthy again. Has no effect with consistent-hashing. Unset: the full weight applies at once.",
    minimum: 0.001,
    maximum: 86_400,
  }),
);

const outlierDetection = nullable(
  record(
    {
      base_ejection_time: decimal({
        description:
          "Seconds after which a target that passive checks made unhealthy gets requests again. The time grows by this " +
          "value each time the target becomes unhealthy again soon. The same holds for a target that active checks made " +
          "unhealthy. Has no effect if active checks can make the target healthy.",
        default: 30,
        minimum: 0.001,
        maximum: 86_400,
      }),
      max_ejection_time: decimal({
        description: "Maximum of that time in seconds, but at least `base_ejection_time`.",
        default: 300,
        minimum: 0.001,
        maximum: 86_400,
      }),
      max_ejection_percent: integer({
        description:
          "Passive checks make no further target unhealthy if more than this percentage of the targets would then be " +
          "unhealthy.",
        default: 50,
        minimum: 0,
        maximum: 100,
      }),
    },
    {
      description:
        "Limits of passive health checks: for how long, and how many targets, may be unhealthy because of them. Unset: " +
        "any number of targets, until a check makes them healthy.",
    },
  ),
);

export const upstreamSchema = record(
  {
    id: idMember("the name"),
    created_at,
    updated_at,
    name: text({
      description: "A unique host name: services with this host send their requests to the targets.",
      rule: "upstream-name",
      maxLength: 255,
    }),
    algorithm: choice(algorithms, {
      description:
        "How a target is chosen: in turn (round-robin), by the fewest active requests (least-connections), by " +
        "response time (latency), or by a hash (consistent-hashing).",
      default: "round-robin",
    }),
    hash_on: choice(sources, {
      description: "The part of the request that consistent-hashing hashes.",
      default: "none",
    }),
    hash_fallback: choice(sources, {
      description: "The part of the request that is hashed instead if the request does not contain the part to hash.",
      default: "none",
    }),
    hash_on_header: headerName("The header to hash, for hashing by header."),
    hash_fallback_header: headerName("The header to hash, for the fallback to a header."),
    hash_on_cookie: word(
      "The cookie to hash, for hashing by cookie or for the fallback to a cookie. Clients without the cookie get one.",
    ),
    hash_on_cookie_path: text({
      description: "The Path attribute of the cookie that clients get for hashing.",
      rule: "path",
      default: "/",
      maxLength: 4096,
    }),
    hash_on_query_arg: word("The query argument to hash, for hashing by query argument."),
    hash_fallback_query_arg: word("The query argument to hash, for the fallback to a query argument."),
    hash_on_uri_capture: word("Name or number of the capture group to hash, for hashing by URI capture."),
    hash_fallback_uri_capture: word("Name or number of the capture group to hash, for the fallback to a URI capture."),
    slots: integer({
      description: "Slots on the ring of consistent-hashing. More slots distribute requests more evenly.",
      default: 10_000,
      minimum: 10,
      maximum: 65_536,
    }),
    healthchecks: healthchecksSchema,
    tags: tagsMember,
    host_header: nullable(
      text({ description: "Value of the Host header for requests to the targets.", rule: "host-port", maxLength: 260 }),
    ),
    client_certificate: reference(
      "certificates",
      "The client certificate that is presented to https targets.",
      "restrict",
    ),
    use_srv_name: boolean({
      description:
        "Whether requests to a target with SRV records have the name in the SRV record, rather than the target's name, " +
        "as their Host header and TLS server name. A `host_header` takes precedence.",
      default: false,
    }),
    slow_start_window: slowStartWindow,
    outlier_detection: outlierDetection,
  },
  { description: "Load-balanced targets behind one host name.", rule: "upstream" },
);

export type Upstream = Static<typeof upstreamSchema>;
