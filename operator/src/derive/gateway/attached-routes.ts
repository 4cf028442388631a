/** Counts the routes that have attached to each listener. */

export function createAttachedRoutes() {
  /** The routes by the listener's name in the document. */
  const routes = new Map<string, Set<string>>();
  const listenersOf = new Map<string, ReadonlySet<string>>();

  return {
    /** Replaces the listeners of a route. Returns the Gateways (`namespace/name`) with other numbers of routes. */
    set(route: string, listeners: ReadonlySet<string>): ReadonlySet<string> {
      const before = listenersOf.get(route) ?? new Set<string>();
      for (const id of before.difference(listeners)) {
        routes.get(id)?.delete(route);
        if (routes.get(id)?.size === 0) routes.delete(id);
      }
      for (const id of listeners) routes.set(id, (routes.get(id) ?? new Set()).add(route));
      if (listeners.size > 0) listenersOf.set(route, listeners);
      else listenersOf.delete(route);
      return new Set([...before.symmetricDifference(listeners)].map((id) => id.slice(0, id.lastIndexOf("/"))));
    },
    countOf: (listener: string): number => routes.get(listener)?.size ?? 0,
  };
}
