/** Explains which route takes a connection: which routes were candidates, and why the others do not match. */
import { hostAndPort, type SnapshotRoute } from "@sluice/model/serving";
import { insertRanked, namedValue, oneOfValues } from "../router/explain-routes.ts";
import type { ConnectionEnd, ExplainedArrival, ExplainedRoute, ExplainedRoutes, StreamAttribute } from "../runtime.ts";
import {
  compareStreams,
  isOwnStreamRoute,
  mismatchedEnd,
  type StreamCandidate,
  serverNamesOf,
  streamCandidateOf,
  streamPrecedence,
} from "./stream-router.ts";
import { agePrecedence, hostMatchOf, isStreamRoute, olderFirst } from "./stream-routes.ts";

export interface ExplainStreamsOptions {
  /** Maximum number of routes in the result. */
  readonly size: number;
  /** The name or id of the route's service if it is disabled; null: it is enabled, or the route has no service. */
  readonly disabledService: (route: SnapshotRoute) => string | null;
}

/** A rule by which routes match, and their order of precedence. */
interface StreamRule {
  /** Whether the route is for the listener at all. */
  concerns(route: SnapshotRoute): boolean;
  /** The first attribute that does not match, with the reason; null: the route matches, unless its service is disabled. */
  mismatchOf(route: SnapshotRoute): { readonly attribute: StreamAttribute; readonly reason: string } | null;
  /** Of two routes that match. Negative: the first one takes precedence. */
  compare(one: SnapshotRoute, other: SnapshotRoute): number;
  /** Why the first route, which matches too, takes precedence. */
  precedence(one: SnapshotRoute, other: SnapshotRoute): string;
}

interface RankedRoute {
  readonly route: SnapshotRoute;
  readonly mismatch: ReturnType<StreamRule["mismatchOf"]>;
}

/** The later the mismatching attribute is in this list, the nearer the route is to a match. */
const ranks: readonly (StreamAttribute | undefined)[] = [
  ...(["protocol", "host", "sni", "destination", "source", "service"] as const),
  undefined,
];

/** As `explainEntries`. @param routes All routes */
export function* explainStreamRoutes(
  routes: Iterable<SnapshotRoute>,
  arrival: ExplainedArrival,
  { size, disabledService }: ExplainStreamsOptions,
): Generator<undefined, ExplainedRoutes> {
  const rule = arrival.listener === null ? ownRule(arrival) : listenerRule(arrival.listener, arrival);
  const compare = (one: RankedRoute, other: RankedRoute): number =>
    ranks.indexOf(other.mismatch?.attribute) - ranks.indexOf(one.mismatch?.attribute) ||
    (one.mismatch === null ? rule.compare(one.route, other.route) : olderFirst(one.route, other.route));
  const nearest: RankedRoute[] = [];
  let count = 0;
  for (const route of routes) {
    if (rule.concerns(route)) {
      count++;
      const disabled = disabledService(route);
      const ofService =
        disabled === null ? null : ({ attribute: "service", reason: `the service ${disabled} is disabled` } as const);
      insertRanked(nearest, { route, mismatch: rule.mismatchOf(route) ?? ofService }, { size, compare });
    }
    yield;
  }
  const [first] = nearest;
  const chosen = first?.mismatch === null ? first.route : null;
  return {
    nearest: nearest.map(({ route, mismatch }): ExplainedRoute => {
      const lostBecause = mismatch || !chosen || chosen === route ? null : rule.precedence(chosen, route);
      return { route, path: null, mismatch, lostBecause };
    }),
    others: count - nearest.length,
  };
}

/** The routes of the node's stream listeners: see `StreamRouter`. */
function ownRule(arrival: ExplainedArrival): StreamRule {
  const { isTls, serverName } = arrival;
  const candidate = (route: SnapshotRoute) => streamCandidateOf(route, arrival) as StreamCandidate;
  return {
    concerns: isOwnStreamRoute,
    mismatchOf(route) {
      const { protocols, sources, destinations } = route;
      if (!protocols.some((protocol) => (protocol === "tcp") !== isTls))
        return {
          attribute: "protocol",
          reason: `the connection has ${isTls ? "" : "no "}TLS, and the route has the protocol ${oneOfValues(protocols)}`,
        };
      const names = isTls ? serverNamesOf(route) : [];
      if (names.length > 0 && !names.includes(serverName?.toLowerCase() ?? ""))
        return {
          attribute: "sni",
          reason: `${namedValue("TLS server name", serverName)} is not ${oneOfValues(names)}`,
        };
      const end = mismatchedEnd(route, arrival);
      if (end === null) return null;
      return { attribute: end, reason: endReason(end, arrival[end], end === "source" ? sources : destinations) };
    },
    compare: (one, other) => compareStreams(candidate(one), candidate(other)),
    precedence: (one, other) => streamPrecedence(candidate(one), candidate(other)),
  };
}

const endReason = (
  what: "source" | "destination",
  { address, port }: ConnectionEnd,
  endpoints: SnapshotRoute["sources"],
): string =>
  `the ${what} ${port === 0 ? address : hostAndPort({ host: address, port })} is not ${oneOfValues((endpoints ?? []).map(endpointText))}`;

/** `10.0.0.0/8`, `port 9100`, or `10.0.0.7 port 9100`. */
const endpointText = ({ ip, port }: NonNullable<SnapshotRoute["sources"]>[number]): string =>
  [ip, port === null ? null : `port ${port}`].filter((part) => part !== null).join(" ");

/** The routes of a listener of the document: see `StreamRoutes`. */
function listenerRule(
  { name, protocol }: NonNullable<ExplainedArrival["listener"]>,
  { serverName }: ExplainedArrival,
): StreamRule {
  const asked = serverName?.toLowerCase() ?? "";
  /** Of a route that matches. */
  const specificity = (route: SnapshotRoute): number => hostMatchOf(route, asked) ?? 0;
  return {
    concerns: (route) => isStreamRoute(route) && route._sluice?.listeners?.includes(name) === true,
    mismatchOf(route) {
      const [own = ""] = route.protocols;
      if (own !== protocol)
        return {
          attribute: "protocol",
          reason: `the listener has the protocol ${protocol}, and the route has the protocol ${own}`,
        };
      if (asked === "") return { attribute: "host", reason: "the client sends no server name" };
      if (hostMatchOf(route, asked) !== null) return null;
      return {
        attribute: "host",
        reason: `${namedValue("TLS server name", asked)} is not ${oneOfValues(route.hosts ?? [])}`,
      };
    },
    compare: (one, other) => specificity(other) - specificity(one) || olderFirst(one, other),
    precedence: (one, other) =>
      specificity(one) === specificity(other) ? agePrecedence(one, other) : "its host is more specific",
  };
}
