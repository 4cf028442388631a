/** A service: an upstream to which requests are forwarded. */
import {
  array,
  boolean,
  choice,
  decimal,
  integer,
  nullable,
  record,
  reference,
  type Static,
  text,
} from "@sluice/plugin-sdk";
import { created_at, idMember, MAX_TIMEOUT, nameMember, tagsMember, updated_at } from "./common-members.ts";

const timeout = (what: string) =>
  integer({ description: `Maximum milliseconds ${what}.`, default: 60_000, minimum: 1, maximum: MAX_TIMEOUT });

export const serviceProtocols = ["grpc", "grpcs", "http", "https", "tcp", "tls", "tls_passthrough", "udp"] as const;

export const upstreamHeader = record(
  {
    name: text({ description: "The header's name.", rule: "upstream-header", minLength: 1, maxLength: 256 }),
    value: text({
      description: "The header's value. Dry runs of the admin API do not show it, because it may be a secret.",
      rule: "header-value",
      minLength: 1,
      maxLength: 4096,
    }),
  },
  { description: "A header." },
);

/**
 * Headers that the gateway sets on requests to the upstream. They replace headers of the client and of plugins with the
 * same names. Kong has no such member. The rule of the record `service` refuses names that differ only in case, or in
 * `-` and `_`.
 */
const upstreamHeaders = nullable(
  array(upstreamHeader, {
    description:
      "Headers that are set on every request to the upstream. They replace headers with the same names that the " +
      "client or a plugin has set. Upper and lower case, and - and _, count as equal in names. Kong has no such " +
      "field.",
    maxItems: 16,
  }),
);

/** Kong has no such member. The defaults are those of Envoy. */
const retryBudget = nullable(
  record(
    {
      percent: decimal({
        description: "Maximum percentage of the requests in progress that may be further attempts.",
        default: 20,
        minimum: 0,
        maximum: 100,
      }),
      min_concurrency: integer({
        description: "Number of requests that may be sent again at the same time, whatever the percentage is.",
        default: 3,
        minimum: 0,
        maximum: 1_000_000,
      }),
    },
    {
      description:
        "Limits how many requests to the service are sent again (`retries`) at the same time, so that further attempts " +
        "do not multiply the load of a failing upstream. Each worker of a node counts its own requests. Unset: no limit.",
    },
  ),
);

/** As in Kong, these ids are not references: an id without a CA certificate is accepted, and adds no trust. */
const caCertificates = nullable(
  array(text({ description: "The id of a CA certificate.", rule: "uuid" }), {
    description:
      "Ids of the CA certificates by which the certificate of an https, grpcs or tls upstream is verified. If unset or " +
      "empty, the CA certificates that the gateway's machine trusts are used.",
    maxItems: 64,
  }),
);

export type UpstreamHeader = Static<typeof upstreamHeader>;

export const serviceSchema = record(
  {
    id: idMember("the name, or from the content if there is none"),
    created_at,
    updated_at,
    name: nameMember("service"),
    retries: integer({
      description: "Number of further attempts if the connection to the upstream fails or times out.",
      default: 5,
      minimum: 0,
      maximum: 32_767,
    }),
    retry_budget: retryBudget,
    protocol: choice(serviceProtocols, {
      description:
        "Protocol of the upstream: HTTP/1.1 for http and https, HTTP/2 for grpc and grpcs. For routes of connections: " +
        "tcp and tls_passthrough forward the bytes unchanged, tls secures the connection to the upstream. udp is not " +
        "supported.",
      default: "http",
    }),
    host: text({
      description: "Host name or address of the upstream server, or the name of an Upstream.",
      rule: "host",
      minLength: 1,
      maxLength: 255,
    }),
    port: integer({ description: "Port of the upstream.", default: 80, minimum: 0, maximum: 65_535 }),
    path: nullable(
      text({ description: "Prefix that is added to the path of every request.", rule: "path", maxLength: 4096 }),
    ),
    connect_timeout: timeout("to wait for a connection to the upstream"),
    write_timeout: timeout("between two writes to the upstream"),
    read_timeout: timeout(
      "between two reads from the upstream; for a WebSocket or another connection that is not HTTP, maximum " +
        "milliseconds without data in either direction",
    ),
    tags: tagsMember,
    client_certificate: reference(
      "certificates",
      "The client certificate for an https, grpcs or tls upstream.",
      "restrict",
    ),
    tls_verify: nullable(
      boolean({
        description: "Whether the certificate of an https, grpcs or tls upstream is verified. Unset means true.",
      }),
    ),
    tls_verify_depth: nullable(
      integer({
        description:
          "Maximum number of intermediate certificates in the chain of an https, grpcs or tls upstream, if it is " +
          "verified. " +
          "Unset means any number.",
        minimum: 0,
        maximum: 64,
      }),
    ),
    ca_certificates: caCertificates,
    enabled: boolean({ description: "If false, routes of the service match no requests.", default: true }),
    upstream_headers: upstreamHeaders,
  },
  { description: "An upstream server, or a load-balanced Upstream, to which requests are forwarded.", rule: "service" },
);

export type Service = Static<typeof serviceSchema>;
