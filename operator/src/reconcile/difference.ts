/** What differs between two translations. What they share costs nothing. */
import { isDeepStrictEqual } from "node:util";
import { type Change, type Collection, collections, differences, type Endpoint } from "@sluice/model";
import type { Built } from "./build.ts";

type Content = Pick<Built, "items" | "endpoints">;

/** Items that are the same objects do not differ. */
export function difference(previous: Content, next: Content): Change {
  const put: Partial<Record<Collection, unknown[]>> = {};
  const remove: Partial<Record<Collection, string[]>> = {};
  for (const collection of collections) {
    const changed = differences(previous.items[collection], next.items[collection]);
    if (changed.length === 0) continue;
    put[collection] = changed.flatMap(({ before, after }) =>
      after && after.entity !== before?.entity ? [after.entity] : [],
    );
    remove[collection] = changed.flatMap(({ key, after }) => (after ? [] : [key]));
  }
  const endpoints: Record<string, readonly Endpoint[] | null> = {};
  for (const { key, before, after } of differences(previous.endpoints, next.endpoints))
    if (!isDeepStrictEqual(before, after)) endpoints[key] = after ?? null;
  return { put, remove, endpoints };
}
