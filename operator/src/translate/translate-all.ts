/**
 * Translates the complete cluster state into the document's items and the problems of all resources. Pure except for
 * the cache, which saves work and keeps the last valid Secret of a Certificate (fallback/last-valid.ts). Parents come
 * before children and older resources before younger ones. One invalid resource never blocks the others.
 */
import {
  createAgeOrder,
  describeResourceViolation,
  type ResourceLookups,
  refKey,
  type SluiceKind,
  type TranslationCache,
} from "@sluice/crds";
import {
  BucketMap,
  type Collection,
  type EndpointLists,
  type EndpointSection,
  hashOfId,
  hashOfText,
  perCollection,
  perEndpointSection,
} from "@sluice/model";
import { type Problem, REFERENCE_NOT_SERVED } from "../status/conditions.ts";
import type { TimeSliced } from "../time-slicing.ts";
import type { ClusterState } from "../watch/cluster-state.ts";
import { type ClaimInterests, createClaimInterests, createClaimTable } from "./conflicts/claims.ts";
import { servedOutcome, withOutcome } from "./fallback/outcome.ts";
import { createStandIns, unavailableReasonFor } from "./fallback/unavailable-entities.ts";
import { createUnservedUpstreams, type UnservedUpstreams } from "./fallback/unserved-upstreams.ts";
import { backendEndpoints } from "./references/backend-endpoints.ts";
import { createEndpointSliceIndex, type EndpointSliceIndex } from "./references/endpoint-slice-index.ts";
import { createGrantIndex, type GrantIndex } from "./references/grant-index.ts";
import { createServiceRouteIndex, type ServiceRouteIndex } from "./references/service-route-index.ts";
import type { EntityTranslation, ResourceTranslation } from "./translate-resource.ts";
import type { Owner, TranslatedEndpoints, Translation, TranslationItem } from "./translation.ts";

/** The order in which kinds are translated: each kind comes after the kinds that its resources refer to. */
export const kindOrder: readonly SluiceKind[] = [
  "Certificate",
  "CACertificate",
  "Upstream",
  "Service",
  "Route",
  "Vault",
  "GraphQLDocuments",
  "ConsumerGroup",
  "Consumer",
  "Plugin",
];

export interface TranslatedResource {
  readonly cached: ResourceTranslation;
  readonly createdAt: string | undefined;
  /**
   * Whether the resource's first entity is served, not replaced by a stand-in, and each of its other entities is either
   * served or has violations of its own. Such a resource depends only on its references, all of which are served.
   */
  readonly isPlain: boolean;
}

/** The problems that an entity has by itself, without conflicts and references that are not served. */
export const faultsOf = ({ violations }: EntityTranslation): readonly Problem[] =>
  violations.map((violation) => {
    const { condition, reason, isWarning } = violation;
    return { condition, reason, message: describeResourceViolation(violation), ...(isWarning && { isWarning }) };
  });

/** A translation, and the state from which it is continued incrementally. */
export interface FullTranslation {
  readonly translation: Translation;
  /** By `refKey`. */
  readonly resources: Map<string, TranslatedResource>;
  readonly interests: ClaimInterests;
  readonly unservedUpstreams: UnservedUpstreams;
  readonly slices: EndpointSliceIndex;
  readonly grants: GrantIndex;
  readonly serviceRoutes: ServiceRouteIndex;
}

/** Returns a function that translates everything in steps. The cluster state must not change before the last step. */
export function createTranslateAll(cache: TranslationCache<ResourceTranslation>, lookups: ResourceLookups) {
  const standIns = createStandIns();
  const oldestFirst = new Map(
    kindOrder.map((kind) => [kind, createAgeOrder((resource) => lookups.idOf(resource) !== undefined)]),
  );

  return function* translateAll(clusterState: ClusterState): TimeSliced<FullTranslation> {
    const items = perCollection(() => new Map<string, TranslationItem>());
    const problems = new Map<string, Problem[]>();
    const owners = new Map<string, Owner>();
    const endpoints = perEndpointSection(() => new Map<string, EndpointLists[EndpointSection]>());
    /** The keys of owners whose first entity is in the document, itself or, for a Route, as a stand-in. */
    const served = new Set<string>();
    /** The keys of owners whose first entity is replaced by a stand-in that answers 503. */
    const closed = new Set<string>();
    const translated = new Map<string, TranslatedResource>();
    const interests = createClaimInterests();
    const claims = createClaimTable(interests);
    const unservedUpstreams = createUnservedUpstreams();
    const slices = createEndpointSliceIndex(clusterState.EndpointSlice.values());
    const grants = createGrantIndex(clusterState.ReferenceGrant.values());
    const serviceRoutes = createServiceRouteIndex(
      clusterState.Route.values(),
      (route) => lookups.idOf(route) !== undefined,
    );
    const found = lookups.lookupsIn(clusterState, grants, serviceRoutes);
    /**
     * Functions that add the stand-ins for resources of a kind. They run after all valid entities of the kind, so that
     * the valid entities claim first.
     */
    let postponed: (() => void)[] = [];

    function addProblem(owner: Owner, problem: Problem): void {
      const key = refKey(owner);
      const own = problems.get(key);
      if (own) own.push(problem);
      else problems.set(key, [problem]);
    }

    function addFaults(owner: Owner, entity: EntityTranslation): void {
      for (const problem of faultsOf(entity)) addProblem(owner, problem);
    }

    /** The problem with the first reference to a resource that is not served; null when all references are served. */
    function unserved(owner: Owner, { references: targets }: EntityTranslation): Problem | null {
      for (const { kind, namespace, name, key } of targets) {
        if (served.has(key)) continue;
        const isOwn = namespace === owner.namespace;
        // Problems in another namespace are visible only to users who may read there.
        const why = isOwn ? problems.get(key)?.[0]?.message : undefined;
        const message = `the ${kind} ${isOwn ? name : `${namespace}/${name}`} is not served${why ? `: ${why}` : ""}`;
        return { condition: "ResolvedRefs", reason: `${kind}${REFERENCE_NOT_SERVED}`, message };
      }
      return null;
    }

    function serve(collection: Collection, item: TranslationItem): void {
      items[collection].set(item.entity.id, item);
    }

    /** Adds a stand-in that answers 503 in place of a route that cannot be served. */
    function standInForRoute(owner: Owner, original: EntityTranslation, reason: string): void {
      const entity = standIns.route(original, reason);
      if (!entity) return;
      claims.reserve({ owner, collection: "routes", entity });
      postponed.push(() => {
        if (claims.claim({ owner, collection: "routes", entity })) return;
        serve("routes", { owner, entity });
        served.add(refKey(owner));
        closed.add(refKey(owner));
      });
    }

    /**
     * Replaces a plugin that may protect by a stand-in: requests in its scope are answered with 503, unless an enabled
     * plugin with the same name and scope protects them.
     */
    function standInForPlugin(owner: Owner, original: EntityTranslation, reason: string): void {
      postponed.push(() => {
        // A target that is not served has no requests, and its id may be the id of another resource's entity.
        if (unserved(owner, original)) return;
        const isTaken = (id: string) => items.plugins.has(id);
        const entity = standIns.plugin(original, { owner, reason, isTaken });
        if (!entity) return;
        const holder = claims.holderOfScope({ owner, collection: "plugins", entity });
        if (holder !== undefined && items.plugins.get(holder)?.entity.enabled !== false) return;
        // A disabled plugin protects nothing, and two plugins with the same scope are not allowed.
        if (holder !== undefined) items.plugins.delete(holder);
        claims.overrideScope({ owner, collection: "plugins", entity });
        serve("plugins", { owner, entity });
        closed.add(refKey(owner));
      });
    }

    function standIn(owner: Owner, entity: EntityTranslation, messages: readonly string[]): void {
      const reason = unavailableReasonFor(owner, messages);
      if (entity.collection === "routes") standInForRoute(owner, entity, reason);
      if (entity.collection === "plugins") standInForPlugin(owner, entity, reason);
    }

    /** Serves one entity of a resource, or adds the problem. Returns whether the entity itself is served. */
    function serveOrReport(owner: Owner, entity: EntityTranslation): boolean {
      const { collection, violations, validItem } = entity;
      addFaults(owner, entity);
      if (!validItem) {
        standIn(owner, entity, violations.slice(0, 3).map(describeResourceViolation));
        return false;
      }
      const blocked =
        unserved(owner, entity) ?? (collection === "services" ? unservedUpstreams.problemOf(owner, entity) : null);
      if (blocked) {
        addProblem(owner, blocked);
        standIn(owner, entity, [blocked.message]);
        return false;
      }
      const conflict = claims.claim({ owner, collection, entity: validItem.entity });
      if (conflict) {
        addProblem(owner, { condition: "Accepted", reason: "Conflicted", message: conflict });
        // The requests of a conflicting route belong to the older route. Requests in the scope of a conflicting plugin
        // may be unprotected.
        if (collection === "plugins") standIn(owner, entity, [conflict]);
        return false;
      }
      serve(collection, validItem);
      return true;
    }

    /** Leaves out an entity of a resource whose first entity is not served. The name of an SNI stays reserved. */
    function leaveOut(owner: Owner, entity: EntityTranslation): void {
      addFaults(owner, entity);
      if (entity.collection === "snis" && entity.validItem)
        claims.reserve({ owner, collection: "snis", entity: entity.validItem.entity });
    }

    for (const kind of kindOrder) {
      for (const resource of oldestFirst.get(kind)?.(clusterState[kind]) ?? []) {
        yield;
        const cached = cache.translate(resource, found);
        const { owner, key, entities } = cached;
        owners.set(key, owner);
        // The first entity is the main one. Without it, the others (keys, targets, SNIs) have no effect.
        let open = true;
        let isPlain = true;
        for (const [index, entity] of entities.entries()) {
          if (!open) leaveOut(owner, entity);
          else if (serveOrReport(owner, entity)) {
            if (index > 0) continue;
            served.add(key);
            if (kind === "Upstream") unservedUpstreams.addServed(entity);
            const addresses = backendEndpoints(entity, { coreServices: clusterState.CoreService, slices });
            if (addresses) endpoints[addresses.section].set(entity.item.id, addresses.list);
          } else if (index === 0) {
            open = false;
            isPlain = false;
            if (kind === "Upstream") unservedUpstreams.addUnserved(owner, entity, problems.get(key)?.[0]?.message);
          } else if (entity.validItem) isPlain = false;
        }
        translated.set(key, { cached, createdAt: resource.metadata.creationTimestamp, isPlain });
      }
      for (const run of postponed) run();
      postponed = [];
    }
    cache.keepOnly(owners);
    const reported = new Map<string, readonly Problem[]>(problems);
    for (const [key, own] of problems) {
      const part = translated.get(key);
      const fate = { isServed: served.has(key), isClosed: closed.has(key) };
      if (part) reported.set(key, withOutcome(own, servedOutcome(part, fate)));
    }
    const translation: Translation = {
      items: perCollection((collection) => new BucketMap<TranslationItem>(hashOfId).with(items[collection])),
      ...(perEndpointSection((section) => new BucketMap(hashOfId).with(endpoints[section])) as TranslatedEndpoints),
      problems: new BucketMap<readonly Problem[]>(hashOfText).with(reported),
      owners: new BucketMap<Owner>(hashOfText).with(owners),
    };
    return { translation, resources: translated, interests, unservedUpstreams, slices, grants, serviceRoutes };
  };
}
