/** The custom resource Route. */
import { type Route, routeSchema } from "../entities/route.ts";
import { type CommonSpec, commonSpecMembers, type NameRef, namedEntity, nameRef, stateColumns } from "./common-spec.ts";
import { type CelRule, type Derived, type KindFacts, type SpecNode, specOf } from "./kind.ts";

export type RouteSpec = CommonSpec &
  Derived<Route, "name" | "service"> & {
    readonly serviceRef?: NameRef;
  };

const matchers = ["paths", "hosts", "methods", "headers", "snis", "sources", "destinations"];

/** A pattern for the protocols of connections. */
const STREAMS = "^(tcp|tls|tls_passthrough)$";

/** A CEL expression: `protocols` is set, and one of its items matches the pattern. */
const speaks = (pattern: string): string =>
  `(has(self.protocols) && self.protocols.exists(protocol, protocol.matches('${pattern}')))`;

/** The keywords of a list with rules for its items. */
const withItemRules = ({ items }: SpecNode, cel: readonly CelRule[]): SpecNode => ({ items: { ...items, cel } });

const { paths, hosts, methods } = routeSchema.properties;

export const routeKind: KindFacts = {
  collection: "routes",
  shortName: "gwroute",
  spec: specOf("routes", {
    omit: ["service"],
    add: {
      ...commonSpecMembers(namedEntity("route")),
      serviceRef: nameRef("The Service that receives matching requests.", "Service"),
    },
    refine: {
      paths: withItemRules(paths, [
        {
          rule: "self.startsWith('/') || self.startsWith('~/')",
          message: "should start with: / (fixed path) or ~/ (regex path)",
        },
        { rule: "!self.contains('//')", message: "must not have empty segments" },
        {
          rule: "!self.startsWith('/') || !self.matches('/[.][.]?(/|$)')",
          message: "must not contain the segments . and ..",
        },
      ]),
      hosts: withItemRules(hosts, [
        {
          rule: "!self.contains('*') || self.matches('^([*][.][^*]+|[^*]+[.][*])$')",
          message: "a wildcard * must be the whole first or last label, such as *.example.com",
        },
        {
          rule: "self.matches('^[A-Za-z0-9._:*\\\\[\\\\]-]+$')",
          message: "must be a host name or an IP address, with an optional port",
        },
      ]),
      methods: withItemRules(methods, [
        { rule: "self.matches('^[A-Z]+$')", message: "must be in upper case, such as GET" },
      ]),
    },
    cel: [
      {
        rule: matchers.map((name) => `(has(self.${name}) && size(self.${name}) > 0)`).join(" || "),
        message:
          "set at least one of paths, hosts, methods and headers (or snis, for https and grpcs only); for tcp and tls, " +
          "one of sources, destinations and snis (snis for tls only)",
      },
      {
        rule: "!has(self.headers) || self.headers.all(name, name.lowerAscii() != 'host')",
        message: "headers cannot contain Host: use hosts",
        fieldPath: ".headers",
      },
      {
        rule: "!has(self.protocols) || self.protocols.all(protocol, protocol != 'udp')",
        message: "udp is not supported",
        fieldPath: ".protocols",
      },
      {
        rule: `!${speaks("^https?$")} || !${speaks("^grpcs?$")}`,
        message: "protocols cannot mix http or https with grpc or grpcs",
        fieldPath: ".protocols",
      },
      {
        rule: `!${speaks(STREAMS)} || !${speaks("^(http|grpc)")}`,
        message: "protocols cannot mix tcp, tls or tls_passthrough with http, https, grpc or grpcs",
        fieldPath: ".protocols",
      },
      {
        rule: `!${speaks("^tls_passthrough$")} || self.protocols.size() == 1`,
        message: "protocols cannot mix tls_passthrough with another protocol",
        fieldPath: ".protocols",
      },
      {
        rule: `!${speaks("^tls_passthrough$")} || (has(self.snis) && size(self.snis) > 0)`,
        message: "tls_passthrough requires snis",
        fieldPath: ".snis",
      },
      ...["paths", "hosts", "methods", "headers"].map((name) => ({
        rule: `!has(self.${name}) || !${speaks(STREAMS)}`,
        message: `${name} are for requests: connections match by sources, destinations and snis`,
        fieldPath: `.${name}`,
      })),
      {
        rule: `!has(self.snis) || size(self.snis) == 0 || !has(self.protocols) || ${speaks("^((http|grpc)s|tls|tls_passthrough)$")}`,
        message: "snis require the protocol https, grpcs, tls or tls_passthrough",
        fieldPath: ".snis",
      },
      {
        rule: `!has(self.methods) || !${speaks("^grpc")}`,
        message: "methods require the protocol http or https",
        fieldPath: ".methods",
      },
      {
        rule: `!has(self.stripPath) || !self.stripPath || !${speaks("^grpc")}`,
        message: "stripPath cannot be true for grpc or grpcs: the path names the method",
        fieldPath: ".stripPath",
      },
      ...["sources", "destinations"].map((name) => ({
        rule: `!has(self.${name}) || ${speaks(STREAMS)}`,
        message: `${name} require the protocol tcp, tls or tls_passthrough`,
        fieldPath: `.${name}`,
      })),
    ],
  }),
  columns: [
    { name: "Hosts", jsonPath: ".spec.hosts", description: "The request hosts that match." },
    { name: "Paths", jsonPath: ".spec.paths", description: "The request paths that match." },
    { name: "Service", jsonPath: ".spec.serviceRef.name", description: "The Service that receives matching requests." },
    { name: "Methods", jsonPath: ".spec.methods", description: "The request methods that match.", priority: 1 },
    ...stateColumns,
  ],
};
