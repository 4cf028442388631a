/** Creating an entity that has a resource of its own. */
import { type Kind, kindOfCollection, type ResourceCollection, toResource } from "@sluice/crds";
import {
  type Collection,
  type Entities,
  type Entity,
  entities,
  kinds,
  nameOf,
  readSpec,
  references,
  type Violation,
} from "@sluice/model";
import type { WriteFault } from "../store.ts";
import { claimKey, claimsOf } from "../tables/claims.ts";
import { type Attempt, faultOf, refused, type WriteContext } from "./context.ts";
import { MANAGER } from "./owned.ts";
import type { View } from "./view.ts";
import { writtenAs } from "./written.ts";

/** Why the entity cannot stand beside those that there are; undefined when it can. */
export function clashOf(view: View, collection: Collection, entity: Entity): WriteFault | undefined {
  const members = entity as unknown as Readonly<Record<string, { readonly id: string } | null>>;
  for (const { member, to } of references[collection]) {
    const id = members[member]?.id;
    if (id !== undefined && !view.byId[to].has(id)) return { kind: "foreign-key", member, to, id };
  }
  // What is faulty is older: once it is mended it would push the new entity out.
  const isTaken = (key: string): boolean => view.byClaim.has(key) || view.faulty.has(key);
  const { id } = entity;
  if (view.byId[collection].has(id) || view.faulty.has(claimKey(collection, { id })))
    return { kind: "primary-key", id };
  const taken = claimsOf(collection, entity).find((claim) => isTaken(claimKey(collection, claim)));
  return taken && { kind: "unique", members: taken };
}

export async function createResource<Name extends ResourceCollection>(
  { client, homeNamespace, class: ofClass, view }: WriteContext,
  collection: Name,
  entity: Entities[Name],
): Promise<Attempt<undefined>> {
  const made = toResource(collection, entity, {
    namespace: homeNamespace,
    place: (kind, id) => view.byId[kinds[kind].collection].get(id)?.resource.metadata,
    ...(ofClass !== undefined && { class: ofClass }),
  });
  if (made.violations) return { fault: { kind: "invalid", violations: made.violations } };
  const kind: Kind = kindOfCollection(collection);
  const fault = specFault(collection, made.value.spec);
  if (fault) return { fault };
  try {
    const written = await client.apply(kind, made.value, { manager: MANAGER, expect: "absent" });
    return { value: undefined, awaits: [writtenAs(kind, written)] };
  } catch (error) {
    return { fault: faultOf(error, { kind, name: made.value.metadata.name }, existing(collection, entity)) };
  }
}

/** A resource's name comes from the entity's name, or from its id when it has none. */
function existing(collection: Collection, entity: Entity): WriteFault {
  const { key } = entities[collection];
  const name = nameOf(collection, entity);
  return key !== null && name !== undefined
    ? { kind: "unique", members: { [key]: name } }
    : { kind: "primary-key", id: entity.id };
}

/** What the kind's own schema refuses and the entity's does not (how many keys a consumer has): before it is written. */
export function specFault(collection: ResourceCollection, spec: unknown): WriteFault | undefined {
  const { violations } = readSpec(kinds[kindOfCollection(collection)].spec, spec);
  const say = ({ path, message }: Violation): string => `spec.${path.join(".")}: ${message}`;
  return violations.length > 0 ? refused(violations.map(say).join("; ")) : undefined;
}
