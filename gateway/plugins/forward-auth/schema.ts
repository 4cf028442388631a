/** Config of forward-auth: the authorization server, and the data that it receives and sets. Names follow Traefik. */
import {
  array,
  boolean,
  connectionHeaders,
  decimal,
  definePluginFacts,
  integer,
  lowerCase,
  nullable,
  plainEndpointViolations,
  type RecordMembers,
  record,
  type Static,
  text,
  type Violation,
} from "@sluice/plugin-sdk";

const MAX_TIME = 600_000;

const headerNames = (description: string) =>
  array(text({ description: "A name.", rule: "header-name", maxLength: 128 }), {
    description,
    default: [],
    maxItems: 64,
  });

const schema = record(
  {
    address: text({
      description: "URL of the authorization server, which is asked about every request.",
      maxLength: 4096,
    }),
    auth_request_headers: headerNames(
      "Headers of the client's request that are sent to the authorization server. Default: all, except headers of " +
        "the connection, headers that proxies set, and headers of conditional and range requests.",
    ),
    auth_response_headers: headerNames(
      "Headers of the server's response that are set in the request to the upstream. They are removed from the " +
        "client's request, also if the server does not send them.",
    ),
    add_auth_cookies_to_response: array(text({ description: "A name.", maxLength: 256 }), {
      description:
        "Cookies that are passed on to the client if the server sets them in a response that admits the request. A " +
        "refusal is passed on with all its cookies.",
      default: [],
      maxItems: 64,
    }),
    forward_body: boolean({ description: "Send the body of the request to the server.", default: false }),
    max_body_size: integer({
      description: "Maximum bytes of a body that is sent to the server; a request with a longer one is refused.",
      default: 65_536,
      minimum: 1,
      maximum: 8_388_608,
    }),
    preserve_request_method: boolean({
      description: "Use the method of the client's request for the request to the server. Default: GET.",
      default: false,
    }),
    preserve_location_header: boolean({
      description: "Send a relative Location to the client unchanged. Default: it is resolved against `address`.",
      default: false,
    }),
    consumer_header: nullable(
      text({
        description:
          "Header of the server's response that names the consumer by its username or custom_id. If unset, requests " +
          "get no consumer.",
        rule: "header-name",
        maxLength: 128,
      }),
    ),
    anonymous: nullable(
      text({
        description:
          "Id or username of a consumer. Requests that the server answers with 401, or admits without naming a " +
          "consumer, are attributed to this consumer. Needs `consumer_header`.",
        maxLength: 256,
      }),
    ),
    timeout: decimal({
      description: "Milliseconds within which the server must have answered.",
      default: 10_000,
      minimum: 1,
      maximum: MAX_TIME,
    }),
    keepalive: decimal({
      description: "Milliseconds that an idle connection is kept.",
      default: 60_000,
      minimum: 0,
      maximum: MAX_TIME,
    }),
    ssl_verify: boolean({ description: "Verify the certificate of the server.", default: true }),
  },
  {
    description:
      "Asks an authorization server about every request. A status from 200 to 299 admits the request; every other " +
      "response is sent to the client.",
  },
);

export type ForwardAuthConfig = Static<typeof schema>;

/** Headers that the plugin itself sets in the request to the server. */
export const forwardedNames = [
  "X-Forwarded-Method",
  "X-Forwarded-Proto",
  "X-Forwarded-Host",
  "X-Forwarded-Uri",
  "X-Forwarded-For",
] as const;

const transportHeaders: ReadonlySet<string> = new Set([...connectionHeaders, "host"]);
const ownHeaders: ReadonlySet<string> = new Set([...transportHeaders, ...forwardedNames.map(lowerCase)]);

function check(config: RecordMembers): readonly Violation[] {
  const reserved = (member: string, names: ReadonlySet<string>): readonly Violation[] =>
    [config[member]].flat().flatMap((name, index) => {
      if (typeof name !== "string" || !names.has(name.toLowerCase())) return [];
      return [{ path: [member, index], message: `the gateway itself sets '${name}': remove it` }];
    });
  return [
    ...plainEndpointViolations("address", config.address),
    ...reserved("auth_request_headers", ownHeaders),
    ...reserved("auth_response_headers", transportHeaders),
    ...(typeof config.anonymous === "string" && config.consumer_header === null
      ? [{ path: ["anonymous"], message: "needs consumer_header: without it, requests get no consumer" }]
      : []),
  ];
}

export const forwardAuthFacts = definePluginFacts({
  name: "forward-auth",
  version: "0.1.0",
  priority: 1000,
  protects: true,
  refuses: ["consumer"],
  check,
  schema,
});
