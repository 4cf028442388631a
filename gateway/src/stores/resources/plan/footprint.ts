/** Decides which writes are independent and may run concurrently. Pure. */
import { refKey } from "@sluice/crds";
import { type Collection, type Entity, referencedId, references } from "@sluice/model";
import { claimKey, entityClaimKeys } from "../../tables/index.ts";
import type { ResourceWritePlan } from "./write-plan.ts";

/** Keys of entities, of their claims, and of resources. */
export interface WriteFootprint {
  /** What the write creates, changes or removes. */
  readonly takes: ReadonlySet<string>;
  /** What must exist, and remain, for the write. */
  readonly needs: ReadonlySet<string>;
}

export function footprintOf({ effects, steps, secrets, unused }: ResourceWritePlan): WriteFootprint {
  const takes = new Set<string>();
  const needs = new Set<string>();
  const take = (collection: Collection, entity: Entity): void => {
    takes.add(claimKey(collection, { id: entity.id }));
    for (const key of entityClaimKeys(collection, entity)) takes.add(key);
  };
  for (const { collection, before, after, along } of effects) {
    for (const entity of [before, after]) if (entity) take(collection, entity);
    for (const one of along) take(one.collection, one.entity);
    for (const { member, to } of after ? references[collection] : []) {
      const id = after && referencedId(after, member);
      if (id) needs.add(claimKey(to, { id }));
    }
  }
  for (const { kind, resource } of steps) takes.add(refKey({ kind, ...resource.metadata }));
  for (const secret of [...secrets, ...unused]) takes.add(refKey({ kind: "Secret", ...secret.metadata }));
  return { takes, needs };
}

/** Whether the plan of one write may be invalid once the other is done. */
export const footprintsOverlap = (one: WriteFootprint, other: WriteFootprint): boolean =>
  share(one.takes, other.takes) || share(one.takes, other.needs) || share(one.needs, other.takes);

function share(keys: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  for (const key of keys) if (others.has(key)) return true;
  return false;
}
