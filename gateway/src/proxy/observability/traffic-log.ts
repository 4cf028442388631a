/**
 * Counts the requests of each route, consumer and operation in intervals of ten seconds, and remembers when each route,
 * consumer and credential was last used, to the minute. A route is used by every request that matches it; a consumer
 * and a credential are used when a plugin authenticates a request with them.
 */
import type { EntityName, LastUses, OperationTraffic, Traffic, TrafficCounts, UsedCollection } from "@sluice/model";
import type { OperationRecorder, RecordedOperation } from "@sluice/plugin-sdk";
import { idAndNameOf, type NamedEntity } from "../../exchange/entity-name.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { LatencyHistogram } from "./latency-histogram.ts";
import { sumCounts } from "./merge-traffic.ts";
import type { RejectedRequest, RequestObserver } from "./observer.ts";
import { isRefused, responseStart } from "./request-records.ts";

/** Milliseconds of an interval. */
const INTERVAL = 10_000;
const MINUTE = 60_000;
/** Maximum number of entities whose last use is remembered; those whose last use is the oldest are forgotten. */
const MAX_ENTITIES = 100_000;
/** Maximum number of routes, of consumers, and of operations, that are counted separately in an interval. */
const MAX_COUNTED = 1000;
const FIRST_CLIENT_ERROR = 400;
const FIRST_SERVER_ERROR = 500;

class Counts {
  /** Null: all requests, or those of all entities that are not counted separately. */
  readonly entity: EntityName | null;
  readonly service: EntityName | null;
  readonly latencies = new LatencyHistogram();
  requests = 0;
  clientErrors = 0;
  serverErrors = 0;
  refused = 0;

  constructor(entity: EntityName | null = null, service: EntityName | null = null) {
    this.entity = entity;
    this.service = service;
  }

  add(status: number, isRefused: boolean, latency: number): void {
    this.requests++;
    if (status >= FIRST_SERVER_ERROR) this.serverErrors++;
    else if (status >= FIRST_CLIENT_ERROR) this.clientErrors++;
    if (isRefused) this.refused++;
    this.latencies.add(latency);
  }

  report(): TrafficCounts {
    const { entity, service, requests, refused } = this;
    return {
      entity,
      service,
      requests,
      client_errors: this.clientErrors,
      server_errors: this.serverErrors,
      refused,
      latencies: this.latencies.buckets(),
    };
  }
}

/** `owner` is the id of the service, or of the route if it has no service. */
type OperationFacts = Pick<OperationTraffic, "type" | "hash"> & { readonly owner: string; readonly name: string };

class OperationCounts extends Counts {
  readonly #facts: OperationFacts;
  failed = 0;

  constructor(id: string, service: EntityName | null, facts: OperationFacts) {
    super({ id, name: facts.name }, service);
    this.#facts = facts;
  }

  isOf({ owner, type, name, hash }: OperationFacts): boolean {
    const own = this.#facts;
    return name === own.name && hash === own.hash && owner === own.owner && type === own.type;
  }

  override report(): OperationTraffic {
    const { type, hash } = this.#facts;
    return { ...super.report(), type, hash, failed: this.failed };
  }
}

class Interval {
  /** Requests without a route. */
  readonly unrouted = new Counts();
  /** Sums over the routes, and over the consumers, that are not counted separately. */
  readonly others = { routes: new Counts(), consumers: new Counts() };
  /** By id. */
  readonly routes = new Map<string, Counts>();
  readonly consumers = new Map<string, Counts>();
  readonly credentials = new Set<string>();
  /** By the id of the service (or of the route if it has no service), and the type, name and hash of the operation. */
  readonly operations = new Map<string, OperationCounts>();
  /** The counts of the last request's operation. */
  last: OperationCounts | null = null;
}

export class TrafficLog implements RequestObserver, OperationRecorder {
  readonly #since = Math.floor(Date.now() / 1000);
  /** By id: the minute of the last use, in Unix time. The entity that was used last comes last. */
  readonly #minutes: Readonly<Record<UsedCollection, Map<string, number>>> = {
    routes: new Map(),
    consumers: new Map(),
    credentials: new Map(),
  };
  #current = new Interval();
  /** The last complete interval. */
  #complete = new Interval();
  /**
   * When the current interval ends, by `performance.now()`. The intervals of all workers and nodes end at the same
   * times, so that their counts can be added, and every interval lies within one minute of the clock.
   */
  #end = performance.now() + INTERVAL - (Date.now() % INTERVAL);

  finished(exchange: LiveExchange): void {
    const { route, consumer, credential, timings, status } = exchange;
    const { started, ended = started } = timings;
    if (ended >= this.#end) this.#beginInterval(ended);
    const { routes, consumers, credentials } = this.#current;
    const refused = isRefused(exchange);
    const latency = responseStart(exchange) - started;
    const counts = routes.get(route.id) ?? this.#beginCounting("routes", route, exchange.service);
    counts.add(status, refused, latency);
    if (consumer !== null) {
      const own = consumers.get(consumer.id) ?? this.#beginCounting("consumers", consumer);
      own.add(status, refused, latency);
    }
    if (credential !== null && !credentials.has(credential.id)) {
      credentials.add(credential.id);
      this.#use("credentials", credential.id);
    }
  }

  /** A request without a route is part of the total only. */
  rejected({ status, duration }: RejectedRequest): void {
    const now = performance.now();
    if (now >= this.#end) this.#beginInterval(now);
    this.#current.unrouted.add(status, true, duration);
  }

  record({ exchange, type, name, hash = "", failed, duration }: RecordedOperation): void {
    const { service, route, status, source, timings } = exchange;
    const { started, ended = started } = timings;
    const at = duration === undefined ? ended : performance.now();
    if (at >= this.#end) this.#beginInterval(at);
    const facts: OperationFacts = { owner: (service ?? route).id, type, name, hash };
    const counts = this.#current.last?.isOf(facts) ? this.#current.last : this.#countsOf(facts, service);
    if (counts === null) return;
    this.#current.last = counts;
    counts.add(status, source === "gateway" && status >= FIRST_CLIENT_ERROR, duration ?? ended - started);
    if (failed) counts.failed++;
  }

  /** The requests of the last complete interval. */
  traffic(now = performance.now()): Traffic {
    if (now >= this.#end) this.#beginInterval(now);
    const { unrouted, others, routes, consumers, operations } = this.#complete;
    const reported = reportOf(routes);
    // Summed here, so that a request is counted once.
    const total = sumCounts([...reported, others.routes.report(), unrouted.report()]);
    return {
      seconds: INTERVAL / 1000,
      total,
      routes: reported,
      consumers: reportOf(consumers),
      operations: [...operations.values()].map((each) => each.report()),
    };
  }

  lastUses(collection: UsedCollection): LastUses {
    const uses = [...this.#minutes[collection]].map(([id, minute]) => [id, (minute * MINUTE) / 1000] as const);
    return { since: this.#since, last_uses: Object.fromEntries(uses) };
  }

  /** The counts for the current interval; null: too many other operations are counted. */
  #countsOf(facts: OperationFacts, service: NamedEntity | null): OperationCounts | null {
    const { operations } = this.#current;
    const { owner, type, name, hash } = facts;
    const id = `${owner} ${type} ${name}${hash === "" ? "" : ` ${hash}`}`;
    const known = operations.get(id);
    if (known !== undefined) return known;
    if (operations.size >= MAX_COUNTED) return null;
    const counts = new OperationCounts(id, service && idAndNameOf(service), facts);
    operations.set(id, counts);
    return counts;
  }

  /** Returns the counts of the entity for the current interval. */
  #beginCounting(collection: "routes" | "consumers", entity: NamedEntity, service: NamedEntity | null = null): Counts {
    const { [collection]: counted, others } = this.#current;
    const isCounted = counted.size < MAX_COUNTED;
    const counts = isCounted ? new Counts(idAndNameOf(entity), service && idAndNameOf(service)) : others[collection];
    counted.set(entity.id, counts);
    this.#use(collection, entity.id);
    return counts;
  }

  /** Called once for each entity and interval, so that all other requests need a single lookup in a map. */
  #use(collection: UsedCollection, id: string): void {
    const minutes = this.#minutes[collection];
    minutes.delete(id);
    const [oldest] = minutes.keys();
    if (minutes.size >= MAX_ENTITIES && oldest !== undefined) minutes.delete(oldest);
    minutes.set(id, Math.floor(Date.now() / MINUTE));
  }

  #beginInterval(now: number): void {
    // After a pause, the last complete interval had no requests.
    this.#complete = now < this.#end + INTERVAL ? this.#current : new Interval();
    this.#current = new Interval();
    this.#end += INTERVAL * Math.ceil((now - this.#end + 1) / INTERVAL);
  }
}

const reportOf = (counts: ReadonlyMap<string, Counts>): readonly TrafficCounts[] =>
  [...counts.values()].filter(({ entity }) => entity !== null).map((each) => each.report());
