/** Counts the routes that have attached to each listener. */
import { ownerOfListener, Relation } from "@sluice/crds";

export function createAttachedRoutes() {
  /** Routes, and the listeners (names in the document) to which they have attached. */
  const attached = new Relation<string, string>();

  return {
    /**
     * Replaces the listeners of a route. Returns the Gateways and ListenerSets whose listeners have other numbers of
     * routes than before, by their `refKey`.
     */
    set(route: string, listeners: ReadonlySet<string>): ReadonlySet<string> {
      const before = attached.set(route, listeners);
      return new Set([...before.symmetricDifference(listeners)].map(ownerOfListener));
    },
    countOf: (listener: string): number => attached.leftsOf(listener).size,
  };
}
