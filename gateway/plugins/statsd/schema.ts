/** Config of statsd: the server, and the metrics that are sent to it. */
import {
  array,
  boolean,
  checkSampleRates,
  choice,
  decimal,
  definePluginFacts,
  deprecatedQueueMembers,
  integer,
  nullable,
  queueSettings,
  type RecordRule,
  record,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const consumerIdentifiers = ["consumer_id", "custom_id", "username"] as const;
const serviceIdentifiers = ["service_id", "service_name", "service_host", "service_name_or_host"] as const;
const workspaceIdentifiers = ["workspace_id", "workspace_name"] as const;

const metric = record(
  {
    name: choice(
      [
        ...(["kong_latency", "latency", "request_count", "request_per_user", "request_size", "response_size"] as const),
        ...(["status_count", "status_count_per_user", "unique_users", "upstream_latency"] as const),
        ...(["status_count_per_workspace", "status_count_per_user_per_route", "shdict_usage"] as const),
      ],
      { description: "The metric. shdict_usage is never sent: the node has no shared dictionaries." },
    ),
    stat_type: choice(["counter", "gauge", "histogram", "meter", "set", "timer"], {
      description: "The type of the metric in StatsD. Metrics of users and statuses have a fixed type.",
    }),
    sample_rate: nullable(
      decimal({
        description: "The sample rate that is sent with the value; required for the types counter and gauge.",
        exclusiveMinimum: 0,
      }),
    ),
    consumer_identifier: nullable(
      choice(consumerIdentifiers, {
        description: "The field that names the consumer in the metric. Unset: `consumer_identifier_default`.",
      }),
    ),
    service_identifier: nullable(
      choice(serviceIdentifiers, {
        description: "The field that names the service in the metric. Unset: `service_identifier_default`.",
      }),
    ),
    workspace_identifier: nullable(
      choice(workspaceIdentifiers, {
        description: "The field that names the workspace in the metric. Unset: `workspace_identifier_default`.",
      }),
    ),
  },
  { description: "A metric that is sent for every request." },
);

const counters = [
  ...["request_size", "status_count", "response_size", "request_per_user", "status_count_per_user"],
  ...["status_count_per_workspace", "status_count_per_user_per_route"],
];
const unset = {
  sample_rate: null,
  consumer_identifier: null,
  service_identifier: null,
  workspace_identifier: null,
};
const defaults = [
  { ...unset, name: "request_count", stat_type: "counter", sample_rate: 1 },
  { ...unset, name: "latency", stat_type: "timer" },
  ...counters.slice(0, 3).map((name) => ({ ...unset, name, stat_type: "counter", sample_rate: 1 })),
  { ...unset, name: "unique_users", stat_type: "set" },
  { ...unset, name: "request_per_user", stat_type: "counter", sample_rate: 1 },
  { ...unset, name: "upstream_latency", stat_type: "timer" },
  { ...unset, name: "kong_latency", stat_type: "timer" },
  ...counters.slice(4).map((name) => ({ ...unset, name, stat_type: "counter", sample_rate: 1 })),
  { ...unset, name: "shdict_usage", stat_type: "gauge", sample_rate: 1 },
];

const MAX_DATAGRAM = 65_507;

const schema = record(
  {
    host: text({ description: "Name or address of the server.", rule: "host", default: "localhost", maxLength: 253 }),
    port: integer({ description: "Port of the server.", default: 8125, minimum: 0, maximum: 65_535 }),
    prefix: text({ description: "Prefix of the names of metrics.", default: "kong", maxLength: 200 }),
    metrics: array(metric, { description: "The metrics.", default: defaults, maxItems: 64 }),
    allow_status_codes: nullable(
      array(text({ description: "A range such as 200-299.", maxLength: 16 }), {
        description:
          "Ranges of statuses, such as `200-299`; no metrics are sent for other responses. Unset: all statuses.",
        maxItems: 64,
      }),
    ),
    udp_packet_size: integer({
      description: "Maximum number of bytes of a datagram with several metrics; 0 sends each metric alone.",
      default: 0,
      minimum: 0,
      maximum: MAX_DATAGRAM,
    }),
    use_tcp: boolean({ description: "Whether to use TCP instead of UDP.", default: false }),
    hostname_in_prefix: boolean({
      description: "Whether the prefix contains the name of the node's machine. Has no effect with tag_style.",
      default: false,
    }),
    consumer_identifier_default: choice(consumerIdentifiers, {
      description: "The field that names the consumer, unless a metric sets its own.",
      default: "custom_id",
    }),
    service_identifier_default: choice(serviceIdentifiers, {
      description: "The field that names the service, unless a metric sets its own.",
      default: "service_name_or_host",
    }),
    workspace_identifier_default: choice(workspaceIdentifiers, {
      description: "The field that names the workspace, unless a metric sets its own.",
      default: "workspace_id",
    }),
    retry_count: nullable(integer({ description: "Has no effect, as in Kong; see queue.max_retry_time." })),
    tag_style: nullable(
      choice(["dogstatsd", "influxdb", "librato", "signalfx"], {
        description:
          "The format of tags, which replace service and status in the names of metrics. With tags, metrics of users " +
          "and statuses are not sent. Unset: no tags.",
      }),
    ),
    queue: queueSettings(),
  },
  {
    description:
      "Sends metrics of every request, and of connections that are not HTTP, to a StatsD server. A host on the node's " +
      "own machine must be allowed by SLUICE_ALLOWED_UPSTREAMS.",
    deprecatedMembers: deprecatedQueueMembers,
  },
);

export type StatsdConfig = Static<typeof schema>;

const RANGE = /^\d+-\d+$/;

const check: RecordRule = ({ metrics, allow_status_codes: ranges }) => [
  ...checkSampleRates(metrics),
  ...(Array.isArray(ranges) ? ranges : []).flatMap((range, at) =>
    typeof range === "string" && range !== "" && !RANGE.test(range)
      ? [{ path: ["allow_status_codes", at], message: `invalid value: ${range}` }]
      : [],
  ),
];

export const statsdFacts = definePluginFacts({
  name: "statsd",
  version: "0.1.0",
  priority: 11,
  protects: false,
  actsOnConnections: "byProtocol",
  check,
  schema,
});
