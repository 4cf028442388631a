/**
 * Carries a translation on: what a few changed resources make different, at a cost that does not depend on how many
 * others there are. Wherever the outcome depends on more than the changed ones and what they ask for - two claim the
 * same, something is not served, something stands in for something - there is no answer, and the whole is translated.
 */

import { isDeepStrictEqual } from "node:util";
import { isOurs, type Resource, type SluiceKind } from "@sluice/crds";
import type { Endpoint } from "@sluice/model";
import type { Problem } from "../status/conditions.ts";
import type { World } from "../world/world.ts";
import { addressesOf } from "./addresses.ts";
import type { Lookups } from "./lookups.ts";
import { outcomeOf, withOutcome } from "./outcome.ts";
import type { Memory, Piece } from "./remember.ts";
import { type Item, type Owner, placeOf, type Translation } from "./translation.ts";
import { faultsOf, order, type Part, perCollection, type Whole } from "./whole.ts";

/** Undefined: translate the whole, and begin anew from that. */
export type Next = (world: World, changed: ReadonlySet<string>) => Translation | undefined;

export interface NextOptions {
  readonly whole: Whole;
  readonly memory: Memory;
  readonly lookups: Lookups;
}

/** All that a resource's part depends on: what it asked for, and the addresses behind its core Service. */
function askedBy({ remembered: { asked, pieces } }: Part): ReadonlySet<string> {
  const backend = pieces[0]?.backend;
  return backend ? new Set([...asked, `EndpointSlice/${backend.namespace}/${backend.name}`]) : asked;
}

interface Step {
  readonly key: string;
  readonly before: Part | undefined;
  readonly after: Part | undefined;
}

export function createNext({ whole, memory, lookups }: NextOptions): Next {
  const { parts, parties, closedHosts, slices, grants } = whole;
  let { translation } = whole;
  /** Keys of the resources that asked for one, which may be absent. */
  const askers = new Map<string, Set<string>>();
  for (const [key, part] of parts) noteAsked(key, part);

  function noteAsked(key: string, part: Part): void {
    for (const one of askedBy(part)) {
      const all = askers.get(one);
      if (all) all.add(key);
      else askers.set(one, new Set([key]));
    }
  }

  function forgetAsked(key: string, part: Part): void {
    for (const one of askedBy(part)) {
      const all = askers.get(one);
      all?.delete(key);
      if (all?.size === 0) askers.delete(one);
    }
  }

  /** Keys of all resources of ours that have to be looked at. */
  function affectedBy(changed: ReadonlySet<string>, world: World): ReadonlySet<string> {
    const affected = new Set<string>();
    const addAskers = (key: string) => {
      for (const asker of askers.get(key) ?? []) affected.add(asker);
    };
    for (const key of changed) {
      const { kind, name } = placeOf(key);
      if (kind === "EndpointSlice")
        for (const service of slices.set(name, world.EndpointSlice.get(name))) addAskers(`EndpointSlice/${service}`);
      else if (kind === "ReferenceGrant") grants.set(name, world.ReferenceGrant.get(name)).forEach(addAskers);
      else if (kind === "Secret" || kind === "CoreService") addAskers(key);
      else if (isOurs(kind)) {
        affected.add(key);
        // Others only ask for its id.
        if (parts.get(key)?.remembered.pieces[0]?.item.id !== lookups.idOf(world[kind].get(name))) addAskers(key);
      }
    }
    return affected;
  }

  function partNow(kind: SluiceKind, resource: Resource | undefined, world: World): Part | undefined {
    if (!resource || lookups.idOf(resource) === undefined) return undefined;
    const remembered = memory.translateOne(kind, resource, lookups.in(world, grants));
    return { remembered, born: resource.metadata.creationTimestamp, isPlain: true };
  }

  return (world, changed) => {
    const items = perCollection(() => new Map<string, Item | undefined>());
    const endpoints = new Map<string, readonly Endpoint[] | undefined>();
    const problems = new Map<string, readonly Problem[] | undefined>();
    const owners = new Map<string, Owner | undefined>();

    function serveAddresses({ item, backend }: Piece): void {
      if (!backend) return;
      const before = translation.endpoints.get(item.id);
      const now = addressesOf(backend, { world, slices });
      endpoints.set(item.id, isDeepStrictEqual(before, now) ? before : now);
    }

    /** False: somebody else has to do with what it had. */
    function drop(key: string, part: Part): boolean {
      const { owner, pieces } = part.remembered;
      for (const { collection, item, asItem } of pieces) {
        if (!asItem) continue;
        if (!parties.leave({ owner, collection, entity: asItem.entity })) return false;
        if (collection === "upstreams" && closedHosts.has(item.name)) return false;
        items[collection].set(asItem.entity.id, undefined);
      }
      if (pieces[0]?.backend) endpoints.set(pieces[0].item.id, undefined);
      problems.set(key, undefined);
      owners.set(key, undefined);
      parts.delete(key);
      forgetAsked(key, part);
      return true;
    }

    const isServed = ({ targets }: Piece): boolean => targets.every(({ key }) => parts.get(key)?.isPlain);

    /** False: it is not served as it stands, or somebody else has to do with what it claims. */
    function put(key: string, part: Part): boolean {
      const { owner, pieces } = part.remembered;
      const faults: Problem[] = [];
      for (const [index, piece] of pieces.entries()) {
        const { collection, item, asItem } = piece;
        if (!asItem && index === 0) return false;
        faults.push(...faultsOf(piece));
        if (!asItem) continue;
        if (!isServed(piece) || !parties.enter({ owner, collection, entity: asItem.entity })) return false;
        if (collection === "services" && closedHosts.has(item.host)) return false;
        if (collection === "upstreams" && closedHosts.has(item.name)) return false;
        items[collection].set(asItem.entity.id, asItem);
        if (index === 0) serveAddresses(piece);
      }
      if (faults.length > 0) {
        const outcome = outcomeOf(part, { isServed: true, isClosed: false });
        problems.set(key, withOutcome(faults, outcome));
      }
      owners.set(key, owner);
      parts.set(key, part);
      noteAsked(key, part);
      return true;
    }

    const steps: Step[] = [];
    const byKind = Map.groupBy(affectedBy(changed, world), (key) => placeOf(key).kind);
    for (const kind of order) {
      for (const key of byKind.get(kind) ?? []) {
        const before = parts.get(key);
        const after = partNow(kind, world[kind].get(placeOf(key).name), world);
        if (before && !before.isPlain) return undefined;
        if (before && after && isSame(before, after))
          for (const piece of before.remembered.pieces) serveAddresses(piece);
        else if (before ?? after) steps.push({ key, before, after });
        // It may have been restored from what was kept.
        else memory.forget(key);
      }
    }
    // Whatever goes, goes first: what comes may have its name.
    for (const { key, before } of steps) if (before && !drop(key, before)) return undefined;
    for (const { key, after } of steps) if (after && !put(key, after)) return undefined;
    for (const { key, after } of steps) if (!after) memory.forget(key);
    translation = {
      items: perCollection((collection) => translation.items[collection].with(items[collection])),
      endpoints: translation.endpoints.with(endpoints),
      problems: translation.problems.with(problems),
      owners: translation.owners.with(owners),
    };
    return translation;
  };
}

const isSame = (one: Part, other: Part): boolean => one.remembered === other.remembered && one.born === other.born;
