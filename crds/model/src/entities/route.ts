/** A route: matches requests and sends them to a service. */
import {
  choice,
  flag,
  integer,
  list,
  mapping,
  nullable,
  record,
  reference,
  type Static,
  set,
  text,
} from "../schema/member.ts";
import { created_at, id, name, tags, updated_at } from "./shared.ts";

const endpoints = (which: string) =>
  nullable(
    list(
      record(
        {
          ip: nullable(text({ description: "An address or CIDR block.", rule: "ip-or-cidr", maxLength: 64 })),
          port: nullable(integer({ description: "A port.", minimum: 0, maximum: 65_535 })),
        },
        { description: "An address, a port, or both.", rule: "endpoint" },
      ),
      { description: `${which} of the connection. For the protocols tcp, tls and udp only.`, maxItems: 16 },
    ),
  );

export const routeProtocols = ["grpc", "grpcs", "http", "https", "tcp", "tls", "tls_passthrough", "udp"] as const;

export const routeSchema = record(
  {
    id,
    created_at,
    updated_at,
    name: name("route"),
    protocols: set(choice(routeProtocols, { description: "A protocol." }), {
      description: "The protocols that the route answers.",
      default: ["http", "https"],
      minItems: 1,
      maxItems: 8,
    }),
    methods: nullable(
      set(text({ description: "An upper-case method.", rule: "method", maxLength: 32 }), {
        description: "The request methods that match.",
        maxItems: 16,
      }),
    ),
    hosts: nullable(
      list(text({ description: "A host, with * as its first or last label.", rule: "route-host", maxLength: 260 }), {
        description: "The request hosts that match.",
        maxItems: 64,
      }),
    ),
    paths: nullable(
      list(
        text({ description: "A path prefix, or a regular expression after ~.", rule: "route-path", maxLength: 1024 }),
        {
          description: "The path prefixes that match; an entry that starts with ~ is a regular expression.",
          maxItems: 64,
        },
      ),
    ),
    headers: nullable(
      mapping(
        list(text({ description: "A value, or a regular expression after ~*.", maxLength: 1024 }), {
          description: "The values that match, any of them.",
          minItems: 1,
          maxItems: 16,
        }),
        {
          description: "The request headers that match: every name with any of its values.",
          keyRule: "route-header",
          maxProperties: 16,
        },
      ),
    ),
    snis: nullable(
      set(text({ description: "A server name.", rule: "sni", maxLength: 255 }), {
        description: "The TLS server names that match. Ignored for plain http.",
        maxItems: 64,
      }),
    ),
    sources: endpoints("Sources"),
    destinations: endpoints("Destinations"),
    https_redirect_status_code: choice([426, 301, 302, 307, 308], {
      description: "The status that answers plain http when the route wants https.",
      default: 426,
    }),
    strip_path: flag({ description: "Remove the matched prefix from the path before forwarding.", default: true }),
    preserve_host: flag({ description: "Forward the request's Host instead of the service's.", default: false }),
    regex_priority: integer({
      description: "Which of several matching regular expressions wins: the higher.",
      default: 0,
      minimum: -(2 ** 31),
      maximum: 2 ** 31 - 1,
    }),
    path_handling: choice(["v0", "v1"], {
      description: "How service path and request path are joined: v0 with exactly one slash, v1 as they stand.",
      default: "v0",
    }),
    request_buffering: flag({ description: "Accepted for Kong's sake: request bodies always stream.", default: true }),
    response_buffering: flag({
      description: "Accepted for Kong's sake: response bodies always stream.",
      default: true,
    }),
    tags,
    service: reference("services", "The service that matching requests go to.", "restrict"),
  },
  { description: "Which requests go to a service.", rule: "route" },
);

export type Route = Static<typeof routeSchema>;
