/**
 * Remembers when each route, consumer and credential was last used, to the minute. A route is used by every request that
 * matches it; a consumer and a credential are used when a plugin authenticates a request with them.
 */
import type { LastUses, UsedCollection } from "@sluice/model";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import type { RequestObserver } from "./observer.ts";

/** Maximum number of entities of a collection; those whose last use is the oldest are forgotten. */
const MAX_ENTITIES = 100_000;
const MINUTE = 60_000;

export class LastUseLog implements RequestObserver {
  readonly #since = Math.floor(Date.now() / 1000);
  /** By id: the minute of the last use, in Unix time. The entity that was used last in a new minute comes last. */
  readonly #minutes: Readonly<Record<UsedCollection, Map<string, number>>> = {
    routes: new Map(),
    consumers: new Map(),
    credentials: new Map(),
  };
  #minute = 0;
  /** When the next minute begins, by `performance.now()`. */
  #nextMinute = 0;

  finished({ route, consumer, credential, timings }: LiveExchange): void {
    const { ended = timings.started } = timings;
    if (ended >= this.#nextMinute) this.#beginMinute(ended);
    const { routes, consumers, credentials } = this.#minutes;
    if (routes.get(route.id) !== this.#minute) this.#use(routes, route.id);
    if (consumer !== null && consumers.get(consumer.id) !== this.#minute) this.#use(consumers, consumer.id);
    if (credential !== null && credentials.get(credential.id) !== this.#minute) this.#use(credentials, credential.id);
  }

  list(collection: UsedCollection): LastUses {
    const uses = [...this.#minutes[collection]].map(([id, minute]) => [id, (minute * MINUTE) / 1000] as const);
    return { since: this.#since, last_uses: Object.fromEntries(uses) };
  }

  async close(): Promise<void> {}

  #use(minutes: Map<string, number>, id: string): void {
    minutes.delete(id);
    const [oldest] = minutes.keys();
    if (minutes.size >= MAX_ENTITIES && oldest !== undefined) minutes.delete(oldest);
    minutes.set(id, this.#minute);
  }

  /** The clock is read once a minute. */
  #beginMinute(now: number): void {
    const time = Date.now();
    this.#minute = Math.floor(time / MINUTE);
    this.#nextMinute = now + MINUTE - (time % MINUTE);
  }
}
