/** What is published before anything is. */
import { collections, emptySnapshot } from "@sluice/model";
import type { Built } from "./build.ts";

export const nothing: Built = {
  snapshot: emptySnapshot,
  items: Object.fromEntries(collections.map((collection) => [collection, new Map()])) as unknown as Built["items"],
  endpoints: new Map(),
};
