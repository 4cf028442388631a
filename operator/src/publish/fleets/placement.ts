/**
 * Finds out in which fleets each entity of a snapshot is needed. The cost of an update is proportional to the changed
 * entities, and to the entities that need them or are needed by them.
 *
 * Listeners name their fleets, and Routes and Certificates name their listeners. Everything else follows:
 *
 * | entity | fleets |
 * |---|---|
 * | Route | those of its listeners; without listeners the shared fleet |
 * | Service | those of its Routes, and of the plugins request-mirror that name it |
 * | Upstream, Target | those of the Services whose host is the Upstream |
 * | Plugin | those of its Route and Service; for a Plugin without these, every fleet |
 * | Certificate, SNI | those of its listeners (none: the shared fleet), and of Services and Upstreams that present it |
 * | any other | every fleet |
 *
 * A Service or an Upstream that no other entity needs is in the shared fleet.
 */
import { Relation } from "@sluice/crds";
import {
  bucketDifferences,
  type Collection,
  collections,
  type Difference,
  SHARED_FLEET,
  type Snapshot,
  type SnapshotPlugin,
} from "@sluice/model";
import { createFleetCounts, type Fleets } from "./fleet-counts.ts";

/** Stands for every fleet. No fleet has this name, because it is not a valid name of a Kubernetes object. */
const EVERY_FLEET = "*";
const everywhere: Fleets = new Set([EVERY_FLEET]);
const shared: Fleets = new Set([SHARED_FLEET]);
const nowhere: Fleets = new Set();

export const includesFleet = (fleets: Fleets, fleet: string): boolean => fleets.has(fleet) || fleets.has(EVERY_FLEET);

/** The fleets with these names; `all` for every fleet. */
export const namedFleets = (fleets: Fleets, all: Iterable<string>): Iterable<string> =>
  fleets.has(EVERY_FLEET) ? all : fleets;

/** A section of the snapshot whose entries are placed. The addresses of a Service or an Upstream are where it is. */
export type PlacedSection = Collection | "listeners";

/** Entries of a section: their fleets before the update. An entry that is new was in no fleet. */
export type PlacementMoves = ReadonlyMap<PlacedSection, ReadonlyMap<string, Fleets>>;

const isSame = (one: Fleets, other: Fleets): boolean => one.size === other.size && one.isSubsetOf(other);

const unionOf = (sets: Iterable<Fleets>): Fleets => {
  let union = nowhere;
  for (const set of sets) union = union.size === 0 ? set : union.union(set);
  return union;
};

function intersectionOf(one: Fleets, other: Fleets): Fleets {
  if (one.has(EVERY_FLEET)) return other;
  return other.has(EVERY_FLEET) ? one : one.intersection(other);
}

interface Named {
  readonly name?: string | null;
}

export function createPlacement() {
  const places = new Map<PlacedSection, Map<string, Fleets>>();
  /** Routes and Certificates, and the names of their listeners. */
  const routeListeners = new Relation<string, string>();
  const certificateListeners = new Relation<string, string>();
  /** Plugins, and the Route and the Service of their scope. */
  const pluginRoutes = new Relation<string, string>();
  const pluginServices = new Relation<string, string>();
  const upstreamTargets = new Relation<string, string>();
  const certificateSnis = new Relation<string, string>();
  /** Users of Services by id, or by name: the plugin request-mirror may use either. */
  const serviceUsers = createFleetCounts();
  /** Users of Upstreams by name: a Service has the name of its Upstream as its host. */
  const upstreamUsers = createFleetCounts();
  const certificateUsers = createFleetCounts();
  const serviceIds = new Map<string, string>();
  const upstreamIds = new Map<string, string>();

  const fleetsOf = (section: PlacedSection, key: string): Fleets => places.get(section)?.get(key) ?? nowhere;

  /** Places the changed entries of the next snapshot, and those whose fleets change with them. */
  function update(previous: Snapshot, next: Snapshot): PlacementMoves {
    const changed = (section: PlacedSection) => bucketDifferences<object>(previous[section], next[section]);
    const dirty = new Map(collections.map((collection) => [collection, new Set<string>()]));
    const dirtyIn = (collection: Collection): Set<string> => dirty.get(collection) as Set<string>;
    const moves = new Map<PlacedSection, Map<string, Fleets>>();

    /** Returns whether the fleets of the entry have changed. */
    function place(section: PlacedSection, key: string, fleets: Fleets): boolean {
      const known = places.getOrInsertComputed(section, () => new Map<string, Fleets>());
      const before = known.get(key) ?? nowhere;
      const moved = moves.getOrInsertComputed(section, () => new Map<string, Fleets>());
      if (!moved.has(key)) moved.set(key, before);
      if (fleets.size === 0) known.delete(key);
      else known.set(key, fleets);
      return !isSame(before, fleets);
    }
    const addAll = (collection: Collection, ids: Iterable<string>): void => {
      const set = dirtyIn(collection);
      for (const id of ids) set.add(id);
    };
    const addServices = (references: readonly string[]): void =>
      addAll(
        "services",
        references.map((reference) => serviceIds.get(reference) ?? reference),
      );
    const addUpstreams = (hosts: readonly string[]): void =>
      addAll(
        "upstreams",
        hosts.flatMap((host) => upstreamIds.get(host) ?? []),
      );

    for (const collection of collections)
      addAll(
        collection,
        changed(collection).map(({ key }) => key),
      );
    recordNames(serviceIds, bucketDifferences<Named>(previous.services, next.services));
    recordNames(upstreamIds, bucketDifferences<Named>(previous.upstreams, next.upstreams));

    for (const { key } of changed("listeners")) {
      const listener = next.listeners.get(key);
      const isMoved = place("listeners", key, listener ? new Set(listener.fleets ?? shared) : nowhere);
      if (!isMoved) continue;
      addAll("routes", routeListeners.leftsOf(key));
      addAll("certificates", certificateListeners.leftsOf(key));
    }
    const fleetsOfListeners = (names: readonly string[]) => unionOf(names.map((name) => fleetsOf("listeners", name)));

    for (const id of dirtyIn("routes")) {
      const route = next.routes.get(id);
      const listeners = route?._sluice?.listeners;
      routeListeners.set(id, new Set(listeners));
      const fleets = route ? (listeners ? fleetsOfListeners(listeners) : shared) : nowhere;
      const service = route?.service?.id;
      addServices(serviceUsers.set(`routes/${id}`, { fleets, used: service === undefined ? [] : [service] }));
      if (place("routes", id, fleets)) addAll("plugins", pluginRoutes.leftsOf(id));
    }
    for (const id of dirtyIn("plugins")) {
      const plugin = next.plugins.get(id);
      pluginRoutes.set(id, idsOf(plugin?.route));
      pluginServices.set(id, idsOf(plugin?.service));
      const fleets = plugin?.route ? fleetsOf("routes", plugin.route.id) : everywhere;
      addServices(serviceUsers.set(`plugins/${id}`, { fleets, used: mirrorsOf(plugin) }));
    }
    for (const id of dirtyIn("services")) {
      const service = next.services.get(id);
      const needed = unionOf([
        serviceUsers.fleetsOf(id),
        service?.name ? serviceUsers.fleetsOf(service.name) : nowhere,
      ]);
      const fleets = service ? (needed.size > 0 ? needed : shared) : nowhere;
      const key = `services/${id}`;
      addUpstreams(upstreamUsers.set(key, { fleets, used: service ? [service.host] : [] }));
      const used = [...idsOf(service?.client_certificate)];
      addAll("certificates", certificateUsers.set(key, { fleets, used }));
      if (place("services", id, fleets)) addAll("plugins", pluginServices.leftsOf(id));
    }
    for (const id of dirtyIn("upstreams")) {
      const upstream = next.upstreams.get(id);
      const needed = upstream ? upstreamUsers.fleetsOf(upstream.name) : nowhere;
      const fleets = upstream ? (needed.size > 0 ? needed : shared) : nowhere;
      const used = [...idsOf(upstream?.client_certificate)];
      addAll("certificates", certificateUsers.set(`upstreams/${id}`, { fleets, used }));
      if (place("upstreams", id, fleets)) addAll("targets", upstreamTargets.leftsOf(id));
    }
    for (const id of dirtyIn("targets")) {
      const upstream = idsOf(next.targets.get(id)?.upstream);
      upstreamTargets.set(id, upstream);
      place("targets", id, unionOf([...upstream].map((one) => fleetsOf("upstreams", one))));
    }
    for (const id of dirtyIn("plugins")) place("plugins", id, fleetsOfPlugin(next.plugins.get(id)));
    for (const id of dirtyIn("certificates")) {
      const certificate = next.certificates.get(id);
      const listeners = certificate?._sluice?.listeners;
      certificateListeners.set(id, new Set(listeners));
      const own = listeners ? fleetsOfListeners(listeners) : shared;
      const fleets = certificate ? unionOf([own, certificateUsers.fleetsOf(id)]) : nowhere;
      if (place("certificates", id, fleets)) addAll("snis", certificateSnis.leftsOf(id));
    }
    for (const id of dirtyIn("snis")) {
      const certificate = idsOf(next.snis.get(id)?.certificate);
      certificateSnis.set(id, certificate);
      place("snis", id, unionOf([...certificate].map((one) => fleetsOf("certificates", one))));
    }
    for (const collection of collections)
      if (!placed.has(collection))
        for (const id of dirtyIn(collection)) place(collection, id, next[collection].has(id) ? everywhere : nowhere);
    return moves;
  }

  /** A Plugin with a Route and a Service acts on requests to both, and can be where both are. */
  function fleetsOfPlugin(plugin: SnapshotPlugin | undefined): Fleets {
    if (!plugin) return nowhere;
    const route = plugin.route && fleetsOf("routes", plugin.route.id);
    const service = plugin.service && fleetsOf("services", plugin.service.id);
    return route && service ? intersectionOf(route, service) : (route ?? service ?? everywhere);
  }

  return { update, fleetsOf, entries: () => places.entries() };
}

/** The collections with rules of their own; the entities of all others are in every fleet. */
const placed: ReadonlySet<Collection> = new Set([
  "routes",
  "services",
  "upstreams",
  "targets",
  "plugins",
  "certificates",
  "snis",
]);

const idsOf = (reference: { readonly id: string } | null | undefined): ReadonlySet<string> =>
  new Set(reference ? [reference.id] : []);

function recordNames(ids: Map<string, string>, changes: readonly Difference<Named>[]): void {
  for (const { key, before } of changes) if (before?.name && ids.get(before.name) === key) ids.delete(before.name);
  for (const { key, after } of changes) if (after?.name) ids.set(after.name, key);
}

/** The names or ids of the Services that receive copies of the requests in the scope of a plugin request-mirror. */
function mirrorsOf(plugin: SnapshotPlugin | undefined): readonly string[] {
  if (plugin?.name !== "request-mirror") return [];
  const { mirrors = [] } = plugin.config as { readonly mirrors?: readonly { readonly service: string }[] };
  return mirrors.map(({ service }) => service);
}
