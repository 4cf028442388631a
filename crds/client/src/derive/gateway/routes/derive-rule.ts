/** Derives the resources of one rule of a route: a Route for each match and host, their Plugins, and a Service. */
import type { RequestShare, RouteExtras } from "@sluice/model";
import type { Resource } from "../../../resource.ts";
import { type DerivedContent, derivedName } from "../../derived-resource.ts";
import type { CertificateName } from "../backends/backend-certificate.ts";
import { type BackendGroup, groupsOf } from "../backends/backend-groups.ts";
import { backendService, certificateParts } from "../backends/backend-service.ts";
import { type BackendLookups, backendsOf } from "../backends/backends.ts";
import {
  type ConditionFinding,
  falseFinding,
  type GrpcRouteMatch,
  type HttpRouteMatch,
  type RouteKind,
  type RouteRule,
} from "../gateway-api.ts";
import type { AttachedListener } from "./attachment.ts";
import { type DerivedMirrors, deriveMirrors } from "./derive-mirrors.ts";
import { translateGrpcMatch } from "./grpc-match.ts";
import { type TranslatedMatch, translateMatch } from "./http-match.ts";
import { listenerPlacesOf, type RoutePlace } from "./route-places.ts";
import { effectsOf, type RuleEffects, type RulePlugin } from "./rule-effects.ts";

export interface RuleLookups extends BackendLookups {
  /** The class of the installation. */
  readonly class: string;
  /** A Plugin in the namespace of the route. */
  readonly readPlugin: (name: string) => Resource | undefined;
}

export interface RuleRequest {
  readonly rule: RouteRule;
  readonly index: number;
  /** The listeners to which the route has attached. */
  readonly attached: readonly AttachedListener[];
  /** Why the whole route is refused. Its requests are answered with 503: other routes may protect less. */
  readonly refused: ConditionFinding | undefined;
}

export interface DerivedRule {
  readonly contents: readonly DerivedContent[];
  /** For the condition Accepted. */
  readonly unsupported: readonly ConditionFinding[];
  /** For the condition ResolvedRefs. */
  readonly unresolved: readonly ConditionFinding[];
}

/** What differs between the kinds of routes. */
interface RouteKindFacts {
  /** The first part of the names of derived resources. */
  readonly prefix: "http-route" | "grpc-route";
  readonly protocols: readonly string[];
  /** The protocol of the Service, without TLS. */
  readonly protocol: "http" | "grpc";
  readonly translate: (match: HttpRouteMatch | GrpcRouteMatch) => TranslatedMatch;
}

type HttpRouteKind = Exclude<RouteKind, "TLSRoute">;

const kinds: Readonly<Record<HttpRouteKind, RouteKindFacts>> = {
  HTTPRoute: {
    prefix: "http-route",
    protocols: ["http", "https"],
    protocol: "http",
    translate: (match) => translateMatch(match as HttpRouteMatch),
  },
  GRPCRoute: {
    prefix: "grpc-route",
    protocols: ["grpc", "grpcs"],
    protocol: "grpc",
    translate: (match) => translateGrpcMatch(match as GrpcRouteMatch),
  },
};

/** Backends that are served alike, with the resources that are not derived for each match. */
interface DerivedGroup extends Pick<BackendGroup, "backends" | "share"> {
  /** The group's parts of names. */
  readonly parts: readonly string[];
  readonly effects: RuleEffects;
  readonly extensions: readonly { readonly plugin: Resource; readonly source: string }[];
  readonly mirrored: DerivedMirrors;
}

/** The matches of a rule without matches. */
const everything = [{}];

export function deriveRule(route: Resource, request: RuleRequest, lookups: RuleLookups): DerivedRule {
  const { rule, index, attached, refused } = request;
  const { name, namespace } = route.metadata;
  const kind = route.kind as HttpRouteKind;
  const { prefix, protocols, protocol, translate } = kinds[kind];
  const source = `spec.rules[${index}]`;
  const { matches = everything, backendRefs = [] } = rule;
  const place = { kind, namespace, path: `${source}.backendRefs` };
  const { faults, ...backends } = backendsOf(backendRefs, place, lookups);
  const contents: DerivedContent[] = [];
  const unsupported: ConditionFinding[] = refused ? [refused] : [];
  const unresolved: ConditionFinding[] = [...faults];
  const derived = groupsOf(backends).map(deriveGroup);
  const isClosed = unsupported.length > 0;
  const [first] = derived;
  // A rule that is closed is not divided.
  const served = isClosed && first ? [{ ...first, share: undefined }] : derived;
  const placed = served.map((group) => ({ group, places: placesFor(group) }));
  for (const { group, places } of placed) addServices(group, places);
  for (const [at, given] of matches.entries()) {
    const match = translate(given);
    const from = `${source}.matches[${at}]`;
    for (const { field, message } of match.faults)
      unsupported.push(falseFinding("UnsupportedValue", `${from}.${field}: ${message}`));
    if (refused) addRefusing(match, refused.message, { at, source: from });
    else
      for (const { group, places } of placed)
        for (const one of places) addRoute(match, one, { group, at, source: from });
  }
  return {
    contents: contents.map((content) => ({ ...content, spec: { ...content.spec, class: lookups.class } })),
    unsupported,
    unresolved,
  };

  function deriveGroup({ backends, filters, share }: BackendGroup, at: number): DerivedGroup {
    const effects = effectsOf({ rule, source, backendFilters: filters });
    unsupported.push(...effects.faults);
    const extensions = effects.extensions.flatMap(({ name: of, source: path }) => {
      const plugin = lookups.readPlugin(of);
      if (plugin) return { plugin, source: path };
      unsupported.push(
        falseFinding("UnsupportedValue", `${path}: there is no Plugin ${of} in the namespace ${namespace}`),
      );
      return [];
    });
    // One instance of a plugin acts on a Route. Without one of its filters, the rule must not be served.
    const used = new Set<unknown>(effects.plugins.map(({ plugin }) => plugin));
    if (effects.mirrors.length > 0) used.add("request-mirror");
    if (effects.redirect) used.add("request-redirect");
    for (const { plugin, source: path } of extensions) {
      const { plugin: of } = plugin.spec ?? {};
      if (used.has(of))
        unsupported.push(
          falseFinding("IncompatibleFilters", `${path}: another filter of the rule uses the plugin ${of} too`),
        );
      used.add(of);
    }
    // The only group of a rule has no part of a name.
    const parts = share ? [sortableNumber(at)] : [];
    const nameOf = (mirror: number) =>
      derivedName(prefix, name, sortableNumber(index), ...parts, "mirror", sortableNumber(mirror));
    const mirrored = deriveMirrors(route, { mirrors: effects.mirrors, nameOf, protocol }, lookups);
    unresolved.push(...mirrored.faults);
    return { share, parts, effects, extensions, mirrored, backends };
  }

  function usesService({ backends, effects }: DerivedGroup): boolean {
    return backends.length > 0 && !isClosed && !effects.redirect;
  }

  function placesFor(group: DerivedGroup): readonly RoutePlace[] {
    return listenerPlacesOf(attached, {
      byPort: group.effects.redirect?.usesListenerPort === true,
      byCertificate: usesService(group) && group.backends[0]?.tls !== undefined,
    });
  }

  /**
   * The name of the Service. Gateways with different client certificates for their backends have different Services.
   */
  function serviceFor({ parts }: DerivedGroup, certificate: CertificateName | undefined): string {
    return derivedName(prefix, name, sortableNumber(index), ...parts, ...certificateParts(certificate));
  }

  function addServices(group: DerivedGroup, places: readonly RoutePlace[]): void {
    const [first, ...others] = group.backends;
    if (first === undefined || !usesService(group) || places.length === 0) return;
    const { service: members, serviceExtras: extras } = group.effects;
    const request = { backends: [first, ...others] as const, protocol, members, extras, source: place.path };
    const services = new Map(places.map(({ certificate }) => [serviceFor(group, certificate), certificate]));
    for (const [service, certificate] of services)
      contents.push(...backendService(route, { ...request, name: service, certificate }));
    contents.push(...group.mirrored.contents);
  }

  function addRoute(
    match: TranslatedMatch,
    { host, listeners, port, certificate }: RoutePlace,
    { group, at, source: from }: { readonly group: DerivedGroup; readonly at: number; readonly source: string },
  ): void {
    const { effects, mirrored, extensions } = group;
    const parts = [
      sortableNumber(index),
      sortableNumber(at),
      ...group.parts,
      hostInName(host),
      ...(port === undefined ? [] : [`${port}`]),
    ];
    const routeName = derivedName(prefix, name, ...parts, ...certificateParts(certificate));
    const isOpen = !isClosed && match.faults.length === 0;
    contents.push({
      kind: "Route",
      name: routeName,
      spec: {
        ...(host !== undefined && { hosts: [host] }),
        ...matchMembers(match),
        stripPath: effects.stripPath,
        preserveHost: true,
        ...(isOpen && usesService(group) && { serviceRef: { name: serviceFor(group, certificate) } }),
      },
      derived: {
        extras: extrasOf(match, listeners, group.share),
        sourcePaths: { spec: from, "spec.serviceRef": `${source}.backendRefs` },
      },
    });
    const redirect = effects.redirect && {
      plugin: "request-redirect",
      config: effects.redirect.config({ prefix: match.prefix, port }),
      source: effects.redirect.source,
    };
    if (!isOpen) {
      addPlugin(routeName, termination(from));
      return;
    }
    if (redirect) addPlugin(routeName, redirect);
    else if (!usesService(group)) addPlugin(routeName, termination(`${source}.backendRefs`));
    // Only rules that use a Service have Services for their mirrors.
    const plugins = [...effects.plugins, ...(usesService(group) ? mirrored.plugins : [])];
    for (const plugin of plugins) addPlugin(routeName, plugin);
    for (const { plugin, source: of } of extensions) addExtension(routeName, plugin, of);
  }

  /**
   * Adds Routes that refuse the requests of a match: as few as possible and without Plugins, because the route may be
   * refused for the number of its derived resources.
   */
  function addRefusing(
    match: TranslatedMatch,
    unavailable: string,
    { at, source: from }: { readonly at: number; readonly source: string },
  ): void {
    const places = listenerPlacesOf(attached, { byPort: false, byCertificate: false });
    const hosts = places.flatMap(({ host }) => host ?? []);
    const listeners = [...new Set(places.flatMap((place) => place.listeners))].sort();
    const groups = hosts.length < places.length ? [undefined] : chunks(hosts, MAX_HOSTS);
    for (const [group, some] of groups.entries())
      contents.push({
        kind: "Route",
        name: derivedName(prefix, name, sortableNumber(index), sortableNumber(at), `_${group}`),
        spec: { ...(some && { hosts: some }), ...matchMembers(match) },
        derived: { extras: { ...extrasOf(match, listeners), unavailable }, sourcePaths: { spec: from } },
      });
  }

  function matchMembers({ paths, methods }: TranslatedMatch): object {
    return { paths, ...(methods.length > 0 && { methods }), protocols };
  }

  function addPlugin(routeName: string, { plugin, config, source: of, requiredServices }: RulePlugin): void {
    contents.push({
      kind: "Plugin",
      name: `${routeName}~${plugin}`,
      spec: { plugin, config, targetRefs: [{ kind: "Route", name: routeName }] },
      derived: { sourcePaths: { spec: of }, ...(requiredServices && { requiredServices }) },
    });
  }

  /** A copy of a Plugin for one route. The Plugin itself may be disabled, so that it acts nowhere else. */
  function addExtension(routeName: string, { metadata, spec }: Resource, of: string): void {
    const { targetRefs: _, enabled: __, name: ___, id: ____, instanceName: _____, ...members } = spec ?? {};
    contents.push({
      kind: "Plugin",
      name: `${routeName}~extension~${metadata.name}`,
      spec: { ...members, targetRefs: [{ kind: "Route", name: routeName }] },
      derived: { sourcePaths: { spec: of } },
    });
  }
}

/** Requests without a usable backend are answered with 500 (Gateway API, "HTTPBackendRef"). */
const termination = (source: string): RulePlugin => ({
  plugin: "request-termination",
  config: { status_code: 500 },
  source,
});

const extrasOf = (
  { priority, match }: TranslatedMatch,
  listeners: readonly string[],
  share?: RequestShare,
): RouteExtras => ({
  priority,
  listeners,
  ...((match || share) && { match: { ...match, ...(share && { share }) } }),
});

/** The hosts that a Route can have. */
const MAX_HOSTS = 256;

const chunks = <Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));

/** With leading zeros, because names are compared as strings, and their order must be that of the rules and matches. */
export const sortableNumber = (index: number): string => `${index}`.padStart(3, "0");

/** The host as a part of a name, in which `*` is not allowed. No host has the character `_`. */
export const hostInName = (host: string | undefined): string => (host ?? "_").replaceAll("*", "_");
