/** Config of zipkin: sampling, tags, trace headers, and the server that receives the spans. */
import {
  array,
  boolean,
  choice,
  decimal,
  definePluginFacts,
  headerTypes,
  integer,
  isRecord,
  nullable,
  plainEndpointViolations,
  propagationSettings,
  queueSettings,
  type RecordRule,
  record,
  type Static,
  text,
  traceFormats,
  type Violation,
} from "@sluice/plugin-sdk";

const MAX_TIMEOUT = 2_147_483_646;
const MAX_TEXT = 1024;

const timeout = (description: string, value: number) =>
  integer({ description, default: value, minimum: 0, maximum: MAX_TIMEOUT });

const name = (description: string, value: string) => text({ description, default: value, maxLength: MAX_TEXT });

/** Names that static tags must not have, as in Kong. The plugin sets most of these tags itself. */
const ownTags = [
  ...["error", "http.method", "http.path", "http.status_code", "kong.balancer.state", "kong.balancer.try"],
  ...["kong.consumer", "kong.credential", "kong.node.id", "kong.route", "kong.service", "lc", "peer.hostname"],
];

const staticTag = record(
  {
    name: text({ description: "Name of the tag.", maxLength: MAX_TEXT }),
    value: text({ description: "Value of the tag.", maxLength: MAX_TEXT }),
  },
  { description: "A tag of the span of each request or connection." },
);

const schema = record(
  {
    local_service_name: name("Name of the gateway in Zipkin.", "kong"),
    http_endpoint: nullable(
      text({
        description: "URL that receives the spans. Unset: only trace headers are read and set.",
        maxLength: 4096,
        secret: true,
      }),
    ),
    sample_ratio: decimal({
      description:
        "Of the connections, and of the requests whose sender has not decided whether to record them, the fraction that " +
        "is recorded.",
      default: 0.001,
      minimum: 0,
      maximum: 1,
    }),
    default_service_name: nullable(
      text({ description: "Name that spans show for services without a name.", maxLength: MAX_TEXT }),
    ),
    include_credential: boolean({ description: "Whether spans have the id of the credential.", default: true }),
    traceid_byte_count: choice([8, 16], { description: "Bytes of the trace ids of new traces.", default: 16 }),
    header_type: choice(headerTypes, {
      description: "Deprecated: use `propagation`. The format of trace headers for the upstream.",
      default: "preserve",
    }),
    default_header_type: choice(traceFormats, {
      description: "Deprecated: use `propagation.default_format`. The format if the request has no trace headers.",
      default: "b3",
    }),
    tags_header: text({
      description: "Request header with tags, as `name=value; name=value`.",
      default: "Zipkin-Tags",
      maxLength: 256,
    }),
    static_tags: nullable(
      array(staticTag, { description: "Tags of the span of each request or connection.", maxItems: 64 }),
    ),
    http_span_name: choice(["method", "method_path"], {
      description: "Whether the name of a span contains the path in addition to the method.",
      default: "method",
    }),
    connect_timeout: timeout("Milliseconds to connect. A request may take the sum of the three timeouts.", 2000),
    send_timeout: timeout("Milliseconds to send a request.", 5000),
    read_timeout: timeout("Milliseconds until the response.", 5000),
    http_response_header_for_traceid: nullable(
      text({ description: "Response header that gets the trace id.", rule: "header-name", maxLength: 256 }),
    ),
    phase_duration_flavor: choice(["annotations", "tags"], {
      description: "Whether spans have the durations of phases as annotations or as tags.",
      default: "annotations",
    }),
    queue: queueSettings(),
    propagation: propagationSettings("b3"),
  },
  {
    description:
      "Sends spans of requests, and of connections that are not HTTP, to a Zipkin server (JSON, API v2), and passes the " +
      "context of a request's trace to the upstream.",
  },
);

export type ZipkinConfig = Static<typeof schema>;

function checkTags(tags: readonly unknown[]): readonly Violation[] {
  const names = tags.map((tag) => (isRecord(tag) ? tag.name : undefined));
  const repeated = names.find((each, index) => each !== undefined && names.indexOf(each) < index);
  return [
    ...names.flatMap((each, index) =>
      typeof each === "string" && ownTags.includes(each)
        ? [{ path: ["static_tags", index, "name"], message: `must not be one of: ${ownTags.join(", ")}` }]
        : [],
    ),
    ...(repeated === undefined
      ? []
      : [{ path: ["static_tags"], message: `repeated tags are not allowed: ${repeated}` }]),
  ];
}

const check: RecordRule = ({ http_endpoint: endpoint, static_tags: tags }) => [
  ...plainEndpointViolations("http_endpoint", endpoint),
  ...(Array.isArray(tags) ? checkTags(tags) : []),
];

export const zipkinFacts = definePluginFacts({
  name: "zipkin",
  version: "0.1.0",
  priority: 100_000,
  protects: false,
  actsOnConnections: "byProtocol",
  check,
  schema,
});
