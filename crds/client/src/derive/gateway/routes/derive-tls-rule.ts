/** Derives the resources of the rule of a TLSRoute: a Route for each protocol and host, and a Service. */
import type { StreamProtocol } from "@sluice/model";
import type { Resource } from "../../../resource.ts";
import { type DerivedContent, derivedName } from "../../derived-resource.ts";
import type { CertificateName } from "../backends/backend-certificate.ts";
import { mergedBackends } from "../backends/backend-groups.ts";
import { backendService, certificateParts, commonTls } from "../backends/backend-service.ts";
import { backendsOf } from "../backends/backends.ts";
import { type DerivedRule, hostInName, type RuleLookups, type RuleRequest, sortableNumber } from "./derive-rule.ts";
import { listenerPlacesOf, type RoutePlace } from "./route-places.ts";

/**
 * Policies are for connections that the gateway opens with TLS itself: bytes that it passes through are TLS already.
 */
const withoutPolicies = (lookups: RuleLookups): RuleLookups => ({ ...lookups, backendTlsOf: () => undefined });

/** A connection that cannot be forwarded is closed: its Route has no Service, or a percentage that is refused. */
export function deriveTlsRule(route: Resource, request: RuleRequest, lookups: RuleLookups): DerivedRule {
  const passed = deriveFor("tls_passthrough", route, request, withoutPolicies(lookups));
  const terminated = deriveFor("tls", route, request, lookups);
  const contents = [...terminated.contents, ...passed.contents];
  return {
    contents: contents.map((content) => ({ ...content, spec: { ...content.spec, class: lookups.class } })),
    unsupported: request.refused ? [request.refused] : terminated.unsupported,
    unresolved: terminated.unresolved,
  };
}

function deriveFor(
  protocol: StreamProtocol,
  route: Resource,
  { rule, index, attached, refused }: RuleRequest,
  lookups: RuleLookups,
): DerivedRule {
  const { name, namespace } = route.metadata;
  const source = `spec.rules[${index}]`;
  const path = `${source}.backendRefs`;
  const { backendRefs = [] } = rule;
  const { usable, refusedPercentage, faults } = backendsOf(backendRefs, { kind: "TLSRoute", namespace, path }, lookups);
  const { tls, fault } = commonTls(usable, path);
  const [first, ...others] = mergedBackends(usable);
  const isOpen = first !== undefined && refused === undefined && !fault;
  const ofProtocol = attached.filter(({ stream }) => stream === protocol);
  const places = listenerPlacesOf(ofProtocol, { byPort: false, byCertificate: tls !== undefined && isOpen });
  const contents = places.map(routeAt);
  if (isOpen) {
    const backends = [first, ...others] as const;
    const services = new Map(places.map(({ certificate }) => [serviceFor(certificate), certificate]));
    for (const [service, certificate] of services)
      contents.push(...backendService(route, { name: service, backends, protocol: "http", certificate, source: path }));
  }
  return { contents, unsupported: fault && ofProtocol.length > 0 ? [fault] : [], unresolved: faults };

  /** Each protocol has its own Service: a policy may refuse a backend for one protocol that the other one can use. */
  function serviceFor(certificate: CertificateName | undefined): string {
    return derivedName("tls-route", name, sortableNumber(index), protocol, ...certificateParts(certificate));
  }

  function routeAt({ host, listeners, certificate }: RoutePlace): DerivedContent {
    return {
      kind: "Route",
      name: derivedName(
        "tls-route",
        name,
        sortableNumber(index),
        protocol,
        hostInName(host),
        ...certificateParts(certificate),
      ),
      spec: {
        ...(host !== undefined && { hosts: [host] }),
        protocols: [protocol],
        ...(isOpen && { serviceRef: { name: serviceFor(certificate) } }),
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
