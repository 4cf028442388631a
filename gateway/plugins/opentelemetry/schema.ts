/** Config of opentelemetry: sampling, trace headers, and the collector that receives the spans. */
import {
  atLeastOneOf,
  choice,
  decimal,
  definePluginFacts,
  endpointViolations,
  headerTypes,
  integer,
  isEmptyValue,
  mapping,
  nullable,
  plainEndpointViolations,
  propagationSettings,
  queueSettings,
  type RecordRule,
  record,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const MAX_TIMEOUT = 2_147_483_646;

const timeout = (description: string, value: number) =>
  integer({ description, default: value, minimum: 0, maximum: MAX_TIMEOUT });

const schema = record(
  {
    traces_endpoint: nullable(
      text({
        description: "URL of the collector to which spans are sent (OTLP over HTTP).",
        maxLength: 4096,
        secret: true,
        referenceable: true,
      }),
    ),
    logs_endpoint: nullable(text({ description: "Not supported: refused if it is set.", maxLength: 4096 })),
    headers: nullable(
      mapping(text({ description: "The value of the header.", minLength: 0, maxLength: 8192, referenceable: true }), {
        description: "Headers of the requests to the collector.",
        keyRule: "header-name",
        maxProperties: 64,
      }),
    ),
    resource_attributes: nullable(
      mapping(text({ description: "The value of the attribute.", maxLength: 4096 }), {
        description: "Attributes of the resource, in addition to `service.name` (sluice) and `service.version`.",
        maxProperties: 64,
      }),
    ),
    queue: queueSettings({ maxBatchSize: 200 }),
    connect_timeout: timeout("Milliseconds to connect. A request may take the sum of the three timeouts.", 1000),
    send_timeout: timeout("Milliseconds to send a request.", 5000),
    read_timeout: timeout("Milliseconds until the response.", 5000),
    http_response_header_for_traceid: nullable(
      text({ description: "Response header that gets the trace id.", rule: "header-name", maxLength: 256 }),
    ),
    header_type: nullable(
      choice(headerTypes, {
        description: "Deprecated: use `propagation`. The format of trace headers for the upstream.",
        default: "preserve",
      }),
    ),
    sampling_rate: nullable(
      decimal({
        description: "The fraction of traces that are recorded; the trace id decides which. Unset: 1.",
        minimum: 0,
        maximum: 1,
      }),
    ),
    propagation: propagationSettings("w3c"),
  },
  {
    description:
      "Sends a span of each request, and one of each attempt to forward it, to a collector of OpenTelemetry (OTLP over " +
      "HTTP, Protobuf), and passes the context of the trace to the upstream.",
    deprecatedMembers: [
      { name: "batch_span_count", replacedBy: ["queue", "max_batch_size"] },
      { name: "batch_flush_delay", replacedBy: ["queue", "max_coalescing_delay"] },
      { name: "endpoint", replacedBy: ["traces_endpoint"] },
    ],
  },
);

export type OpentelemetryConfig = Static<typeof schema>;

const NO_LOGS =
  "the node's log is not sent to collectors: read it from the node's output, or use a log plugin such as http-log for " +
  "a record of each request";

const check: RecordRule = (members) => [
  ...atLeastOneOf(members, ["traces_endpoint", "logs_endpoint"], "config."),
  ...plainEndpointViolations("traces_endpoint", members.traces_endpoint),
  ...endpointViolations("logs_endpoint", members.logs_endpoint),
  ...(isEmptyValue(members.logs_endpoint) ? [] : [{ path: ["logs_endpoint"], message: NO_LOGS }]),
];

export const opentelemetryFacts = definePluginFacts({
  name: "opentelemetry",
  version: "0.1.0",
  priority: 14,
  protects: false,
  check,
  kongChecks: [{ at_least_one_of: ["config.traces_endpoint", "config.logs_endpoint"] }],
  schema,
});
