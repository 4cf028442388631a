/**
 * Translates the world into the document's items and everybody's problems. Pure but for its memory, which only saves
 * work: the same world gives the same translation. Parents come before children, the older before the younger, and one
 * bad resource never blocks the others.
 */
import {
  classOf,
  describeResourceViolation,
  endpointsOf,
  identityOf,
  keyOf,
  type Resource,
  type SluiceKind,
  slicesByService,
} from "@sluice/crds";
import { type Collection, collections, type Endpoint } from "@sluice/model";
import type { Problem } from "../status/conditions.ts";
import type { World } from "../world/world.ts";
import { createAgeOrder } from "./age.ts";
import { createClaims } from "./claims.ts";
import { createClosedHosts } from "./closed-hosts.ts";
import { createMemory, type Piece } from "./remember.ts";
import { createStandIns, reasonFor } from "./stand-in.ts";
import { type Item, type Owner, ownerKey, type Translation } from "./translation.ts";

export interface TranslatorOptions {
  readonly homeNamespace: string;
  /** Resources with another spec.class belong to another Sluice. */
  readonly class: string;
}

/** Parents before children. */
const order: readonly SluiceKind[] = ["Certificate", "Upstream", "Service", "Route", "Consumer", "Plugin"];

export function createTranslator(options: TranslatorOptions): (world: World) => Translation {
  const memory = createMemory(options.homeNamespace);
  const standIns = createStandIns();
  const oldestFirst = new Map(order.map((kind) => [kind, createAgeOrder(options.class)]));
  const ids = new WeakMap<Resource, string>();

  function idOf(resource: Resource): string {
    const known = ids.get(resource);
    if (known !== undefined) return known;
    const { id } = identityOf(resource, options.homeNamespace);
    ids.set(resource, id);
    return id;
  }

  return function translateWorld(world) {
    const items = Object.fromEntries(collections.map((name) => [name, new Map()])) as Record<
      Collection,
      Map<string, Item>
    >;
    const problems = new Map<string, Problem[]>();
    const owners = new Map<string, Owner>();
    const endpoints = new Map<string, readonly Endpoint[]>();
    /** Owners whose entity is in the document, as it stands or as a stand-in. */
    const served = new Set<string>();
    const claims = createClaims();
    const closedHosts = createClosedHosts();
    const slices = slicesByService(world.EndpointSlice.values());
    /** Stand-ins come after all that is valid of their kind, so that they take nothing from it. */
    let postponed: (() => void)[] = [];

    const ask = {
      resolve(kind: SluiceKind, namespace: string, name: string): string | undefined {
        const resource = world[kind].get(keyOf(namespace, name));
        if (!resource || classOf(resource) !== options.class) return undefined;
        return idOf(resource);
      },
      read: (kind: "Secret" | "CoreService", namespace: string, name: string) =>
        world[kind].get(keyOf(namespace, name)),
    };

    function complain(owner: Owner, problem: Problem): void {
      const key = ownerKey(owner);
      const own = problems.get(key);
      if (own) own.push(problem);
      else problems.set(key, [problem]);
    }

    function complainOfFaults(owner: Owner, { violations }: Piece): void {
      for (const violation of violations) {
        const { condition, reason } = violation;
        complain(owner, { condition, reason, message: describeResourceViolation(violation) });
      }
    }

    /** Why something that the resource refers to is not served, though it is there; null when all is. */
    function unserved({ targets }: Piece): Problem | null {
      for (const { kind, name, key } of targets) {
        if (served.has(key)) continue;
        const why = problems.get(key)?.[0]?.message;
        const message = `the ${kind} ${name} is not served${why ? `: ${why}` : ""}`;
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
      });
    }

    /** What is left of a plugin that protects: its requests are answered 503, unless another protects them already. */
    function standInForPlugin(owner: Owner, piece: Piece, reason: string): void {
      postponed.push(() => {
        // What it is for is not served, and another resource's entity may have the id.
        if (unserved(piece)) return;
        const isTaken = (id: string) => items.plugins.has(id);
        const entity = standIns.plugin(piece, { owner, reason, isTaken });
        if (!entity) return;
        const holder = claims.holderOfScope(entity);
        if (holder !== undefined && items.plugins.get(holder)?.entity.enabled !== false) return;
        // One that is switched off protects nothing, and two in one place are not allowed.
        if (holder !== undefined) items.plugins.delete(holder);
        claims.overrideScope({ owner, collection: "plugins", entity });
        serve("plugins", { owner, entity });
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
      const blocked = unserved(piece) ?? (collection === "services" ? closedHosts.problemOf(owner, piece) : null);
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

    function serveEndpoints({ backend, item }: Piece): void {
      if (!backend) return;
      const key = keyOf(backend.namespace, backend.name);
      const ports = (world.CoreService.get(key)?.spec?.ports ?? []) as readonly { name?: string; port?: number }[];
      const port = ports.find((candidate) => candidate.port === backend.port);
      endpoints.set(item.id, endpointsOf(slices.get(key) ?? [], port?.name));
    }

    for (const kind of order) {
      for (const resource of oldestFirst.get(kind)?.(world[kind]) ?? []) {
        const { owner, key, pieces } = memory.translateOne(kind, resource, ask);
        owners.set(key, owner);
        // The first piece is the resource's main one: without it the others (keys, targets, server names) are nothing.
        let open = true;
        for (const [index, piece] of pieces.entries()) {
          if (!open) leaveOut(owner, piece);
          else if (take(owner, piece) && index === 0) {
            served.add(key);
            if (kind === "Upstream") closedHosts.open(piece);
            serveEndpoints(piece);
          } else if (index === 0) {
            open = false;
            if (kind === "Upstream") closedHosts.close(owner, piece, problems.get(key)?.[0]?.message);
          }
        }
      }
      for (const run of postponed) run();
      postponed = [];
    }
    memory.keepOnly(owners);
    return { items, endpoints, problems, owners };
  };
}
