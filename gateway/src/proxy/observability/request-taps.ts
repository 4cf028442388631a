/**
 * Records requests while a caller of the admin API watches them. A watcher reads its records every second or so; each
 * read returns the records since the previous read. Without a watcher, a request costs one comparison.
 */
import type { RequestWatch, WatchedRequest, WatchedRequests } from "@sluice/model";
import { matchesIdOrName } from "../../exchange/entity-name.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import type { RejectedRequest, RequestObserver } from "./observer.ts";
import { boundedHost, exchangeRecord, refusalRecord, withoutQuery } from "./request-records.ts";

/** Milliseconds after its last read for which a watch is kept. */
const LIFETIME = 10_000;
/** Maximum number of records between two reads. */
const MAX_RECORDS = 500;
/** Maximum number of watches at a time. */
const MAX_WATCHES = 10;

interface Tap {
  readonly watch: RequestWatch;
  /** By `performance.now()`. */
  expires: number;
  records: WatchedRequest[];
  /** Requests that were selected after `records` was full. */
  missed: number;
}

export class RequestTaps implements RequestObserver {
  /** By the watch's id. */
  readonly #taps = new Map<string, Tap>();

  finished(exchange: LiveExchange): void {
    if (this.#taps.size === 0) return;
    const { timings, status, route, service, consumer } = exchange;
    const { started, ended = started } = timings;
    for (const tap of this.#openTaps(ended)) {
      const { watch } = tap;
      const isWatched =
        matchesIdOrName(route, watch.route) &&
        matchesIdOrName(service, watch.service) &&
        matchesIdOrName(consumer, watch.consumer) &&
        hasStatus(status, watch.status) &&
        ended - started >= watch.min_latency;
      if (isWatched)
        keep(tap, () => ({ ...exchangeRecord(exchange, withoutQuery), host: boundedHost(exchange.request) }));
    }
  }

  rejected(refusal: RejectedRequest): void {
    if (this.#taps.size === 0) return;
    for (const tap of this.#openTaps(performance.now())) {
      const { route, service, consumer, status, min_latency } = tap.watch;
      const isUnnamed = route === null && service === null && consumer === null;
      if (isUnnamed && hasStatus(refusal.status, status) && refusal.duration >= min_latency)
        keep(tap, () => ({
          ...refusalRecord(refusal),
          host: refusal.request ? boundedHost(refusal.request) : undefined,
        }));
    }
  }

  /** The records since the last read of the watch; begins the watch if it is not known. */
  read(watch: RequestWatch, now = performance.now()): WatchedRequests {
    this.#openTaps(now);
    let tap = this.#taps.get(watch.watch);
    if (tap === undefined) {
      if (this.#taps.size >= MAX_WATCHES) return { requests: [], missed: 0, is_full: true };
      tap = { watch, expires: 0, records: [], missed: 0 };
      this.#taps.set(watch.watch, tap);
    }
    const { records, missed } = tap;
    tap.expires = now + LIFETIME;
    tap.records = [];
    tap.missed = 0;
    return { requests: records, missed, is_full: false };
  }

  #openTaps(now: number): Iterable<Tap> {
    for (const [id, { expires }] of this.#taps) if (expires < now) this.#taps.delete(id);
    return this.#taps.values();
  }
}

/** @param wanted A status such as 404, or a class such as 4 */
const hasStatus = (status: number, wanted: number | null): boolean =>
  wanted === null || status === wanted || Math.floor(status / 100) === wanted;

function keep(tap: Tap, record: () => { readonly request_id: string }): void {
  if (tap.records.length >= MAX_RECORDS) tap.missed++;
  // A copy, because a string may be a slice of the request's head, which would stay in memory too.
  else tap.records.push(structuredClone({ time: new Date().toISOString(), ...record() }));
}
