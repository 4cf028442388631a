/** Counts the routes that have attached to each listener. */
import { Relation } from "@sluice/crds";

export function createAttachedRoutes() {
  /** Routes, and the listeners (names in the document) to which they have attached. */
  const attached = new Relation<string, string>();

  return {
    /** Replaces the listeners of a route. Returns the Gateways (`namespace/name`) with other numbers of routes. */
    set(route: string, listeners: ReadonlySet<string>): ReadonlySet<string> {
      const before = attached.set(route, listeners);
      return new Set([...before.symmetricDifference(listeners)].map((id) => id.slice(0, id.lastIndexOf("/"))));
    },
    countOf: (listener: string): number => attached.leftsOf(listener).size,
  };
}
