/** The destinations that the guard refused last, for the status listener. */

/** Plain data. */
export interface RefusedDestination {
  /** As configuration has it. */
  readonly host: string;
  readonly port: number;
  readonly reason: string;
  /** Connections that were refused. */
  readonly count: number;
  /** Unix milliseconds of the last of them. */
  readonly last: number;
}

/** Destinations that are kept; the one that was refused the longest time ago gives way. */
const MAX_DESTINATIONS = 100;
/** Milliseconds after which a destination that was not tried again is left out. */
const RETENTION = 600_000;

const keyOf = ({ host, port }: { readonly host: string; readonly port: number }): string => `${port} ${host}`;

export class RefusedDestinations {
  /** By port and host, the latest last. */
  readonly #destinations = new Map<string, RefusedDestination>();

  add({ host, port, reason }: Pick<RefusedDestination, "host" | "port" | "reason">): void {
    const key = keyOf({ host, port });
    const count = (this.#destinations.get(key)?.count ?? 0) + 1;
    this.#destinations.delete(key);
    this.#destinations.set(key, { host, port, reason, count, last: Date.now() });
    if (this.#destinations.size <= MAX_DESTINATIONS) return;
    for (const oldest of this.#destinations.keys()) {
      this.#destinations.delete(oldest);
      return;
    }
  }

  /** The name has an address now that may be reached. */
  remove(host: string, port: number): void {
    if (this.#destinations.size > 0) this.#destinations.delete(keyOf({ host, port }));
  }

  all(): readonly RefusedDestination[] {
    const since = Date.now() - RETENTION;
    return [...this.#destinations.values()].filter(({ last }) => last >= since);
  }
}

/** One list of those of several threads. */
export function mergeRefused(lists: readonly (readonly RefusedDestination[])[]): readonly RefusedDestination[] {
  const merged = new Map<string, RefusedDestination>();
  for (const destination of lists.flat()) {
    const key = keyOf(destination);
    const other = merged.get(key);
    const latest = other !== undefined && other.last > destination.last ? other : destination;
    merged.set(key, { ...latest, count: destination.count + (other?.count ?? 0) });
  }
  return [...merged.values()];
}
