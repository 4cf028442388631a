/** Names of the plugins that the store's entities use. */
import { readCollection } from "../../stores/read-all.ts";
import type { Store } from "../../stores/store.ts";

/** Milliseconds: the caller wants to know whether the listener runs, even if the store does not respond. */
const PATIENCE = 1000;

/**
 * Sorted; empty while nothing can be read. A store with a problem may still be readable: after a broken watch, custom
 * resources are served as last seen.
 */
export async function pluginsInUse(store: Store, patience = PATIENCE): Promise<readonly string[]> {
  const late = Promise.withResolvers<readonly []>();
  const timer = setTimeout(() => late.resolve([]), patience);
  const used = await Promise.race([readCollection(store, "plugins").catch(() => []), late.promise]);
  clearTimeout(timer);
  return [...new Set(used.map(({ name }) => name))].sort();
}
