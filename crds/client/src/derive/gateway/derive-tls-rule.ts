/** Derives the resources of the rule of a TLSRoute: a Route for each protocol and host, and a Service. */
import type { StreamProtocol } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import { type DerivedContent, derivedName } from "../derived-resource.ts";
import { serviceContents } from "../derived-services.ts";
import { backendsOf } from "./backends.ts";
import { type DerivedRule, hostPart, padded, type RuleLookups, type RuleRequest } from "./derive-rule.ts";
import { placesOf, type RoutePlace } from "./route-places.ts";

const streamProtocols: readonly StreamProtocol[] = ["tls", "tls_passthrough"];

/** A connection that cannot be forwarded is closed: its Route has no Service, or a percentage that is refused. */
export function deriveTlsRule(
  route: Resource,
  { rule, index, attached, refused }: RuleRequest,
  lookups: RuleLookups,
): DerivedRule {
  const { name, namespace } = route.metadata;
  const source = `spec.rules[${index}]`;
  const path = `${source}.backendRefs`;
  const { backendRefs = [] } = rule;
  const { usable, refusedPercentage, faults } = backendsOf(backendRefs, { kind: "TLSRoute", namespace, path }, lookups);
  const service = derivedName("tls-route", name, padded(index));
  const [first, ...others] = usable.map(({ namespace: of, ...backend }) =>
    of === undefined || of === namespace ? backend : { namespace: of, ...backend },
  );
  const isOpen = first !== undefined && refused === undefined;
  const contents: DerivedContent[] = [];
  if (isOpen && attached.length > 0) {
    const members = { name: service, backends: [first, ...others] as const, service: {}, upstream: null, source: path };
    contents.push(...serviceContents(route, members, { checkedReferences: ["CoreService"] }));
  }
  for (const protocol of streamProtocols) {
    const ofProtocol = attached.filter(({ stream }) => stream === protocol);
    for (const place of placesOf(ofProtocol, { byPort: false })) contents.push(routeAt(place, protocol));
  }
  return {
    contents: contents.map((content) => ({ ...content, spec: { ...content.spec, class: lookups.class } })),
    unsupported: refused ? [refused] : [],
    unresolved: faults,
  };

  function routeAt({ host, listeners }: RoutePlace, protocol: StreamProtocol): DerivedContent {
    return {
      kind: "Route",
      name: derivedName("tls-route", name, padded(index), protocol, hostPart(host)),
      spec: {
        ...(host !== undefined && { hosts: [host] }),
        protocols: [protocol],
        ...(isOpen && { serviceRef: { name: service } }),
      },
      derived: {
        extras: {
          listeners,
          ...(refused && { unavailable: refused.message }),
          ...(isOpen && refusedPercentage > 0 && { refused_percentage: refusedPercentage }),
        },
        sourcePaths: { spec: "spec.hostnames", "spec.serviceRef": path },
      },
    };
  }
}
