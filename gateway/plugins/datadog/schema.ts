/** Config of datadog: the agent, and the metrics that are sent to it. */
import {
  array,
  checkSampleRates,
  choice,
  decimal,
  definePluginFacts,
  deprecatedQueueMembers,
  integer,
  isRecord,
  nullable,
  queueSettings,
  type RecordRule,
  record,
  type Static,
  text,
  type Violation,
} from "@sluice/plugin-sdk";

const statNames = [
  "kong_latency",
  "latency",
  "request_count",
  "request_size",
  "response_size",
  "upstream_latency",
] as const;

const metric = record(
  {
    name: choice(statNames, { description: "The metric." }),
    stat_type: choice(["counter", "gauge", "histogram", "meter", "set", "timer", "distribution"], {
      description: "The type of the metric in StatsD.",
    }),
    tags: nullable(
      array(text({ description: "A tag; it must not end with a colon.", maxLength: 200 }), {
        description: "Tags of the metric.",
        maxItems: 64,
      }),
    ),
    sample_rate: nullable(
      decimal({
        description: "The sample rate that is sent with the value; required for the types counter and gauge.",
        minimum: 0,
        maximum: 1,
      }),
    ),
    consumer_identifier: nullable(
      choice(["consumer_id", "custom_id", "username"], {
        description: "The field of the consumer whose value is sent in the consumer's tag. Unset: the tag is left out.",
      }),
    ),
  },
  { description: "A metric that is sent for every request." },
);

const defaults = [
  { name: "request_count", stat_type: "counter", sample_rate: 1 },
  ...["latency", "request_size", "response_size", "upstream_latency", "kong_latency"].map((name) => ({
    name,
    stat_type: "timer",
    sample_rate: null,
  })),
].map((members) => ({ ...members, tags: ["app:kong"], consumer_identifier: "custom_id" }));

const tagName = (what: string, name: string) =>
  text({ description: `Name of the tag of ${what}.`, default: name, maxLength: 200 });

const schema = record(
  {
    host: text({ description: "Name or address of the agent.", rule: "host", default: "localhost", maxLength: 253 }),
    port: integer({ description: "Port of the agent.", default: 8125, minimum: 0, maximum: 65_535 }),
    prefix: text({ description: "Prefix of the names of metrics.", default: "kong", maxLength: 200 }),
    service_name_tag: tagName("the service", "name"),
    status_tag: tagName("the status", "status"),
    consumer_tag: tagName("the consumer", "consumer"),
    retry_count: nullable(integer({ description: "Has no effect, as in Kong; see queue.max_retry_time." })),
    queue: queueSettings(),
    metrics: array(metric, { description: "The metrics.", default: defaults, maxItems: 64 }),
  },
  {
    description:
      "Sends metrics of every request, and of connections that are not HTTP, to a Datadog agent, as datagrams in the " +
      "format of DogStatsD. A host on the node's own machine must be allowed by SLUICE_ALLOWED_UPSTREAMS.",
    deprecatedMembers: deprecatedQueueMembers,
  },
);

export type DatadogConfig = Static<typeof schema>;

/**
 * As in Kong, a tag must not end with a colon. Line breaks and vertical bars are refused too, because they would end
 * the list of tags in a datagram.
 */
const TAG = /^[^\n\r|]*[^:\n\r|]$/;

function checkTags(metric: unknown, at: number): readonly Violation[] {
  const tags = isRecord(metric) ? metric.tags : null;
  return (Array.isArray(tags) ? tags : []).flatMap((tag, index) =>
    typeof tag === "string" && !TAG.test(tag)
      ? [{ path: ["metrics", at, "tags", index], message: `invalid value: ${tag}` }]
      : [],
  );
}

const check: RecordRule = ({ metrics }) => [
  ...(Array.isArray(metrics) ? metrics : []).flatMap(checkTags),
  ...checkSampleRates(metrics),
];

export const datadogFacts = definePluginFacts({
  name: "datadog",
  version: "0.1.0",
  priority: 10,
  protects: false,
  actsOnConnections: "byProtocol",
  check,
  schema,
});
