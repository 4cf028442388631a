/** Where a route is served: its hosts, each with the listeners that have it. */
import { MAX_DERIVED } from "../../derived-resource.ts";
import type { CertificateName } from "../backends/backend-certificate.ts";
import { type ConditionFinding, falseFinding, type RouteRule } from "../gateway-api.ts";
import type { AttachedListener } from "./attachment.ts";

export interface RoutePlace {
  /** Undefined: any host. */
  readonly host: string | undefined;
  /** The names in the document, sorted. */
  readonly listeners: readonly string[];
  /** The port that clients use, if the places are separated by port. */
  readonly port: number | undefined;
  /** The client certificate for the backends, if the places are separated by it. */
  readonly certificate: CertificateName | undefined;
}

export interface PlaceOptions {
  readonly byPort: boolean;
  readonly byCertificate: boolean;
}

export function listenerPlacesOf(
  attached: readonly AttachedListener[],
  { byPort, byCertificate }: PlaceOptions,
): readonly RoutePlace[] {
  const places = new Map<string, RoutePlace & { readonly ids: Set<string> }>();
  for (const { id, hosts, ...listener } of attached) {
    const port = byPort ? listener.port : undefined;
    const certificate = byCertificate ? listener.certificate : undefined;
    for (const host of hosts) {
      const key = JSON.stringify([host, port, certificate]);
      const known = places.get(key) ?? { host, listeners: [], port, certificate, ids: new Set() };
      known.ids.add(id);
      places.set(key, known);
    }
  }
  return [...places.values()].map(({ ids, ...place }) => ({ ...place, listeners: [...ids].sort() }));
}

/**
 * The condition Accepted of a route of which too many resources would be derived: the Gateway API allows 128 matches
 * and 16 hostnames.
 */
export function sizeFault(
  rules: readonly RouteRule[],
  attached: readonly AttachedListener[],
): ConditionFinding | undefined {
  const sizes = rules.map(({ matches, filters = [], backendRefs = [] }) => {
    const ofBackends = backendRefs.flatMap((ref) => ref.filters ?? []);
    const used = [...filters, ...ofBackends];
    const byPort = used.some(({ type }) => type === "RequestRedirect");
    const places = listenerPlacesOf(attached, { byPort, byCertificate: true });
    const groups = Math.max(1, backendRefs.length);
    return (matches?.length ?? 1) * places.length * (groups * (1 + filters.length) + ofBackends.length);
  });
  const size = sizes.reduce((sum, one) => sum + one, 0);
  if (size <= MAX_DERIVED) return undefined;
  const message =
    `spec.rules: ${size} Routes and Plugins would be derived for the matches, hosts and filters, at most ` +
    `${MAX_DERIVED} are allowed: use fewer of them, or several routes; requests are answered with 503`;
  return falseFinding("UnsupportedValue", message);
}
