/**
 * Detects routes that would lose a plugin that protects them. In a file that is being written, the plugin may be in the
 * part that is still missing.
 */
import { isDeepStrictEqual } from "node:util";
import {
  bucketDifferences,
  collections,
  mayProtect,
  type Snapshot,
  type SnapshotPlugin,
  type SnapshotRoute,
} from "@sluice/model/serving";

/** Describes the first lost protection that is found; null: none. Without relevant differences nothing is scanned. */
export function describeLostProtection(before: Snapshot, now: Snapshot): string | null {
  if (collections.every((name) => before[name] === now[name])) return null;
  const left = lostMembership(before, now);
  if (left) return left;
  const affected = bucketDifferences<SnapshotPlugin>(before.plugins, now.plugins).flatMap(({ before: was, after }) =>
    was && protects(was) && !(after && replaces(after, was)) ? routesOf(was, before).toArray() : [],
  );
  const routes = bucketDifferences<SnapshotRoute>(before.routes, now.routes).flatMap(({ before: was }) => was ?? []);
  if (routes.length === 0 && affected.length === 0) return null;
  const [protecting, protectingNow] = [before, now].map(protectionOf) as [Protection, Protection];
  const isLost = (plugin: SnapshotPlugin, route: SnapshotRoute): boolean => {
    // Without the consumer, no request can authenticate as that consumer.
    if (plugin.consumer && !now.consumers.has(plugin.consumer.id)) return false;
    return !protectingNow(route).some((other) => coversAll(other, plugin));
  };
  for (const was of new Set([...affected, ...routes])) {
    const route = now.routes.get(was.id);
    const lost = route && protecting(was).find((plugin) => isLost(plugin, route));
    if (lost) return describe(lost, was);
  }
  // Requests that a route no longer matches may match another route, such as one for all paths. Protection is lost if
  // such a route leads to the same upstream without the plugin.
  const narrowed = routes.filter((was) => leavesRequests(was, now.routes.get(was.id)));
  const byAddress =
    narrowed.length > 0 ? Map.groupBy(now.routes.values(), (route) => addressOf(route, now)) : new Map();
  const covered = new Set<string>();
  for (const was of narrowed) {
    const address = addressOf(was, before);
    for (const plugin of protecting(was)) {
      const key = JSON.stringify([address, plugin.name, plugin.protocols]);
      if (!isForAll(plugin) || covered.has(key)) continue;
      const others: readonly SnapshotRoute[] = byAddress.get(address) ?? [];
      if (others.some((route) => isLost(plugin, route))) return describe(plugin, was);
      covered.add(key);
    }
  }
  return null;
}

/** Describes a protecting plugin that a consumer loses by leaving a group. Null: none. Removed consumers lose none. */
function lostMembership(before: Snapshot, now: Snapshot): string | null {
  const changed = bucketDifferences(before.consumer_group_consumers, now.consumer_group_consumers);
  const left = changed.flatMap(({ before: was, after }) => (was && !after ? was : []));
  if (left.length === 0) return null;
  const plugins = [...before.plugins.values().filter(protects)];
  for (const { consumer, consumer_group } of left.filter((was) => now.consumers.has(was.consumer.id))) {
    const lost = plugins.find((plugin) => plugin.consumer_group?.id === consumer_group.id);
    const { username, id } = now.consumers.get(consumer.id) ?? { username: null, id: consumer.id };
    if (lost) return `${lost.name} of consumer ${username ?? id}, who leaves a consumer group`;
  }
  return null;
}

/** The protecting plugins of a route, including those for one consumer or group. */
type Protection = (route: SnapshotRoute) => readonly SnapshotPlugin[];

function protectionOf({ plugins }: Snapshot): Protection {
  const byScope = Map.groupBy(plugins.values().filter(protects), ({ route, service }) => scopeOf(route, service));
  return (route) => {
    const { service } = route;
    const scopes = new Set([
      scopeOf(null, null),
      scopeOf(null, service),
      scopeOf(route, null),
      scopeOf(route, service),
    ]);
    return [...scopes].flatMap((scope) => byScope.get(scope) ?? []);
  };
}

interface Identified {
  readonly id: string;
}

const scopeOf = (route: Identified | null, service: Identified | null): string =>
  `${route?.id ?? ""}/${service?.id ?? ""}`;

const isForAll = ({ consumer, consumer_group }: SnapshotPlugin): boolean =>
  consumer === null && consumer_group === null;

/** Whether, on a route that both plugins apply to, `plugin` protects all requests that `other` protects. */
const coversAll = (plugin: SnapshotPlugin, other: SnapshotPlugin): boolean =>
  plugin.name === other.name &&
  (isForAll(plugin) ||
    (plugin.consumer?.id === other.consumer?.id && plugin.consumer_group?.id === other.consumer_group?.id)) &&
  other.protocols.every((protocol) => plugin.protocols.includes(protocol));

/** Whether the changed plugin protects at least the same requests as before. */
const replaces = (now: SnapshotPlugin, was: SnapshotPlugin): boolean =>
  protects(now) && coversAll(now, was) && scopeOf(now.route, now.service) === scopeOf(was.route, was.service);

/** The upstream address of a route; several services may share one address. */
function addressOf({ service }: SnapshotRoute, { services }: Snapshot): string | undefined {
  const found = service && services.get(service.id);
  return found ? `${found.host}:${found.port}` : undefined;
}

/** Whether the route may have matched requests that it no longer matches. */
function leavesRequests(was: SnapshotRoute, now: SnapshotRoute | undefined): boolean {
  if (now === undefined) return true;
  const members = ["paths", "hosts", "methods", "snis", "protocols"] as const;
  if (members.some((member) => isNarrowed(was[member] ?? [], now[member] ?? []))) return true;
  const ends = ["sources", "destinations"] as const;
  if (ends.some((member) => isNarrowed(textsOf(was[member]), textsOf(now[member])))) return true;
  return !isDeepStrictEqual(was.headers ?? null, now.headers ?? null);
}

const textsOf = (ends: SnapshotRoute["sources"]): readonly string[] =>
  (ends ?? []).map(({ ip, port }) => `${ip} ${port}`);

/** Whether a list that restricts which requests match has become narrower; an empty list matches all. */
const isNarrowed = (was: readonly string[], now: readonly string[]): boolean =>
  now.length > 0 && (was.length === 0 || was.some((one) => !now.includes(one)));

const describe = ({ name }: SnapshotPlugin, route: SnapshotRoute): string =>
  `${name} of route ${route.name ?? route.id}`;

const protects = ({ enabled, name }: SnapshotPlugin): boolean => enabled && mayProtect(name);

/** The routes to which the plugin applied. */
const routesOf = ({ route, service }: SnapshotPlugin, { routes }: Snapshot): IteratorObject<SnapshotRoute> =>
  (route ? [routes.get(route.id)].values() : routes.values())
    .filter((one) => one !== undefined)
    .filter((one) => !service || one.service?.id === service.id);
