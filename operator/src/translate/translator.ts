/**
 * Translates the world into the document's items and everybody's problems. Pure but for its memory, which only saves
 * work: the same world gives the same translation. Parents come before children, the older before the younger, and one
 * bad resource never blocks the others.
 */
import {
  type CheckedTranslation,
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
import { byAge } from "./age.ts";
import { createClaims } from "./claims.ts";
import { createMemory } from "./remember.ts";
import { createStandIns, reasonFor } from "./stand-in.ts";
import { type Item, type Owner, ownerKey, type Translation } from "./translation.ts";

export interface TranslatorOptions {
  readonly homeNamespace: string;
  /** Resources with another spec.class belong to another Sluice. */
  readonly class: string;
}

/** Parents before children. */
const order: readonly SluiceKind[] = ["Service", "Route", "Consumer", "Plugin"];

export function createTranslator(options: TranslatorOptions): (world: World) => Translation {
  const memory = createMemory(options.homeNamespace);
  const standIns = createStandIns();

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
    const slices = slicesByService(world.EndpointSlice.values());
    /** Stand-ins come after all that is valid of their kind, so that they take nothing from it. */
    let postponed: (() => void)[] = [];

    const ask = {
      resolve(kind: SluiceKind, namespace: string, name: string): string | undefined {
        const resource = world[kind].get(keyOf(namespace, name));
        if (!resource || classOf(resource) !== options.class) return undefined;
        return identityOf(resource, options.homeNamespace).id;
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

    function complainOfFaults(owner: Owner, { violations }: CheckedTranslation): void {
      for (const violation of violations) {
        const { condition, reason } = violation;
        complain(owner, { condition, reason, message: describeResourceViolation(violation) });
      }
    }

    /** Why something that the resource refers to is not served, though it is there; null when all is. */
    function unserved({ namespace }: Owner, { refersTo = [] }: CheckedTranslation): Problem | null {
      for (const { kind, name } of refersTo) {
        const target = ownerKey({ kind, namespace, name });
        if (served.has(target)) continue;
        const why = problems.get(target)?.[0]?.message;
        const message = `the ${kind} ${name} is not served${why ? `: ${why}` : ""}`;
        return { condition: "ResolvedRefs", reason: `${kind}NotServed`, message };
      }
      return null;
    }

    function serve(owner: Owner, collection: Collection, entity: Item["entity"]): void {
      items[collection].set(entity.id, { owner, entity });
    }

    /** What is left of a route that cannot be served as it stands: it answers 503. */
    function standInForRoute(owner: Owner, piece: CheckedTranslation, reason: string): void {
      const entity = standIns.route(piece, reason);
      if (!entity) return;
      claims.reserve({ owner, collection: "routes", entity });
      postponed.push(() => {
        if (claims.take({ owner, collection: "routes", entity })) return;
        serve(owner, "routes", entity);
        served.add(ownerKey(owner));
      });
    }

    /** What is left of a plugin that protects: its requests are answered 503, unless another protects them already. */
    function standInForPlugin(owner: Owner, piece: CheckedTranslation, reason: string): void {
      postponed.push(() => {
        // What it is for is not served, and another resource's entity may have the id.
        if (unserved(owner, piece)) return;
        const isTaken = (id: string) => items.plugins.has(id);
        const entity = standIns.plugin(piece, { owner, reason, isTaken });
        if (!entity) return;
        const holder = claims.holderOfScope(entity);
        if (holder !== undefined && items.plugins.get(holder)?.entity.enabled !== false) return;
        // One that is switched off protects nothing, and two in one place are not allowed.
        if (holder !== undefined) items.plugins.delete(holder);
        claims.overrideScope({ owner, collection: "plugins", entity });
        serve(owner, "plugins", entity);
      });
    }

    function standIn(owner: Owner, piece: CheckedTranslation, messages: readonly string[]): void {
      const reason = reasonFor(owner, messages);
      if (piece.collection === "routes") standInForRoute(owner, piece, reason);
      if (piece.collection === "plugins") standInForPlugin(owner, piece, reason);
    }

    /** Serves one entity of a resource, or says why not. True when it is served as it stands. */
    function take(owner: Owner, piece: CheckedTranslation): boolean {
      const { collection, violations } = piece;
      complainOfFaults(owner, piece);
      if (violations.length > 0) {
        standIn(owner, piece, violations.slice(0, 3).map(describeResourceViolation));
        return false;
      }
      const blocked = unserved(owner, piece);
      if (blocked) {
        complain(owner, blocked);
        standIn(owner, piece, [blocked.message]);
        return false;
      }
      const entity = piece.entity as unknown as Item["entity"];
      const taken = claims.take({ owner, collection, entity });
      if (taken) {
        complain(owner, { condition: "Accepted", reason: "Conflicted", message: taken });
        // The requests of a route that lost are the older one's; those of a plugin that lost may be open.
        if (collection === "plugins") standIn(owner, piece, [taken]);
        return false;
      }
      serve(owner, collection, entity);
      return true;
    }

    function serveEndpoints({ backend, item }: CheckedTranslation): void {
      if (!backend) return;
      const key = keyOf(backend.namespace, backend.name);
      const ports = (world.CoreService.get(key)?.spec?.ports ?? []) as readonly { name?: string; port?: number }[];
      const port = ports.find((candidate) => candidate.port === backend.port);
      endpoints.set(item.id, endpointsOf(slices.get(key) ?? [], port?.name));
    }

    for (const kind of order) {
      for (const resource of ofClass(world[kind].values(), options.class)) {
        const owner: Owner = { kind, namespace: resource.metadata.namespace, name: resource.metadata.name };
        const key = ownerKey(owner);
        owners.set(key, owner);
        const [main, ...rest] = memory.translateOne(key, resource, ask);
        if (!main) continue;
        if (take(owner, main)) {
          served.add(key);
          serveEndpoints(main);
          for (const piece of rest) take(owner, piece);
        } else for (const piece of rest) complainOfFaults(owner, piece);
      }
      for (const run of postponed) run();
      postponed = [];
    }
    memory.keepOnly(owners);
    return { items, endpoints, problems, owners };
  };
}

/** The older first. */
const ofClass = (resources: Iterable<Resource>, name: string): readonly Resource[] =>
  [...resources].filter((resource) => classOf(resource) === name).sort(byAge);
