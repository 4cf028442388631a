/**
 * Translates the whole world into the document's items and everybody's problems. Pure but for its memory, which saves
 * work and keeps the last good Secret of a Certificate (last-secret.ts): else the same world gives the same translation.
 * Parents come before children, the older before the younger, and one bad resource never blocks the others.
 */
import { describeResourceViolation, type SluiceKind } from "@sluice/crds";
import { BucketMap, byHash, byId, type Collection, collections, type Endpoint } from "@sluice/model";
import type { Problem } from "../status/conditions.ts";
import type { TimeSliced } from "../time-slicing.ts";
import type { ClusterState } from "../watch/cluster-state.ts";
import { createAgeOrder } from "./age-order.ts";
import { backendEndpoints } from "./backend-endpoints.ts";
import { type ClaimInterests, createClaimInterests } from "./claim-interests.ts";
import { createClaimTable } from "./claims.ts";
import { type ClosedHosts, createClosedHosts } from "./closed-hosts.ts";
import { createEndpointSliceIndex, type EndpointSliceIndex } from "./endpoint-slice-index.ts";
import { createGrantIndex, type GrantIndex } from "./grant-index.ts";
import type { ResourceLookups } from "./lookups.ts";
import { outcomeOf, withOutcome } from "./outcome.ts";
import { createStandIns, reasonFor } from "./stand-in.ts";
import { type Item, type Owner, ownerKey, type Translation } from "./translation.ts";
import type { CachedTranslation, TranslatedEntity, TranslationCache } from "./translation-cache.ts";

/** Parents before children. */
export const kindOrder: readonly SluiceKind[] = ["Certificate", "Upstream", "Service", "Route", "Consumer", "Plugin"];

export const perCollection = <Value>(make: (collection: Collection) => Value): Readonly<Record<Collection, Value>> =>
  Object.fromEntries(collections.map((name) => [name, make(name)])) as Record<Collection, Value>;

/** What became of one resource. */
export interface TranslatedResource {
  readonly cached: CachedTranslation;
  /** Its creationTimestamp. */
  readonly createdAt: string | undefined;
  /**
   * Its first entity is served as it stands, and what is not served of the others has faults of its own: nothing in it
   * was decided by looking at other resources but those that it asked for and that are served themselves.
   */
  readonly isPlain: boolean;
}

/** What is wrong with an entity by itself. */
export const faultsOf = ({ violations }: TranslatedEntity): readonly Problem[] =>
  violations.map((violation) => {
    const { condition, reason } = violation;
    return { condition, reason, message: describeResourceViolation(violation) };
  });

/** A translation, and what has to be known to carry it on. */
export interface FullTranslation {
  readonly translation: Translation;
  /** By `ownerKey`. */
  readonly resources: Map<string, TranslatedResource>;
  readonly interests: ClaimInterests;
  readonly closedHosts: ClosedHosts;
  readonly slices: EndpointSliceIndex;
  readonly grants: GrantIndex;
}

export interface TranslateAllOptions {
  readonly cache: TranslationCache;
  readonly lookups: ResourceLookups;
}

/** The world must stay as it is until the last step. */
export type TranslateAll = (clusterState: ClusterState) => TimeSliced<FullTranslation>;

export function createTranslateAll({ cache, lookups }: TranslateAllOptions): TranslateAll {
  const standIns = createStandIns();
  const oldestFirst = new Map(
    kindOrder.map((kind) => [kind, createAgeOrder((resource) => lookups.idOf(resource) !== undefined)]),
  );

  return function* translateAll(clusterState) {
    const items = perCollection(() => new Map<string, Item>());
    const problems = new Map<string, Problem[]>();
    const owners = new Map<string, Owner>();
    const endpoints = new Map<string, readonly Endpoint[]>();
    /** Owners whose entity is in the document, as it stands or as a stand-in. */
    const served = new Set<string>();
    /** Owners of what answers 503 in the place of their entity. */
    const closed = new Set<string>();
    const translated = new Map<string, TranslatedResource>();
    const interests = createClaimInterests();
    const claims = createClaimTable(interests);
    const closedHosts = createClosedHosts();
    const slices = createEndpointSliceIndex(clusterState.EndpointSlice.values());
    const grants = createGrantIndex(clusterState.ReferenceGrant.values());
    const ask = lookups.askIn(clusterState, grants);
    /** Stand-ins come after all that is valid of their kind, so that they take nothing from it. */
    let postponed: (() => void)[] = [];

    function addProblem(owner: Owner, problem: Problem): void {
      const key = ownerKey(owner);
      const own = problems.get(key);
      if (own) own.push(problem);
      else problems.set(key, [problem]);
    }

    function addFaults(owner: Owner, entity: TranslatedEntity): void {
      for (const problem of faultsOf(entity)) addProblem(owner, problem);
    }

    /** Why something that the resource refers to is not served, though it is there; null when all is. */
    function unserved(owner: Owner, { references: targets }: TranslatedEntity): Problem | null {
      for (const { kind, namespace, name, key } of targets) {
        if (served.has(key)) continue;
        const isOwn = namespace === owner.namespace;
        // What is wrong in another namespace is for those to read who may read there.
        const why = isOwn ? problems.get(key)?.[0]?.message : undefined;
        const message = `the ${kind} ${isOwn ? name : `${namespace}/${name}`} is not served${why ? `: ${why}` : ""}`;
        return { condition: "ResolvedRefs", reason: `${kind}NotServed`, message };
      }
      return null;
    }

    function serve(collection: Collection, item: Item): void {
      items[collection].set(item.entity.id, item);
    }

    /** What is left of a route that cannot be served as it stands: it answers 503. */
    function standInForRoute(owner: Owner, original: TranslatedEntity, reason: string): void {
      const entity = standIns.route(original, reason);
      if (!entity) return;
      claims.reserve({ owner, collection: "routes", entity });
      postponed.push(() => {
        if (claims.claim({ owner, collection: "routes", entity })) return;
        serve("routes", { owner, entity });
        served.add(ownerKey(owner));
        closed.add(ownerKey(owner));
      });
    }

    /** What is left of a plugin that protects: its requests are answered 503, unless another protects them already. */
    function standInForPlugin(owner: Owner, original: TranslatedEntity, reason: string): void {
      postponed.push(() => {
        // What it is for is not served, and another resource's entity may have the id.
        if (unserved(owner, original)) return;
        const isTaken = (id: string) => items.plugins.has(id);
        const entity = standIns.plugin(original, { owner, reason, isTaken });
        if (!entity) return;
        const holder = claims.holderOfScope({ owner, collection: "plugins", entity });
        if (holder !== undefined && items.plugins.get(holder)?.entity.enabled !== false) return;
        // One that is switched off protects nothing, and two in one place are not allowed.
        if (holder !== undefined) items.plugins.delete(holder);
        claims.overrideScope({ owner, collection: "plugins", entity });
        serve("plugins", { owner, entity });
        closed.add(ownerKey(owner));
      });
    }

    function standIn(owner: Owner, entity: TranslatedEntity, messages: readonly string[]): void {
      const reason = reasonFor(owner, messages);
      if (entity.collection === "routes") standInForRoute(owner, entity, reason);
      if (entity.collection === "plugins") standInForPlugin(owner, entity, reason);
    }

    /** Serves one entity of a resource, or says why not. True when it is served as it stands. */
    function serveOrReport(owner: Owner, entity: TranslatedEntity): boolean {
      const { collection, violations, validItem } = entity;
      addFaults(owner, entity);
      if (!validItem) {
        standIn(owner, entity, violations.slice(0, 3).map(describeResourceViolation));
        return false;
      }
      const blocked =
        unserved(owner, entity) ?? (collection === "services" ? closedHosts.problemOf(owner, entity) : null);
      if (blocked) {
        addProblem(owner, blocked);
        standIn(owner, entity, [blocked.message]);
        return false;
      }
      const conflict = claims.claim({ owner, collection, entity: validItem.entity });
      if (conflict) {
        addProblem(owner, { condition: "Accepted", reason: "Conflicted", message: conflict });
        // The requests of a route that lost are the older one's; those of a plugin that lost may be open.
        if (collection === "plugins") standIn(owner, entity, [conflict]);
        return false;
      }
      serve(collection, validItem);
      return true;
    }

    /** What belongs to an entity that is not served. Its server names stay its own. */
    function leaveOut(owner: Owner, entity: TranslatedEntity): void {
      addFaults(owner, entity);
      if (entity.collection === "snis" && entity.validItem)
        claims.reserve({ owner, collection: "snis", entity: entity.validItem.entity });
    }

    for (const kind of kindOrder) {
      for (const resource of oldestFirst.get(kind)?.(clusterState[kind]) ?? []) {
        yield;
        const cached = cache.translateOne(kind, resource, ask);
        const { owner, key, entities } = cached;
        owners.set(key, owner);
        // The first piece is the resource's main one: without it the others (keys, targets, server names) are nothing.
        let open = true;
        let isPlain = true;
        for (const [index, entity] of entities.entries()) {
          if (!open) leaveOut(owner, entity);
          else if (serveOrReport(owner, entity)) {
            if (index > 0) continue;
            served.add(key);
            if (kind === "Upstream") closedHosts.open(entity);
            if (entity.backend)
              endpoints.set(entity.item.id, backendEndpoints(entity.backend, { clusterState, slices }));
          } else if (index === 0) {
            open = false;
            isPlain = false;
            if (kind === "Upstream") closedHosts.close(owner, entity, problems.get(key)?.[0]?.message);
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
      if (part) reported.set(key, withOutcome(own, outcomeOf(part, fate)));
    }
    const translation: Translation = {
      items: perCollection((collection) => new BucketMap<Item>(byId).with(items[collection])),
      endpoints: new BucketMap<readonly Endpoint[]>(byId).with(endpoints),
      problems: new BucketMap<readonly Problem[]>(byHash).with(reported),
      owners: new BucketMap<Owner>(byHash).with(owners),
    };
    return { translation, resources: translated, interests, closedHosts, slices, grants };
  };
}
