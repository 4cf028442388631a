/** Names of the plugins that some entity uses. */
import { readCollection } from "../../stores/read-all.ts";
import type { Store } from "../../stores/store.ts";

/** Milliseconds: who asks wants to know that the listener runs, whatever else does not. */
const PATIENCE = 1000;

/**
 * In alphabetical order; empty while nothing can be read. A store in trouble may still tell what it holds: custom
 * resources whose watch has broken off are served from what was seen last.
 */
export async function pluginsInUse(store: Store, patience = PATIENCE): Promise<readonly string[]> {
  const late = Promise.withResolvers<readonly []>();
  const timer = setTimeout(() => late.resolve([]), patience);
  const used = await Promise.race([readCollection(store, "plugins").catch(() => []), late.promise]);
  clearTimeout(timer);
  return [...new Set(used.map(({ name }) => name))].sort();
}
