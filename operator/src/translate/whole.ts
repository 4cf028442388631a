/**
 * Translates the whole world into the document's items and everybody's problems. Pure but for its memory, which saves
 * work and keeps the last good Secret of a Certificate (last-secret.ts): else the same world gives the same translation.
 * Parents come before children, the older before the younger, and one bad resource never blocks the others.
 */
import { describeResourceViolation, type SluiceKind } from "@sluice/crds";
import { BucketMap, byHash, byId, type Collection, collections, type Endpoint } from "@sluice/model";
import type { Problem } from "../status/conditions.ts";
import type { Steps } from "../turns.ts";
import type { World } from "../world/world.ts";
import { addressesOf } from "./addresses.ts";
import { createAgeOrder } from "./age.ts";
import { createClaims } from "./claims.ts";
import { type ClosedHosts, createClosedHosts } from "./closed-hosts.ts";
import { createGrants, type Grants } from "./grants.ts";
import type { Lookups } from "./lookups.ts";
import { outcomeOf, withOutcome } from "./outcome.ts";
import { createParties, type Parties } from "./parties.ts";
import type { Memory, Piece, Remembered } from "./remember.ts";
import { createSlices, type Slices } from "./slices.ts";
import { createStandIns, reasonFor } from "./stand-in.ts";
import { type Item, type Owner, ownerKey, type Translation } from "./translation.ts";

/** Parents before children. */
export const order: readonly SluiceKind[] = ["Certificate", "Upstream", "Service", "Route", "Consumer", "Plugin"];

export const perCollection = <Value>(make: (collection: Collection) => Value): Readonly<Record<Collection, Value>> =>
  Object.fromEntries(collections.map((name) => [name, make(name)])) as Record<Collection, Value>;

/** What became of one resource. */
export interface Part {
  readonly remembered: Remembered;
  /** Its creationTimestamp. */
  readonly born: string | undefined;
  /**
   * Its first entity is served as it stands, and what is not served of the others has faults of its own: nothing in it
   * was decided by looking at other resources but those that it asked for and that are served themselves.
   */
  readonly isPlain: boolean;
}

/** What is wrong with an entity by itself. */
export const faultsOf = ({ violations }: Piece): readonly Problem[] =>
  violations.map((violation) => {
    const { condition, reason } = violation;
    return { condition, reason, message: describeResourceViolation(violation) };
  });

/** A translation, and what has to be known to carry it on. */
export interface Whole {
  readonly translation: Translation;
  /** By `ownerKey`. */
  readonly parts: Map<string, Part>;
  readonly parties: Parties;
  readonly closedHosts: ClosedHosts;
  readonly slices: Slices;
  readonly grants: Grants;
}

export interface WholeOptions {
  readonly memory: Memory;
  readonly lookups: Lookups;
}

/** The world must stay as it is until the last step. */
export type TranslateWhole = (world: World) => Steps<Whole>;

export function createWhole({ memory, lookups }: WholeOptions): TranslateWhole {
  const standIns = createStandIns();
  const oldestFirst = new Map(
    order.map((kind) => [kind, createAgeOrder((resource) => lookups.idOf(resource) !== undefined)]),
  );

  return function* translateWorld(world) {
    const items = perCollection(() => new Map<string, Item>());
    const problems = new Map<string, Problem[]>();
    const owners = new Map<string, Owner>();
    const endpoints = new Map<string, readonly Endpoint[]>();
    /** Owners whose entity is in the document, as it stands or as a stand-in. */
    const served = new Set<string>();
    /** Owners of what answers 503 in the place of their entity. */
    const closed = new Set<string>();
    const parts = new Map<string, Part>();
    const parties = createParties();
    const claims = createClaims(parties);
    const closedHosts = createClosedHosts();
    const slices = createSlices(world.EndpointSlice.values());
    const grants = createGrants(world.ReferenceGrant.values());
    const ask = lookups.in(world, grants);
    /** Stand-ins come after all that is valid of their kind, so that they take nothing from it. */
    let postponed: (() => void)[] = [];

    function complain(owner: Owner, problem: Problem): void {
      const key = ownerKey(owner);
      const own = problems.get(key);
      if (own) own.push(problem);
      else problems.set(key, [problem]);
    }

    function complainOfFaults(owner: Owner, piece: Piece): void {
      for (const problem of faultsOf(piece)) complain(owner, problem);
    }

    /** Why something that the resource refers to is not served, though it is there; null when all is. */
    function unserved(owner: Owner, { targets }: Piece): Problem | null {
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
    function standInForRoute(owner: Owner, piece: Piece, reason: string): void {
      const entity = standIns.route(piece, reason);
      if (!entity) return;
      claims.reserve({ owner, collection: "routes", entity });
      postponed.push(() => {
        if (claims.take({ owner, collection: "routes", entity })) return;
        serve("routes", { owner, entity });
        served.add(ownerKey(owner));
        closed.add(ownerKey(owner));
      });
    }

    /** What is left of a plugin that protects: its requests are answered 503, unless another protects them already. */
    function standInForPlugin(owner: Owner, piece: Piece, reason: string): void {
      postponed.push(() => {
        // What it is for is not served, and another resource's entity may have the id.
        if (unserved(owner, piece)) return;
        const isTaken = (id: string) => items.plugins.has(id);
        const entity = standIns.plugin(piece, { owner, reason, isTaken });
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

    function standIn(owner: Owner, piece: Piece, messages: readonly string[]): void {
      const reason = reasonFor(owner, messages);
      if (piece.collection === "routes") standInForRoute(owner, piece, reason);
      if (piece.collection === "plugins") standInForPlugin(owner, piece, reason);
    }

    /** Serves one entity of a resource, or says why not. True when it is served as it stands. */
    function take(owner: Owner, piece: Piece): boolean {
      const { collection, violations, asItem } = piece;
      complainOfFaults(owner, piece);
      if (!asItem) {
        standIn(owner, piece, violations.slice(0, 3).map(describeResourceViolation));
        return false;
      }
      const blocked =
        unserved(owner, piece) ?? (collection === "services" ? closedHosts.problemOf(owner, piece) : null);
      if (blocked) {
        complain(owner, blocked);
        standIn(owner, piece, [blocked.message]);
        return false;
      }
      const taken = claims.take({ owner, collection, entity: asItem.entity });
      if (taken) {
        complain(owner, { condition: "Accepted", reason: "Conflicted", message: taken });
        // The requests of a route that lost are the older one's; those of a plugin that lost may be open.
        if (collection === "plugins") standIn(owner, piece, [taken]);
        return false;
      }
      serve(collection, asItem);
      return true;
    }

    /** What belongs to an entity that is not served. Its server names stay its own. */
    function leaveOut(owner: Owner, piece: Piece): void {
      complainOfFaults(owner, piece);
      if (piece.collection === "snis" && piece.asItem)
        claims.reserve({ owner, collection: "snis", entity: piece.asItem.entity });
    }

    for (const kind of order) {
      for (const resource of oldestFirst.get(kind)?.(world[kind]) ?? []) {
        yield;
        const remembered = memory.translateOne(kind, resource, ask);
        const { owner, key, pieces } = remembered;
        owners.set(key, owner);
        // The first piece is the resource's main one: without it the others (keys, targets, server names) are nothing.
        let open = true;
        let isPlain = true;
        for (const [index, piece] of pieces.entries()) {
          if (!open) leaveOut(owner, piece);
          else if (take(owner, piece)) {
            if (index > 0) continue;
            served.add(key);
            if (kind === "Upstream") closedHosts.open(piece);
            if (piece.backend) endpoints.set(piece.item.id, addressesOf(piece.backend, { world, slices }));
          } else if (index === 0) {
            open = false;
            isPlain = false;
            if (kind === "Upstream") closedHosts.close(owner, piece, problems.get(key)?.[0]?.message);
          } else if (piece.asItem) isPlain = false;
        }
        parts.set(key, { remembered, born: resource.metadata.creationTimestamp, isPlain });
      }
      for (const run of postponed) run();
      postponed = [];
    }
    memory.keepOnly(owners);
    const told = new Map<string, readonly Problem[]>(problems);
    for (const [key, own] of problems) {
      const part = parts.get(key);
      const fate = { isServed: served.has(key), isClosed: closed.has(key) };
      if (part) told.set(key, withOutcome(own, outcomeOf(part, fate)));
    }
    const translation: Translation = {
      items: perCollection((collection) => new BucketMap<Item>(byId).with(items[collection])),
      endpoints: new BucketMap<readonly Endpoint[]>(byId).with(endpoints),
      problems: new BucketMap<readonly Problem[]>(byHash).with(told),
      owners: new BucketMap<Owner>(byHash).with(owners),
    };
    return { translation, parts, parties, closedHosts, slices, grants };
  };
}
