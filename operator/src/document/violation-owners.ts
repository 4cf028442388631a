/** Finds the items that prevent a change from being applied. Pure. */
import {
  type Change,
  type Collection,
  collections,
  describeViolation,
  references,
  type Violation,
} from "@sluice/model";
import type { Item } from "../translate/translation.ts";

/** The items of a translation by collection and id. */
export type ItemsById = Readonly<Record<Collection, ReadonlyMap<string, Item>>>;

export interface ViolationOwners {
  /** Invalid items, and why. */
  readonly items: ReadonlyMap<Item, { readonly collection: Collection; readonly message: string }>;
  /** Services (ids) whose addresses are invalid, and why. */
  readonly addresses: ReadonlyMap<string, string>;
}

/** @param violations With paths as `applyChange` reports them. */
export function violationOwnersOf(violations: readonly Violation[], change: Change, items: ItemsById): ViolationOwners {
  const found = new Map<Item, { collection: Collection; message: string }>();
  const addresses = new Map<string, string>();
  const add = (collection: Collection, item: Item | undefined, message: string): void => {
    if (item && !found.has(item)) found.set(item, { collection, message });
  };
  for (const violation of violations) {
    const [first, second, third] = violation.path as [string, string | number, string | number];
    if (first === "_sluice") addresses.set(`${third}`, describeViolation(violation));
    else if (first === "remove") {
      const { message } = violation;
      const id = change.remove[second as Collection]?.[Number(third)];
      for (const [collection, item] of id === undefined ? [] : dependents(items, second as Collection, id))
        add(collection, item, message);
    } else {
      const collection = first as Collection;
      const entity = change.put[collection]?.[Number(second)] as { readonly id?: string } | undefined;
      const message = describeViolation({ ...violation, path: violation.path.slice(2) });
      add(collection, entity?.id === undefined ? undefined : items[collection].get(entity.id), message);
    }
  }
  return { items: found, addresses };
}

/** The items that refer to an entity: they are invalid when it is removed. */
function* dependents(items: ItemsById, parent: Collection, id: string): Generator<readonly [Collection, Item]> {
  for (const collection of collections)
    for (const { member, to } of references[collection])
      if (to === parent)
        for (const item of items[collection].values())
          if ((item.entity[member] as { readonly id?: string } | null | undefined)?.id === id) yield [collection, item];
}
