/** A route: matches requests and sends them to a service. */
import {
  array,
  boolean,
  choice,
  integer,
  mapping,
  nullable,
  record,
  reference,
  type Static,
  set,
  text,
} from "@sluice/plugin-sdk";
import { created_at, idMember, nameMember, tagsMember, updated_at } from "./common-members.ts";

const endpoints = (which: string) =>
  nullable(
    array(
      record(
        {
          ip: nullable(text({ description: "An address or CIDR block.", rule: "ip-or-cidr", maxLength: 64 })),
          port: nullable(integer({ description: "A port.", minimum: 0, maximum: 65_535 })),
        },
        { description: "An address, a port, or both.", rule: "endpoint" },
      ),
      {
        description: `${which} of the connection, for the protocols tcp, tls and tls_passthrough only.`,
        maxItems: 16,
      },
    ),
  );

export const routeProtocols = ["grpc", "grpcs", "http", "https", "tcp", "tls", "tls_passthrough", "udp"] as const;

export const routeSchema = record(
  {
    id: idMember("the name, or from the content if there is none"),
    created_at,
    updated_at,
    name: nameMember("route"),
    protocols: set(choice(routeProtocols, { description: "A protocol." }), {
      description: "The protocols that the route serves.",
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
      array(
        text({ description: "A host; * may stand for its first or last label.", rule: "route-host", maxLength: 260 }),
        {
          description: "The request hosts that match.",
          maxItems: 256,
        },
      ),
    ),
    paths: nullable(
      array(
        text({ description: "A path prefix, or a regular expression after ~.", rule: "route-path", maxLength: 1024 }),
        {
          description: "The path prefixes that match; an entry that starts with ~ is a regular expression.",
          maxItems: 256,
        },
      ),
    ),
    headers: nullable(
      mapping(
        array(text({ description: "A value, or a regular expression after ~*.", maxLength: 1024 }), {
          description: "Values of the header, one of which must match.",
          minItems: 1,
          maxItems: 64,
        }),
        {
          description: "The request headers that match: each name must be present with one of its values.",
          keyRule: "route-header",
          maxProperties: 16,
        },
      ),
    ),
    snis: nullable(
      set(text({ description: "A server name.", rule: "sni", maxLength: 255 }), {
        description: "The TLS server names that match. Ignored for plain http and tcp.",
        maxItems: 256,
      }),
    ),
    sources: endpoints("Source addresses"),
    destinations: endpoints("Destination addresses"),
    https_redirect_status_code: choice([426, 301, 302, 307, 308], {
      description: "Status of the response to a plain http request if the route allows only https.",
      default: 426,
    }),
    strip_path: boolean({ description: "Remove the matched prefix from the path before forwarding.", default: true }),
    preserve_host: boolean({ description: "Forward the request's Host instead of the service's.", default: false }),
    regex_priority: integer({
      description: "Priority among several matching regular expressions: the highest is used.",
      default: 0,
      minimum: -(2 ** 31),
      maximum: 2 ** 31 - 1,
    }),
    path_handling: choice(["v0", "v1"], {
      description:
        "How the paths of service and request are joined: v0 with exactly one slash between them, v1 by concatenation.",
      default: "v0",
    }),
    request_buffering: boolean({
      description: "Accepted for compatibility with Kong, without effect: request bodies are always streamed.",
      default: true,
    }),
    response_buffering: boolean({
      description: "Accepted for compatibility with Kong, without effect: response bodies are always streamed.",
      default: true,
    }),
    tags: tagsMember,
    service: reference("services", "The service that receives matching requests.", "restrict"),
  },
  { description: "A rule that matches requests or connections, and sends them to a service.", rule: "route" },
);

export type Route = Static<typeof routeSchema>;
