/** Where a route is served: its hosts, each with the listeners that have it. */
import type { AttachedListener } from "./attachment.ts";

export interface RoutePlace {
  /** Undefined: any host. */
  readonly host: string | undefined;
  /** The names in the document, sorted. */
  readonly listeners: readonly string[];
  /** The port that clients use, if the places are separated by port. */
  readonly port: number | undefined;
}

export function placesOf(
  attached: readonly AttachedListener[],
  { byPort }: { readonly byPort: boolean },
): readonly RoutePlace[] {
  const places = new Map<string, RoutePlace & { readonly ids: Set<string> }>();
  for (const { id, hosts, port } of attached)
    for (const host of hosts) {
      const key = JSON.stringify([host, byPort && port]);
      const known = places.get(key) ?? { host, listeners: [], port: byPort ? port : undefined, ids: new Set() };
      known.ids.add(id);
      places.set(key, known);
    }
  return [...places.values()].map(({ ids, ...place }) => ({ ...place, listeners: [...ids].sort() }));
}
