/**
 * Detects routes that would lose a plugin that protects them. In a file that is being written, the plugin may be in the
 * part that is still missing.
 */
import { isDeepStrictEqual } from "node:util";
import {
  collections,
  type Difference,
  differences,
  mayProtect,
  type Snapshot,
  type SnapshotPlugin,
  type SnapshotRoute,
} from "@sluice/model/serving";

/** Describes the first plugin and route that are found; null: none. The cost grows with the number of differences. */
export function describeLostProtection(before: Snapshot, now: Snapshot): string | null {
  if (collections.every((name) => before[name] === now[name])) return null;
  const lost = differences<SnapshotPlugin>(before.plugins, now.plugins).flatMap(({ before: was, after }) =>
    was && protects(was) && !(after && protectsAlike(after, was)) ? [was] : [],
  );
  const moved = differences<SnapshotRoute>(before.routes, now.routes).filter(isMoved);
  const left = differences<SnapshotRoute>(before.routes, now.routes).flatMap(({ before: was, after }) =>
    was && (!after || leavesRequests(was, after)) ? [was] : [],
  );
  if (lost.length === 0 && moved.length === 0 && left.length === 0) return null;
  const there = scopesOf(now);
  for (const plugin of lost)
    for (const route of routesOf(plugin, before))
      if (isLost(plugin, now.routes.get(route.id), { now, there })) return describe(plugin, route);
  const byService = moved.length > 0 ? ofServices(before) : new Map<undefined, never>();
  for (const { before: was, after } of moved)
    for (const plugin of was?.service ? (byService.get(was.service.id) ?? []) : [])
      if (was && (plugin.route?.id ?? was.id) === was.id && isLost(plugin, after, { now, there }))
        return describe(plugin, was);
  return lostByRequests(left, before, { now, there });
}

/**
 * Requests that a protected route no longer matches may match another route, such as one for all paths. Protection is
 * lost if such a route leads to the same upstream without the plugin.
 *
 * @param left The previous state of routes that match fewer requests now, or were removed
 */
function lostByRequests(left: readonly SnapshotRoute[], before: Snapshot, { now, there }: Now): string | null {
  if (left.length === 0) return null;
  const protecting = [...before.plugins.values()].filter((plugin) => protects(plugin) && !plugin.consumer);
  const byRoute = Map.groupBy(protecting, ({ route }) => route?.id);
  const byService = Map.groupBy(byRoute.get(undefined) ?? [], ({ service }) => service?.id);
  const byAddress = Map.groupBy(now.routes.values(), (route) => addressOf(route, now));
  const isOpen = new Map<string, boolean>();
  for (const was of left) {
    const address = addressOf(was, before);
    const wide = was.service ? (byService.get(was.service.id) ?? []) : [];
    for (const plugin of [...(byRoute.get(was.id) ?? []), ...wide, ...(byService.get(undefined) ?? [])]) {
      const key = JSON.stringify([address, plugin.name, plugin.protocols]);
      const others = isOpen.has(key) ? [] : (byAddress.get(address) ?? []);
      const found = isOpen.get(key) ?? others.some((route) => isLost(plugin, route, { now, there }));
      if (found) return describe(plugin, was);
      isOpen.set(key, found);
    }
  }
  return null;
}

/** The upstream address of a route; several services may share one address. */
function addressOf({ service }: SnapshotRoute, { services }: Snapshot): string | undefined {
  const found = service && services.get(service.id);
  return found ? `${found.host}:${found.port}` : undefined;
}

/** Whether the route may have matched requests that it no longer matches. */
function leavesRequests(was: SnapshotRoute, now: SnapshotRoute): boolean {
  const lists = [
    [was.paths, now.paths],
    [was.hosts, now.hosts],
    [was.methods, now.methods],
    [was.snis, now.snis],
    [was.protocols, now.protocols],
  ] as const;
  if (lists.some(([one, other]) => isNarrowed(one ?? [], other ?? []))) return true;
  return !isDeepStrictEqual(was.headers ?? null, now.headers ?? null);
}

/** For lists that restrict which requests match; an empty list matches all. */
const isNarrowed = (was: readonly unknown[], now: readonly unknown[]): boolean =>
  now.length > 0 && (was.length === 0 || was.some((one) => !now.includes(one)));

const describe = ({ name }: SnapshotPlugin, route: SnapshotRoute): string =>
  `${name} of route ${route.name ?? route.id}`;

const protects = ({ enabled, name }: SnapshotPlugin): boolean => enabled && mayProtect(name);

const isMoved = ({ before, after }: Difference<SnapshotRoute>): boolean =>
  before !== undefined && after !== undefined && before.service?.id !== after.service?.id;

type Scope = Pick<SnapshotPlugin, "name" | "route" | "service" | "consumer">;

const keyOf = ({ name, route, service, consumer }: Scope): string =>
  [name, route?.id, service?.id, consumer?.id].join("/");

/** Whether the plugin applies wherever the other one applies. */
const protectsAlike = (plugin: SnapshotPlugin, other: SnapshotPlugin): boolean =>
  protects(plugin) &&
  keyOf(plugin) === keyOf(other) &&
  other.protocols.every((protocol) => plugin.protocols.includes(protocol));

interface Now {
  readonly now: Snapshot;
  readonly there: ReadonlyMap<string, SnapshotPlugin>;
}

const scopesOf = ({ plugins }: Snapshot): ReadonlyMap<string, SnapshotPlugin> =>
  new Map([...plugins.values()].filter(protects).map((plugin) => [keyOf(plugin), plugin]));

function isLost(plugin: SnapshotPlugin, route: SnapshotRoute | undefined, { now, there }: Now): boolean {
  if (!route) return false;
  const { name, consumer } = plugin;
  // Without the consumer, no request can authenticate as it.
  if (consumer && !now.consumers.has(consumer.id)) return false;
  const { id, service } = route;
  const places = [
    { route: { id }, service },
    { route: { id }, service: null },
    { route: null, service },
  ];
  const wide = [{ route: null, service: null }];
  return ![...places, ...wide].some((place) => {
    const found = [consumer, null].map((who) => there.get(keyOf({ name, consumer: who, ...place })));
    return found.some((one) => one && plugin.protocols.every((protocol) => one.protocols.includes(protocol)));
  });
}

/** The routes to which the plugin applied. */
function routesOf({ route, service }: SnapshotPlugin, { routes }: Snapshot): Iterable<SnapshotRoute> {
  if (route) {
    const one = routes.get(route.id);
    return one && (!service || one.service?.id === service.id) ? [one] : [];
  }
  return service ? routes.values().filter((one) => one.service?.id === service.id) : routes.values();
}

/** The protecting plugins of each service, by its id: for routes that move to another service. */
const ofServices = ({ plugins }: Snapshot): ReadonlyMap<string | undefined, readonly SnapshotPlugin[]> =>
  Map.groupBy(plugins.values().filter(protects), ({ service }) => service?.id);
