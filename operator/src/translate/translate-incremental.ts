/**
 * Continues a translation: translates a few changed resources at a cost that does not depend on how many others there
 * are. Where the result depends on more than the changed resources and their dependents (conflicts, resources that are
 * not served, stand-ins), the result is undefined, and everything is translated again.
 */

import { isDeepStrictEqual } from "node:util";
import {
  DependencyIndex,
  entityNamesKey,
  namespacedName,
  parseRefKey,
  type Resource,
  type ResourceLookups,
  type SluiceKind,
  type TranslationCache,
} from "@sluice/crds";
import {
  type BucketMap,
  type EndpointLists,
  type EndpointSection,
  perCollection,
  perEndpointSection,
} from "@sluice/model";
import type { Problem } from "../status/conditions.ts";
import type { TimeSliced } from "../time-slicing.ts";
import type { ClusterState } from "../watch/cluster-state.ts";
import { servedOutcome, withOutcome } from "./fallback/outcome.ts";
import { backendEndpoints } from "./references/backend-endpoints.ts";
import { type FullTranslation, faultsOf, kindOrder, type TranslatedResource } from "./translate-all.ts";
import type { EntityTranslation, ResourceTranslation } from "./translate-resource.ts";
import type { Owner, TranslatedEndpoints, Translation, TranslationItem } from "./translation.ts";

/** The key on which the addresses of a core Service (`namespace/name`) depend. */
const endpointSlicesKey = (service: string): string => `EndpointSlice/${service}`;

/**
 * The keys of everything that a resource's translation depends on: its references, and the EndpointSlices of its core
 * Services.
 */
function dependenciesOf({ cached: { dependencies: asked, entities } }: TranslatedResource): ReadonlySet<string> {
  const backends = entities[0]?.backends;
  if (!backends) return asked;
  return new Set([...asked, ...backends.map((one) => endpointSlicesKey(namespacedName(one.namespace, one.name)))]);
}

interface ResourceChange {
  readonly key: string;
  readonly before: TranslatedResource | undefined;
  readonly after: TranslatedResource | undefined;
}

export function createTranslateIncremental(
  last: FullTranslation,
  cache: TranslationCache<ResourceTranslation>,
  lookups: ResourceLookups,
) {
  const { resources, interests, unservedUpstreams, slices, grants, serviceRoutes } = last;
  let { translation } = last;
  const index = new DependencyIndex();
  for (const [key, part] of resources) index.add(key, dependenciesOf(part));

  /** The keys of all changed dependencies. Updates the indexes of EndpointSlices, ReferenceGrants and Routes. */
  function* changedDependencies(changed: ReadonlySet<string>, clusterState: ClusterState): Generator<string> {
    for (const key of changed) {
      const { kind, key: name } = parseRefKey(key);
      if (kind === "EndpointSlice")
        for (const service of slices.set(name, clusterState.EndpointSlice.get(name))) yield endpointSlicesKey(service);
      else if (kind === "ReferenceGrant") yield* grants.set(name, clusterState.ReferenceGrant.get(name));
      else {
        yield key;
        if (kind === "GraphQLDocuments") yield entityNamesKey(kind);
        if (kind === "Route") yield* serviceRoutes.set(name, clusterState.Route.get(name));
      }
    }
  }

  /** The keys of all custom resources to translate again. */
  function affectedBy(changed: ReadonlySet<string>, clusterState: ClusterState): ReadonlySet<string> {
    const hasNewId = (key: string): boolean => {
      const { kind, key: name } = parseRefKey(key);
      return (
        resources.get(key)?.cached.entities[0]?.item.id !== lookups.idOf(clusterState[kind as SluiceKind].get(name))
      );
    };
    return index.affectedBy(changedDependencies(changed, clusterState), hasNewId);
  }

  function translateNow(resource: Resource | undefined, clusterState: ClusterState): TranslatedResource | undefined {
    if (!resource || lookups.idOf(resource) === undefined) return undefined;
    const cached = cache.translate(resource, lookups.lookupsIn(clusterState, grants, serviceRoutes));
    return { cached, createdAt: resource.metadata.creationTimestamp, isPlain: true };
  }

  /**
   * Translates the changes in steps. The result is undefined when everything has to be translated again. The cluster
   * state must not change before the last step.
   */
  return function* translateIncremental(
    clusterState: ClusterState,
    changed: ReadonlySet<string>,
  ): TimeSliced<Translation | undefined> {
    const items = perCollection(() => new Map<string, TranslationItem | undefined>());
    const endpoints = perEndpointSection(() => new Map<string, EndpointLists[EndpointSection] | undefined>());
    const problems = new Map<string, readonly Problem[] | undefined>();
    const owners = new Map<string, Owner | undefined>();

    function serveAddresses(entity: EntityTranslation): void {
      const addresses = backendEndpoints(entity, { coreServices: clusterState.CoreService, slices });
      if (!addresses) return;
      const { section, list } = addresses;
      const { id } = entity.item;
      const before = translation[section].get(id);
      endpoints[section].set(id, isDeepStrictEqual(before, list) ? before : list);
    }

    /** Returns false when the removal affects another resource, for example one that claims the same name. */
    function removeResource(key: string, part: TranslatedResource): boolean {
      const { owner, entities } = part.cached;
      for (const { collection, item, validItem } of entities) {
        if (!validItem) continue;
        if (!interests.removeExclusive({ owner, collection, entity: validItem.entity })) return false;
        if (collection === "upstreams" && unservedUpstreams.has(item.name)) return false;
        items[collection].set(validItem.entity.id, undefined);
      }
      const [main] = entities;
      // An upstream and a service may have the same id.
      if (main?.backends)
        endpoints[main.collection === "upstreams" ? "upstream_endpoints" : "endpoints"].set(main.item.id, undefined);
      problems.set(key, undefined);
      owners.set(key, undefined);
      resources.delete(key);
      index.remove(key, dependenciesOf(part));
      return true;
    }

    const isServed = ({ references: targets }: EntityTranslation): boolean =>
      targets.every(({ key }) => resources.get(key)?.isPlain);

    /** Returns false when the resource itself is not served, or when its claims affect another resource. */
    function addResource(key: string, part: TranslatedResource): boolean {
      const { owner, entities } = part.cached;
      const faults: Problem[] = [];
      for (const [index, piece] of entities.entries()) {
        const { collection, item, validItem } = piece;
        if (!validItem && index === 0) return false;
        faults.push(...faultsOf(piece));
        if (!validItem) continue;
        if (!isServed(piece) || !interests.addExclusive({ owner, collection, entity: validItem.entity })) return false;
        if (collection === "services" && unservedUpstreams.has(item.host)) return false;
        if (collection === "upstreams" && unservedUpstreams.has(item.name)) return false;
        items[collection].set(validItem.entity.id, validItem);
        if (index === 0) serveAddresses(piece);
      }
      if (faults.length > 0) {
        const outcome = servedOutcome(part, { isServed: true, isClosed: false });
        problems.set(key, withOutcome(faults, outcome));
      }
      owners.set(key, owner);
      resources.set(key, part);
      index.add(key, dependenciesOf(part));
      return true;
    }

    const pending: ResourceChange[] = [];
    const byKind = Map.groupBy(affectedBy(changed, clusterState), (key) => parseRefKey(key).kind);
    for (const kind of kindOrder) {
      for (const key of byKind.get(kind) ?? []) {
        yield;
        const before = resources.get(key);
        const after = translateNow(clusterState[kind].get(parseRefKey(key).key), clusterState);
        if (before && !before.isPlain) return undefined;
        if (before && after && isSame(before, after)) for (const piece of before.cached.entities) serveAddresses(piece);
        else if (before ?? after) pending.push({ key, before, after });
        // The resource does not exist, but a version of it may have been restored from saved state.
        else cache.forget(key);
      }
    }
    // Removals come first: an added entity may have the name of a removed one.
    for (const { key, before } of pending) {
      yield;
      if (before && !removeResource(key, before)) return undefined;
    }
    for (const { key, after } of pending) {
      yield;
      if (after && !addResource(key, after)) return undefined;
    }
    for (const { key, after } of pending) if (!after) cache.forget(key);
    translation = {
      items: perCollection((collection) => translation.items[collection].with(items[collection])),
      ...(perEndpointSection((section) => {
        const before: BucketMap<EndpointLists[EndpointSection]> = translation[section];
        return before.with(endpoints[section]);
      }) as TranslatedEndpoints),
      problems: translation.problems.with(problems),
      owners: translation.owners.with(owners),
    };
    return translation;
  };
}

const isSame = (one: TranslatedResource, other: TranslatedResource): boolean =>
  one.cached === other.cached && one.createdAt === other.createdAt;
