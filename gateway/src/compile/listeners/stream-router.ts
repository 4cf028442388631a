/**
 * The routes of the node's stream listeners (`SLUICE_STREAM_LISTEN`): by server name, source and destination. Their
 * order of precedence is that of Kong's default router (`traditional_compatible`). Kong leaves open which of two routes
 * with equal precedence is chosen; here, the narrower block of addresses decides, and then the age.
 */
import type { BlockList } from "node:net";
import { BucketMap, type Difference, hashOfText, type SnapshotRoute } from "@sluice/model/serving";
import { addressSet, isInAddressSet } from "../../outbound/address-set.ts";
import type { ListenerStream, StreamArrival } from "../runtime.ts";
import { agePrecedence, isStreamRoute, olderFirst } from "./stream-routes.ts";

/** In keys: any server name, or any port. */
const ANY = "*";

type Endpoint = NonNullable<SnapshotRoute["sources"]>[number];

interface EndpointMatcher {
  /** Null: any address. */
  readonly addresses: BlockList | null;
  /** Bits of the address that the endpoint fixes, from 0 to 128; those of an IPv4 address follow 96 others. */
  readonly bits: number;
  /** Null: any port. */
  readonly port: number | null;
}

interface StreamMatcher {
  readonly priority: number;
  /** Null: any source. */
  readonly sources: readonly EndpointMatcher[] | null;
  /** Null: any destination. */
  readonly destinations: readonly EndpointMatcher[] | null;
}

/** A route whose sources and destinations match a connection. */
export interface StreamCandidate {
  readonly route: SnapshotRoute;
  readonly priority: number;
  readonly sourceBits: number;
  readonly destinationBits: number;
}

export class StreamRouter {
  /** By transport, server name and port of the destination. */
  readonly #routes: BucketMap<readonly SnapshotRoute[]>;

  private constructor(routes: BucketMap<readonly SnapshotRoute[]>) {
    this.#routes = routes;
  }

  static readonly empty = new StreamRouter(new BucketMap(hashOfText));

  /** Returns the same object if no such route changes. */
  with(routes: readonly Difference<SnapshotRoute>[]): StreamRouter {
    const changed = new Map<string, readonly SnapshotRoute[]>();
    const changedAt = (key: string) => changed.get(key) ?? this.#routes.get(key) ?? [];
    for (const { before } of routes)
      for (const key of before ? keysOf(before) : [])
        changed.set(
          key,
          changedAt(key).filter(({ id }) => id !== before?.id),
        );
    for (const { after } of routes)
      for (const key of after ? keysOf(after) : []) changed.set(key, [...changedAt(key), after as SnapshotRoute]);
    if (changed.size === 0) return this;
    const entries = Array.from(changed, ([key, all]) => [key, all.length === 0 ? undefined : all] as const);
    return new StreamRouter(this.#routes.with(entries));
  }

  /** @param isEnabled Whether the route's service is enabled: other routes match no connections */
  match(arrival: StreamArrival, isEnabled: (route: SnapshotRoute) => boolean): ListenerStream {
    const { isTls, serverName, destination } = arrival;
    const names = isTls && serverName !== null ? [serverName.toLowerCase(), ANY] : [ANY];
    let best: StreamCandidate | null = null;
    for (const name of names)
      for (const port of [`${destination.port}`, ANY])
        for (const route of this.#routes.get(keyOf(isTls, name, port)) ?? []) {
          const candidate = streamCandidateOf(route, arrival);
          if (candidate === null || (best !== null && compareStreams(candidate, best) > 0)) continue;
          if (isEnabled(route)) best = candidate;
        }
    const route = best === null ? null : best.route;
    const isPassed = route?.protocols.includes("tls_passthrough") === true;
    return { protocol: isTls ? (isPassed ? "tls_passthrough" : "tls") : "tcp", listener: null, route };
  }
}

/** No part contains a space. */
const keyOf = (isTls: boolean, name: string, port: string): string => `${isTls ? "tls" : "tcp"} ${name} ${port}`;

/** Whether stream listeners of the node serve the route. */
export const isOwnStreamRoute = (route: SnapshotRoute): boolean =>
  isStreamRoute(route) && route._sluice?.listeners === undefined;

/** The server names of the route, as they are compared; empty: any. */
export const serverNamesOf = ({ snis }: SnapshotRoute): readonly string[] => [
  ...new Set((snis ?? []).map((name) => name.toLowerCase().replace(/\.$/, ""))),
];

function keysOf(route: SnapshotRoute): readonly string[] {
  if (!isOwnStreamRoute(route)) return [];
  const { protocols, destinations } = route;
  const ports = destinations?.length ? destinations.map(({ port }) => (port === null ? ANY : `${port}`)) : [ANY];
  const portKeys = ports.includes(ANY) ? [ANY] : [...new Set(ports)];
  const given = serverNamesOf(route);
  const names = given.length > 0 ? given : [ANY];
  return portKeys.flatMap((port) => [
    ...(protocols.includes("tcp") ? [keyOf(false, ANY, port)] : []),
    ...(protocols.some((protocol) => protocol !== "tcp") ? names.map((name) => keyOf(true, name, port)) : []),
  ]);
}

/** A matcher exists as long as the route's entity. */
const matchers = new WeakMap<SnapshotRoute, StreamMatcher>();

const matcherOf = (route: SnapshotRoute): StreamMatcher =>
  matchers.getOrInsertComputed(route, () => ({
    priority: priorityOf(route),
    sources: endpointsOf(route.sources),
    destinations: endpointsOf(route.destinations),
  }));

const endpointsOf = (endpoints: readonly Endpoint[] | null): readonly EndpointMatcher[] | null =>
  endpoints?.length
    ? endpoints.map(({ ip, port }) => ({ addresses: ip === null ? null : addressSet([ip]), bits: bitsOf(ip), port }))
    : null;

function bitsOf(ip: string | null): number {
  if (ip === null) return 0;
  const [address = "", bits] = ip.split("/");
  if (address.includes(":")) return bits === undefined ? 128 : Number(bits);
  return 96 + (bits === undefined ? 32 : Number(bits));
}

/** The weights of Kong: an address outweighs a port, and a port outweighs a block of addresses. */
const ADDRESS = 8;
const PORT = 4;
const BLOCK = 1;

const weightOf = (endpoints: readonly Endpoint[] | null): number =>
  (endpoints ?? []).reduce((weight, { ip, port }) => {
    const ofAddress = ip === null ? 0 : ip.includes("/") ? BLOCK : ADDRESS;
    return weight | ofAddress | (port === null ? 0 : PORT);
  }, 0);

/** The weights of the parts of a route's priority, the most important first. */
const weights = { comesFirst: 256, sources: 16, destinations: 1 } as const;

/** Server names, or sources together with destinations, come first; then the sources decide, then the destinations. */
function priorityOf({ snis, sources, destinations }: SnapshotRoute): number {
  const comesFirst = snis?.length || (sources?.length && destinations?.length);
  return (
    (comesFirst ? weights.comesFirst : 0) +
    weightOf(sources) * weights.sources +
    weightOf(destinations) * weights.destinations
  );
}

/** Null: the route's sources or destinations do not match. */
export function streamCandidateOf(
  route: SnapshotRoute,
  { source, destination }: StreamArrival,
): StreamCandidate | null {
  const { priority, sources, destinations } = matcherOf(route);
  const sourceBits = bitsMatched(sources, source);
  const destinationBits = bitsMatched(destinations, destination);
  return sourceBits < 0 || destinationBits < 0 ? null : { route, priority, sourceBits, destinationBits };
}

/** The end of the connection that does not match; null: both match. */
export function mismatchedEnd(route: SnapshotRoute, arrival: StreamArrival): "destination" | "source" | null {
  const { sources, destinations } = matcherOf(route);
  if (bitsMatched(destinations, arrival.destination) < 0) return "destination";
  return bitsMatched(sources, arrival.source) < 0 ? "source" : null;
}

/** The most bits of a matching endpoint; -1: none matches. */
function bitsMatched(endpoints: readonly EndpointMatcher[] | null, end: StreamArrival["source"]): number {
  if (endpoints === null) return 0;
  return endpoints.reduce((most, { addresses, bits, port }) => {
    const matches =
      (port === null || port === end.port) && (addresses === null || isInAddressSet(addresses, end.address));
    return matches ? Math.max(most, bits) : most;
  }, -1);
}

/** Negative: the first one takes precedence. */
export const compareStreams = (one: StreamCandidate, other: StreamCandidate): number =>
  other.priority - one.priority ||
  other.sourceBits - one.sourceBits ||
  other.destinationBits - one.destinationBits ||
  olderFirst(one.route, other.route);

/** Why the first one, which matches too, takes precedence. */
export function streamPrecedence(one: StreamCandidate, other: StreamCandidate): string {
  const differing = one.priority ^ other.priority;
  if (differing >= weights.comesFirst) return "it has snis, or both sources and destinations";
  const order = "a single address comes before a port, and a port before a CIDR block";
  if (differing >= weights.sources) return `its sources are more specific: ${order}`;
  if (differing >= weights.destinations) return `its destinations are more specific: ${order}`;
  if (one.sourceBits !== other.sourceBits) return "its CIDR block of sources is narrower";
  if (one.destinationBits !== other.destinationBits) return "its CIDR block of destinations is narrower";
  return agePrecedence(one.route, other.route);
}
