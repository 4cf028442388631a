/** Config of http-log: the HTTP server that receives the records, and the queue of records. */
import {
  choice,
  decimal,
  definePluginFacts,
  deprecatedQueueMembers,
  endpointViolations,
  integer,
  isRecord,
  luaFields,
  mapping,
  nullable,
  queueSettings,
  type RecordMembers,
  type RecordRule,
  record,
  refuseLuaFields,
  type Static,
  text,
  type Violation,
} from "@sluice/plugin-sdk";

const MAX_TIMEOUT = 2_147_483_646;

const schema = record(
  {
    http_endpoint: text({
      description: "URL of the log server. User information in it is sent as basic authentication.",
      maxLength: 4096,
      secret: true,
      referenceable: true,
    }),
    method: choice(["POST", "PUT", "PATCH"], { description: "Method of the requests.", default: "POST" }),
    content_type: choice(["application/json", "application/json; charset=utf-8"], {
      description: "Content-Type of the requests.",
      default: "application/json",
    }),
    timeout: decimal({
      description: "Milliseconds within which the log server must have answered.",
      default: 10_000,
      minimum: 1,
      maximum: MAX_TIMEOUT,
    }),
    keepalive: decimal({
      description: "Milliseconds that an idle connection is kept.",
      default: 60_000,
      minimum: 0,
      maximum: MAX_TIMEOUT,
    }),
    retry_count: nullable(integer({ description: "Has no effect, as in Kong; see queue.max_retry_time." })),
    headers: nullable(
      mapping(text({ description: "The value of the header.", minLength: 0, maxLength: 8192, referenceable: true }), {
        description: "Headers of the requests.",
        keyRule: "header-name",
        maxProperties: 64,
      }),
    ),
    queue: queueSettings(),
    custom_fields_by_lua: luaFields,
  },
  {
    description:
      "Sends a record of every request to an HTTP server, as JSON in Kong's format. If queue.max_batch_size is above " +
      "1, each request to the server has a list of records. Authorization headers and API keys are redacted.",
    deprecatedMembers: deprecatedQueueMembers,
  },
);

export type HttpLogConfig = Static<typeof schema>;

/** Headers that the plugin or its HTTP client sets, spelled as in Kong's messages. */
const ownHeaders = ["Host", "Content-Length", "Content-Type"];

function checkHeaders(headers: RecordMembers, url: URL | null): readonly Violation[] {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const own = ownHeaders
    .filter((name) => names.includes(name.toLowerCase()))
    .map((name) => ({ path: ["headers"], message: `cannot contain '${name}' header` }));
  const hasUser = url !== null && url.username + url.password !== "";
  if (!hasUser || !names.includes("authorization")) return own;
  const message = "specifying both an 'Authorization' header and user info in 'http_endpoint' is not allowed";
  return [...own, { path: [], message }];
}

const check: RecordRule = (members) => {
  const { http_endpoint: endpoint, headers } = members;
  const url = typeof endpoint === "string" ? URL.parse(endpoint) : null;
  return [
    ...endpointViolations("http_endpoint", endpoint),
    ...(isRecord(headers) ? checkHeaders(headers, url) : []),
    ...refuseLuaFields(members),
  ];
};

export const httpLogFacts = definePluginFacts({
  name: "http-log",
  version: "0.1.0",
  priority: 12,
  protects: false,
  actsOnConnections: "byProtocol",
  check,
  schema,
});
