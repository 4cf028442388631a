/** What differs between two translations. It is looked for at every change, so that it must cost little. */
import { isDeepStrictEqual } from "node:util";
import { type Change, type Collection, collections, type Endpoint } from "@sluice/model";
import type { Translation } from "../translate/translation.ts";

type Content = Pick<Translation, "items" | "endpoints">;

/** Items that are the same objects do not differ. */
export function difference(previous: Content, next: Content): Change {
  const put: Partial<Record<Collection, unknown[]>> = {};
  const remove: Partial<Record<Collection, string[]>> = {};
  for (const collection of collections) {
    const before = previous.items[collection];
    const after = next.items[collection];
    if (before === after) continue;
    const changed: unknown[] = [];
    for (const [id, { entity }] of after) if (before.get(id)?.entity !== entity) changed.push(entity);
    put[collection] = changed;
    remove[collection] = gone(before, after);
  }
  const endpoints: Record<string, readonly Endpoint[] | null> = {};
  for (const [id, list] of next.endpoints)
    if (!isDeepStrictEqual(previous.endpoints.get(id), list)) endpoints[id] = list;
  for (const id of gone(previous.endpoints, next.endpoints)) endpoints[id] = null;
  return { put, remove, endpoints };
}

function gone(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): string[] {
  const ids: string[] = [];
  for (const id of before.keys()) if (!after.has(id)) ids.push(id);
  return ids;
}
