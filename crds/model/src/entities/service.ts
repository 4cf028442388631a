/** A service: an upstream to which requests are forwarded. */
import { choice, flag, integer, list, nullable, record, reference, type Static, text } from "../schema/member.ts";
import { certificateIds, created_at, id, MAX_TIMEOUT, name, tags, updated_at } from "./shared.ts";

const timeout = (what: string) =>
  integer({ description: `Milliseconds ${what}.`, default: 60_000, minimum: 1, maximum: MAX_TIMEOUT });

export const serviceProtocols = ["grpc", "grpcs", "http", "https", "tcp", "tls", "tls_passthrough", "udp"] as const;

const upstreamHeader = record(
  {
    name: text({ description: "The header's name.", rule: "upstream-header", minLength: 1, maxLength: 256 }),
    value: text({
      description: "Its value. Plans do not show it, because it may be a secret of the upstream's.",
      rule: "header-value",
      minLength: 1,
      maxLength: 4096,
    }),
  },
  { description: "A header." },
);

/**
 * Headers that the gateway sets on requests to the upstream, overriding the client's. Kong has no such member. Names are unique, whatever their spelling (checked
 * by the rule of the record `service`).
 */
const upstreamHeaders = nullable(
  list(upstreamHeader, {
    description:
      "Sluice's own: headers that every request to the upstream carries. One that the client or a plugin gave the " +
      "same name, with - or _ and in any case, is replaced.",
    maxItems: 16,
  }),
);

export type UpstreamHeader = Static<typeof upstreamHeader>;

export const serviceSchema = record(
  {
    id,
    created_at,
    updated_at,
    name: name("service"),
    retries: integer({
      description: "How many more times a request is tried when the upstream cannot be connected to or times out.",
      default: 5,
      minimum: 0,
      maximum: 32_767,
    }),
    protocol: choice(serviceProtocols, {
      description:
        "How to talk to the upstream: http or https in HTTP/1.1, grpc or grpcs in HTTP/2. The others are not supported.",
      default: "http",
    }),
    host: text({ description: "Host name or address of the upstream.", rule: "host", minLength: 1, maxLength: 255 }),
    port: integer({ description: "Port of the upstream.", default: 80, minimum: 0, maximum: 65_535 }),
    path: nullable(text({ description: "Put in front of the path of every request.", rule: "path", maxLength: 4096 })),
    connect_timeout: timeout("to wait for a connection to the upstream"),
    write_timeout: timeout("between two writes to the upstream"),
    read_timeout: timeout("between two reads from the upstream; of a WebSocket: in which neither side says anything"),
    tags,
    client_certificate: reference(
      "certificates",
      "The certificate that is shown to an https or grpcs upstream.",
      "restrict",
    ),
    tls_verify: nullable(
      flag({
        description:
          "Whether an https or grpcs upstream's certificate is verified. Unset means yes; false switches it off.",
      }),
    ),
    tls_verify_depth: nullable(
      integer({
        description: "How long the upstream's certificate chain may be. Not supported yet.",
        minimum: 0,
        maximum: 64,
      }),
    ),
    ca_certificates: certificateIds,
    enabled: flag({ description: "A disabled service's routes do not exist.", default: true }),
    upstream_headers: upstreamHeaders,
  },
  { description: "An upstream that requests are forwarded to.", rule: "service" },
);

export type Service = Static<typeof serviceSchema>;
