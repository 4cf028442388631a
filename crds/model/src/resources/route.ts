/** The custom resource Route. */
import type { Route } from "../entities/index.ts";
import { type CelRule, type Derived, type KindFacts, type SpecNode, specOf } from "./kind.ts";
import { type CommonSpec, common, type NameRef, namedEntity, nameRef, stateColumns } from "./shared.ts";

export type RouteSpec = CommonSpec &
  Derived<Route, "id" | "name" | "tags" | "created_at" | "updated_at" | "service"> & {
    readonly serviceRef?: NameRef;
  };

const matchers = ["paths", "hosts", "methods", "headers", "snis"];

const derived = specOf("routes", {
  omit: ["created_at", "updated_at", "service"],
  add: {
    ...common(namedEntity("route")),
    serviceRef: nameRef("The Service that matching requests go to.", "Service"),
  },
  cel: [
    {
      rule: matchers.map((name) => `(has(self.${name}) && size(self.${name}) > 0)`).join(" || "),
      message: "set at least one of paths, hosts, methods and headers (or snis, for https only)",
    },
    {
      rule: "!has(self.headers) || self.headers.all(name, name.lowerAscii() != 'host')",
      message: "headers may not hold Host: use hosts",
      fieldPath: ".headers",
    },
  ],
});

/** A rule for the items of one of the route's lists. */
function withItemRule(spec: SpecNode, name: string, rule: CelRule): SpecNode {
  const member = spec.properties?.[name];
  if (!member?.items) throw new Error(`a route has no list ${name}`);
  const items = { ...member.items, cel: [rule] };
  return { ...spec, properties: { ...spec.properties, [name]: { ...member, items } } };
}

const withPathRule = withItemRule(derived, "paths", {
  rule: "self.startsWith('/') || self.startsWith('~/')",
  message: "should start with: / (fixed path) or ~/ (regex path)",
});

export const route: KindFacts = {
  collection: "routes",
  plural: "routes",
  singular: "route",
  shortName: "gwroute",
  spec: withItemRule(withPathRule, "methods", {
    rule: "self.matches('^[A-Z]+$')",
    message: "methods are written in upper case: GET",
  }),
  columns: [
    { name: "Hosts", jsonPath: ".spec.hosts", description: "The request hosts that match." },
    { name: "Paths", jsonPath: ".spec.paths", description: "The request paths that match." },
    { name: "Service", jsonPath: ".spec.serviceRef.name", description: "Where matching requests go." },
    { name: "Methods", jsonPath: ".spec.methods", description: "The request methods that match.", priority: 1 },
    ...stateColumns,
  ],
};
