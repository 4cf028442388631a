/** From a translation to the next snapshot. Only what changed is checked; one bad entity never blocks the others. */
import {
  applyChange,
  type Change,
  type Collection,
  collections,
  describeViolation,
  type Endpoint,
  plugins,
  type Snapshot,
  type Violation,
} from "@sluice/model";
import type { Problem } from "../status/conditions.ts";
import { type Item, ownerKey, type Translation } from "../translate/translation.ts";

type Items = Translation["items"];

/** What was published, as the next build needs it. */
export interface Built {
  readonly snapshot: Snapshot;
  readonly items: Items;
  readonly endpoints: ReadonlyMap<string, readonly Endpoint[]>;
}

export interface BuildResult {
  readonly built: Built;
  /** Problems that only showed when all was put together, by owner key. Empty unless the translation has a gap. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
}

const sameEndpoints = (one: readonly Endpoint[] | undefined, other: readonly Endpoint[]): boolean =>
  one === other || (one !== undefined && JSON.stringify(one) === JSON.stringify(other));

/** What differs between the items of two translations; items that are the same objects do not. */
function difference(previous: Built, next: Pick<Built, "items" | "endpoints">): Change {
  const put: Partial<Record<Collection, unknown[]>> = {};
  const remove: Partial<Record<Collection, string[]>> = {};
  for (const collection of collections) {
    const before = previous.items[collection];
    const after = next.items[collection];
    put[collection] = [...after].flatMap(([id, { entity }]) => (before.get(id)?.entity === entity ? [] : [entity]));
    remove[collection] = [...before.keys()].filter((id) => !after.has(id));
  }
  const endpoints: Record<string, readonly Endpoint[] | null> = {};
  for (const [id, list] of next.endpoints) if (!sameEndpoints(previous.endpoints.get(id), list)) endpoints[id] = list;
  for (const id of previous.endpoints.keys()) if (!next.endpoints.has(id)) endpoints[id] = null;
  return { put, remove, endpoints };
}

/** The item that a violation of `applyChange` is about. */
function culprit(change: Change, items: Items, { path }: Violation): readonly [Collection, Item] | undefined {
  const [collection, index] = path as [Collection, number];
  const entity = change.put[collection]?.[index] as { id?: string } | undefined;
  const item = entity?.id === undefined ? undefined : items[collection]?.get(entity.id);
  return item && [collection, item];
}

/** Takes an item out; a plugin that protects stays as one that answers 503. */
function keepOut(collection: Collection, item: Item, reason: string): Item | undefined {
  const { name, _sluice } = item.entity as { name?: string; _sluice?: { unavailable?: string } };
  const protects = collection === "plugins" && plugins[name as keyof typeof plugins]?.protects;
  if (!protects || _sluice?.unavailable) return undefined;
  return { owner: item.owner, entity: { ...item.entity, config: {}, _sluice: { unavailable: reason } } };
}

export function build(previous: Built, translation: Pick<Translation, "items" | "endpoints">): BuildResult {
  const items = { ...translation.items } as Record<Collection, ReadonlyMap<string, Item>>;
  const problems = new Map<string, Problem[]>();
  for (;;) {
    const change = difference(previous, { items, endpoints: translation.endpoints });
    const applied = applyChange(previous.snapshot, change);
    if (!applied.violations)
      return { built: { snapshot: applied.value, items, endpoints: translation.endpoints }, problems };
    const culprits = applied.violations.map((violation) => ({ violation, found: culprit(change, items, violation) }));
    if (!culprits.some(({ found }) => found))
      throw new Error(`the document cannot be built: ${applied.violations.map(describeViolation).join("; ")}`);
    for (const { violation, found } of culprits) {
      if (!found) continue;
      const [collection, item] = found;
      const message = describeViolation({ ...violation, path: violation.path.slice(2) });
      const left = new Map(items[collection]);
      const standIn = keepOut(collection, item, message);
      if (standIn) left.set(item.entity.id, standIn);
      else left.delete(item.entity.id);
      items[collection] = left;
      const key = ownerKey(item.owner);
      const problem: Problem = { condition: "Accepted", reason: "Invalid", message };
      problems.set(key, [...(problems.get(key) ?? []), problem]);
    }
  }
}
