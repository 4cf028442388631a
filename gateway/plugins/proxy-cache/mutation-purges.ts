/**
 * Purges the results that mutations of GraphQL change, before their clients get the response. If the gateway does not see
 * the end of a mutation, the service may still execute it. Then the purge is repeated: the waits between the repetitions
 * double, so that older results are used for about as long as the service takes for the mutation, at most.
 */
import {
  type BodyObserver,
  type Exchange,
  ExchangeValues,
  type PluginContext,
  type PluginTimer,
  resultPurges,
} from "@sluice/plugin-sdk";
import type { PurgeCounts } from "./purge-counts.ts";

/**
 * Maximum milliseconds for which the response to a mutation waits until its purge has reached Redis. If the phase took
 * longer than the service's `read_timeout`, the client would get an error for a mutation that the service has executed.
 */
const MAX_PURGE_WAIT = 500;

/** Milliseconds until the first and before the last repetition of a purge: seven within about two minutes. */
const FIRST_WAIT = 1000;
const LAST_WAIT = 64_000;
/** Purges that are repeated at the same time. Above this, the oldest one is not repeated any more. */
const MAX_REPEATED = 1000;

/** Types of responses whose head is sent when the mutation has been executed. Streams begin before. */
const RESULT_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

type Names = readonly string[];

interface StreamedMutation {
  readonly names: Names;
  isComplete: boolean;
}

export interface MutationPurgesOptions {
  readonly counts: PurgeCounts;
  readonly timers: PluginContext["timers"];
  /** @param exchange Absent if a purge is repeated */
  readonly onError: (error: unknown, exchange?: Exchange) => void;
}

export class MutationPurges {
  readonly #options: MutationPurgesOptions;
  /** What mutations purge that have been forwarded. */
  readonly #changed = new ExchangeValues<Names>();
  /** Mutations whose results are sent as a stream. */
  readonly #streamed = new ExchangeValues<StreamedMutation>();
  /** The next repetition of each purge, by the service and the names. */
  readonly #repeated = new Map<string, PluginTimer>();

  constructor(options: MutationPurgesOptions) {
    this.#options = options;
  }

  /** @param names What the request purges, which is no query; empty: nothing */
  expect(exchange: Exchange, names: Names): void {
    this.#changed.set(exchange, names);
    if (exchange.request.header("upgrade") !== undefined)
      resultPurges.set(exchange, (each, isExecuted) => void this.#purge(exchange, each, isExecuted));
  }

  isExpected(exchange: Exchange): boolean {
    return (this.#changed.get(exchange)?.length ?? 0) > 0;
  }

  /** Null: the exchange purges nothing, or its results are purged. Errors are reported. */
  purge(exchange: Exchange): Promise<void> | null {
    const names = this.#changed.get(exchange) ?? [];
    this.#changed.delete(exchange);
    if (names.length === 0 || exchange.attempts.length === 0) return null;
    const isAnswered = exchange.source === "service";
    if (isAnswered && !RESULT_TYPE.test(exchange.responseHeaderValues("content-type")[0] ?? ""))
      this.#streamed.set(exchange, { names, isComplete: false });
    return this.#purge(exchange, names, isAnswered);
  }

  /** As `purge`, and resolves after MAX_PURGE_WAIT at the latest. */
  purgeAndWait(exchange: Exchange): Promise<undefined> | undefined {
    const purged = this.purge(exchange);
    return purged === null ? undefined : this.#endOf(purged);
  }

  /** Null: the end of the body does not matter. */
  observer(exchange: Exchange): BodyObserver | null {
    const streamed = this.#streamed.get(exchange);
    if (streamed === undefined) return null;
    return {
      observe() {},
      complete() {
        streamed.isComplete = true;
      },
    };
  }

  /** To be called when the exchange has ended, also if its client has disconnected before the response. */
  end(exchange: Exchange): void {
    void this.purge(exchange);
    const streamed = this.#streamed.get(exchange);
    if (streamed !== undefined) void this.#purge(exchange, streamed.names, streamed.isComplete);
  }

  /** @param isExecuted Whether the service has executed the mutation */
  #purge(exchange: Exchange, names: Names, isExecuted: boolean): Promise<void> | null {
    if (!isExecuted) this.#repeat(exchange.service, names, FIRST_WAIT);
    const { counts, onError } = this.#options;
    const failed = (error: unknown) => onError(error, exchange);
    return counts.add(exchange, names)?.then(() => undefined, failed) ?? null;
  }

  #repeat(service: Exchange["service"], names: Names, wait: number): void {
    const { counts, onError, timers } = this.#options;
    const key = `${service?.id}:${names}`;
    this.#cancel(key);
    const [oldest] = this.#repeated.keys();
    if (oldest !== undefined && this.#repeated.size >= MAX_REPEATED) this.#cancel(oldest);
    const timer = timers.after(wait, () => {
      this.#repeated.delete(key);
      if (wait < LAST_WAIT) this.#repeat(service, names, 2 * wait);
      void counts.add({ service }, names)?.catch((error: unknown) => onError(error));
    });
    this.#repeated.set(key, timer);
  }

  #cancel(key: string): void {
    this.#repeated.get(key)?.cancel();
    this.#repeated.delete(key);
  }

  async #endOf(purged: Promise<void>): Promise<undefined> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = this.#options.timers.after(MAX_PURGE_WAIT, resolve);
    await Promise.race([purged, late]);
    timer.cancel();
  }
}
