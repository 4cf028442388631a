/**
 * Config of forward-auth: the authorization server, and the data that it receives and sets. Names follow Traefik; the
 * members for `request_style: nginx` correspond to annotations of ingress-nginx.
 */
import {
  addressListMember,
  array,
  boolean,
  choice,
  connectionHeaders,
  decimal,
  definePluginFacts,
  integer,
  isRecord,
  lowerCase,
  mapping,
  nullable,
  plainEndpointViolations,
  type RecordMembers,
  record,
  type Static,
  text,
  type Violation,
} from "@sluice/plugin-sdk";
import { authorityViolations, variableViolations, withSamples } from "./variables.ts";

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
      description:
        "URL of the authorization server, which is asked about every request. With `request_style: nginx` it may " +
        "contain $host, $http_host, $scheme, $request_uri, $escaped_request_uri, $uri, $request_method and " +
        "$remote_addr. Only $host may select the server, and the route then needs `hosts`.",
      maxLength: 4096,
    }),
    request_style: choice(["traefik", "nginx"], {
      description:
        "Which headers describe the request to the server, and which of its responses the client gets. `traefik`: " +
        "X-Forwarded-Method, -Proto, -Host, -Uri and -For; every response except 2xx is sent to the client. `nginx`: " +
        "X-Original-URL, X-Original-Method, X-Auth-Request-Redirect, X-Sent-From, X-Real-IP, X-Forwarded-For and " +
        "X-Request-ID, as with the annotation auth-url of ingress-nginx; 401 and 403 are sent to the client, and " +
        "every other failure is answered with 500.",
      default: "traefik",
    }),
    auth_request_headers: headerNames(
      "Headers of the client's request that are sent to the authorization server. Default: all, except headers of " +
        "the connection, headers that proxies set, and headers of conditional and range requests.",
    ),
    auth_response_headers: headerNames(
      "Headers of the server's response that are set in the request to the upstream. They are removed from the " +
        "client's request, even if the server does not send them.",
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
    request_method: nullable(
      text({
        description: "Method of the request to the server, in upper case. Default: GET.",
        rule: "method",
        maxLength: 32,
      }),
    ),
    extra_request_headers: nullable(
      mapping(text({ description: "A value.", maxLength: 4096 }), {
        description:
          "Headers that are set in the request to the server, instead of those of the client and of the plugin with the " +
          "same names. With `request_style: nginx` the values may contain the variables of `address`.",
        keyRule: "header-name",
        maxProperties: 64,
      }),
    ),
    signin_url: nullable(
      text({
        description:
          "URL of a login page. Responses of the gateway with status 401, including those of other plugins, become " +
          "redirects (302) to this page. The URL may contain the variables of `address`. Needs `request_style: " +
          "nginx`.",
        maxLength: 4096,
      }),
    ),
    signin_redirect_param: text({
      description:
        "Query parameter with the URL of the request. It is added to `signin_url`, unless the query of `signin_url` " +
        "contains it.",
      default: "rd",
      maxLength: 128,
    }),
    always_set_cookies: boolean({
      description:
        "With `request_style: nginx`, whether the client gets the server's cookies with every response. If false, it " +
        "gets them only with responses of the statuses 200, 201, 204, 206, 301 to 304, 307 and 308.",
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
    exempt: addressListMember(
      "Addresses and CIDR blocks of clients whose requests are admitted without asking the authorization server. They " +
        "get no consumer, and `auth_response_headers` are removed from them.",
    ),
  },
  {
    description:
      "Asks an authorization server about every request. A status from 200 to 299 admits the request. Which other " +
      "responses are sent to the client depends on `request_style`.",
  },
);

export type ForwardAuthConfig = Static<typeof schema>;

/** Headers that the plugin itself sets in the request to the server, by `request_style`. */
export const ownNames = {
  traefik: ["X-Forwarded-Method", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Uri", "X-Forwarded-For"],
  nginx: [
    "X-Original-URL",
    "X-Original-Method",
    "X-Auth-Request-Redirect",
    "X-Sent-From",
    "X-Real-IP",
    "X-Forwarded-For",
    "X-Request-ID",
  ],
} as const;

const transportHeaders: ReadonlySet<string> = new Set([...connectionHeaders, "host"]);

type Violations = readonly Violation[];

const violation = (message: string, ...path: Violation["path"]): Violations => [{ path, message }];

const reserved = (path: Violation["path"], name: unknown, names: ReadonlySet<string>): Violations =>
  typeof name === "string" && names.has(name.toLowerCase())
    ? [{ path, message: `the gateway itself sets '${name}': remove it` }]
    : [];

function check(config: RecordMembers): Violations {
  const isNginx = config.request_style === "nginx";
  const ownHeaders = new Set([...transportHeaders, ...ownNames[isNginx ? "nginx" : "traefik"].map(lowerCase)]);
  const reservedIn = (member: string, names: ReadonlySet<string>): Violations =>
    [config[member]].flat().flatMap((name, index) => reserved([member, index], name, names));
  return [
    ...(isNginx ? nginxViolations(config) : traefikViolations(config)),
    ...reservedIn("auth_request_headers", ownHeaders),
    ...reservedIn("auth_response_headers", transportHeaders),
    ...Object.keys(isRecord(config.extra_request_headers) ? config.extra_request_headers : {}).flatMap((name) =>
      reserved(["extra_request_headers", name], name, transportHeaders),
    ),
    ...methodViolations(config),
    ...(typeof config.anonymous === "string" && config.consumer_header === null
      ? violation("needs consumer_header: without it, requests get no consumer", "anonymous")
      : []),
  ];
}

function methodViolations({ request_method: method, preserve_request_method: preserve }: RecordMembers): Violations {
  // A CONNECT request would ask the server for a tunnel.
  if (method === "CONNECT") return violation("invalid value: CONNECT", "request_method");
  return typeof method === "string" && preserve === true
    ? violation("must be unset with preserve_request_method", "request_method")
    : [];
}

function traefikViolations({ address, signin_url: signin, always_set_cookies: always }: RecordMembers): Violations {
  return [
    ...plainEndpointViolations("address", address),
    ...(typeof signin === "string" ? violation("needs request_style nginx", "signin_url") : []),
    ...(always === true ? violation("needs request_style nginx", "always_set_cookies") : []),
  ];
}

function nginxViolations(config: RecordMembers): Violations {
  const { address, signin_url: signin, signin_redirect_param: param, extra_request_headers: extra } = config;
  const cookies = config.add_auth_cookies_to_response;
  return [
    ...(typeof address === "string" ? addressViolations(address) : []),
    ...(typeof signin === "string" ? signinViolations(signin) : []),
    ...(typeof param === "string" && !/^[\w.~-]+$/.test(param)
      ? violation("may contain only letters, digits and -._~", "signin_redirect_param")
      : []),
    ...Object.entries(isRecord(extra) ? extra : {}).flatMap(([name, value]) =>
      typeof value === "string" ? variableViolations(["extra_request_headers", name], value) : [],
    ),
    ...(Array.isArray(cookies) && cookies.length > 0
      ? violation("must be empty: request_style nginx passes on all cookies", "add_auth_cookies_to_response")
      : []),
  ];
}

/** The first violation only: later checks would report the same problem again. */
function addressViolations(address: string): Violations {
  const found = [...variableViolations(["address"], address), ...authorityViolations(["address"], address)];
  return found.length > 0 ? found.slice(0, 1) : plainEndpointViolations("address", withSamples(address));
}

function signinViolations(url: string): Violations {
  const found = variableViolations(["signin_url"], url);
  if (found.length > 0 || /^\/(?![/\\])/.test(url)) return found;
  return plainEndpointViolations("signin_url", withSamples(url));
}

export const forwardAuthFacts = definePluginFacts({
  name: "forward-auth",
  version: "0.1.0",
  priority: 1000,
  protects: true,
  identifies: true,
  refuses: ["consumer"],
  check,
  schema,
});
