/** The most recent destinations that the guard refused, for the status listener. */

/** Plain data, which can be sent between threads. */
export interface RefusedDestination {
  /** The host name or address as configured. */
  readonly host: string;
  readonly port: number;
  readonly reason: string;
  readonly count: number;
  /** Time of the last refusal in Unix milliseconds. */
  readonly last: number;
}

/** Maximum number of destinations. Above it, the destination whose last refusal is oldest is dropped. */
const MAX_DESTINATIONS = 100;
/** Milliseconds for which a destination is listed after its last refusal. */
const RETENTION = 600_000;

const keyOf = ({ host, port }: { readonly host: string; readonly port: number }): string => `${port} ${host}`;

export class RefusedDestinations {
  /** Keyed by port and host, in the order of the last refusals. */
  readonly #destinations = new Map<string, RefusedDestination>();

  add({ host, port, reason }: Pick<RefusedDestination, "host" | "port" | "reason">): void {
    const key = keyOf({ host, port });
    const count = (this.#destinations.get(key)?.count ?? 0) + 1;
    this.#destinations.delete(key);
    this.#destinations.set(key, { host, port, reason, count, last: Date.now() });
    if (this.#destinations.size <= MAX_DESTINATIONS) return;
    const [oldest = ""] = this.#destinations.keys();
    this.#destinations.delete(oldest);
  }

  /** Forgets a destination whose name now has an allowed address. */
  remove(host: string, port: number): void {
    if (this.#destinations.size > 0) this.#destinations.delete(keyOf({ host, port }));
  }

  all(): readonly RefusedDestination[] {
    const since = Date.now() - RETENTION;
    return [...this.#destinations.values()].filter(({ last }) => last >= since);
  }
}

/** Merges the lists of several threads. */
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
