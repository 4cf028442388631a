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
import { type Collection, collections, type Endpoint, type PluginSpec, type RouteSpec } from "@sluice/model";
import type { Problem } from "../status/conditions.ts";
import type { World } from "../world/world.ts";
import { createClaims } from "./claims.ts";
import { createMemory } from "./remember.ts";
import { reasonOf, unavailablePlugin, unavailableRoute } from "./stand-in.ts";
import { type Item, type Owner, ownerKey, type Translation } from "./translation.ts";

export interface TranslatorOptions {
  readonly homeNamespace: string;
  /** Resources with another spec.class belong to another Sluice. */
  readonly class: string;
}

/** Parents before children. */
const order: readonly SluiceKind[] = ["Service", "Route", "Consumer", "Plugin"];

interface Candidate {
  readonly owner: Owner;
  readonly key: string;
  readonly resource: Resource;
}

function byAge({ resource: one }: Candidate, { resource: other }: Candidate): number {
  const [a, b] = [one.metadata.creationTimestamp ?? "", other.metadata.creationTimestamp ?? ""];
  if (a !== b) return a < b ? -1 : 1;
  const [x, y] = [
    `${one.metadata.namespace}/${one.metadata.name}`,
    `${other.metadata.namespace}/${other.metadata.name}`,
  ];
  return x < y ? -1 : 1;
}

export function createTranslator(options: TranslatorOptions): (world: World) => Translation {
  const memory = createMemory(options.homeNamespace);
  /** Stand-ins by what they stand for: the same one as before is the same object. */
  const standIns = new WeakMap<
    CheckedTranslation,
    { readonly reason: string; readonly entity: Item["entity"] | undefined }
  >();

  function standIn(piece: CheckedTranslation, reason: string, make: () => Item["entity"] | undefined) {
    const before = standIns.get(piece);
    if (before?.reason === reason) return before.entity;
    const entity = make();
    standIns.set(piece, { reason, entity });
    return entity;
  }

  return function translateWorld(world) {
    const items = Object.fromEntries(collections.map((name) => [name, new Map()])) as Record<
      Collection,
      Map<string, Item>
    >;
    const problems = new Map<string, Problem[]>();
    const owners = new Map<string, Owner>();
    const endpoints = new Map<string, readonly Endpoint[]>();
    /** Ids of served entities by the resource that owns them. */
    const served = new Map<string, string>();
    const claims = createClaims();
    const slices = slicesByService(world.EndpointSlice.values());

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
      problems.set(key, [...(problems.get(key) ?? []), problem]);
    }

    /** Why something that the resource refers to is not served, though it is there; null when all is. */
    function unserved(
      owner: Owner,
      targets: readonly { readonly kind: SluiceKind; readonly name: string }[],
    ): Problem | null {
      for (const { kind, name } of targets) {
        const target: Owner = { kind, namespace: owner.namespace, name };
        if (served.has(ownerKey(target))) continue;
        const why = problems.get(ownerKey(target))?.[0]?.message;
        const message = `the ${kind} ${name} is not served${why ? `: ${why}` : ""}`;
        return { condition: "ResolvedRefs", reason: `${kind}NotServed`, message };
      }
      return null;
    }

    function serve(owner: Owner, collection: Collection, entity: Item["entity"]): void {
      items[collection].set(entity.id, { owner, entity });
    }

    function targetsOf({ owner, resource }: Candidate) {
      if (owner.kind === "Plugin") return (resource.spec as unknown as PluginSpec).targetRefs ?? [];
      const { serviceRef } = (resource.spec ?? {}) as RouteSpec;
      return owner.kind === "Route" && serviceRef ? [{ kind: "Service" as const, name: serviceRef.name }] : [];
    }

    /** What is left of a resource that cannot be served as it stands. */
    function serveStandIn({ owner }: Candidate, piece: CheckedTranslation, reason: string): void {
      if (piece.collection === "routes") {
        const entity = standIn(piece, reason, () => unavailableRoute(piece, reason));
        if (!entity || claims.take({ owner, collection: "routes", entity })) return;
        serve(owner, "routes", entity);
        served.set(ownerKey(owner), entity.id);
      }
      if (piece.collection === "plugins") {
        const entity = standIn(piece, reason, () => unavailablePlugin(piece, owner, reason));
        // A valid plugin of the same scope protects already.
        if (entity && !claims.take({ owner, collection: "plugins", entity })) serve(owner, "plugins", entity);
      }
    }

    /** Serves one entity of a resource, or says why not. True when it is served as it stands. */
    function take(candidate: Candidate, piece: CheckedTranslation, blocked: Problem | null): boolean {
      const { owner } = candidate;
      const { collection, violations } = piece;
      for (const violation of violations) {
        const { condition, reason } = violation;
        complain(owner, { condition, reason, message: describeResourceViolation(violation) });
      }
      if (violations.length > 0) {
        postponed.push(() => serveStandIn(candidate, piece, reasonOf(owner, piece)));
        return false;
      }
      if (blocked) {
        complain(owner, blocked);
        if (collection === "routes") postponed.push(() => serveStandIn(candidate, piece, blocked.message));
        return false;
      }
      const entity = piece.entity as unknown as Item["entity"];
      const taken = claims.take({ owner, collection, entity });
      if (taken) {
        complain(owner, { condition: "Accepted", reason: "Conflicted", message: taken });
        if (collection === "plugins") postponed.push(() => serveStandIn(candidate, piece, taken));
        return false;
      }
      serve(owner, collection, entity);
      return true;
    }

    /** Stand-ins come after all that is valid of their kind, so that they take nothing from it. */
    let postponed: (() => void)[] = [];

    function candidates(kind: SluiceKind): readonly Candidate[] {
      const found: Candidate[] = [];
      for (const resource of world[kind].values()) {
        if (classOf(resource) !== options.class) continue;
        const owner: Owner = { kind, namespace: resource.metadata.namespace, name: resource.metadata.name };
        found.push({ owner, key: ownerKey(owner), resource });
      }
      return found.sort(byAge);
    }

    function serveEndpoints(piece: CheckedTranslation): void {
      if (!piece.backend) return;
      const key = keyOf(piece.backend.namespace, piece.backend.name);
      const ports = (world.CoreService.get(key)?.spec?.ports ?? []) as readonly { name?: string; port?: number }[];
      const port = ports.find((candidate) => candidate.port === piece.backend?.port);
      endpoints.set(piece.item.id, endpointsOf(slices.get(key) ?? [], port?.name));
    }

    for (const kind of order) {
      for (const candidate of candidates(kind)) {
        const { owner, key, resource } = candidate;
        owners.set(key, owner);
        const [main, ...rest] = memory.translateOne(key, resource, ask);
        if (!main) continue;
        const blocked = main.violations.length > 0 ? null : unserved(owner, targetsOf(candidate));
        if (!take(candidate, main, blocked)) continue;
        served.set(key, main.item.id);
        serveEndpoints(main);
        for (const piece of rest) take(candidate, piece, null);
      }
      for (const run of postponed) run();
      postponed = [];
    }
    memory.keepOnly(owners);
    return { items, endpoints, problems, owners };
  };
}
