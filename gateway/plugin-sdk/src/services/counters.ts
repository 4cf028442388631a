/**
 * Counters in fixed windows, and leaky buckets. Implementations: thread (one worker), shared (all workers of a node),
 * redis, database and fleet (no buckets). All pass the same test suites.
 */
import type { PluginScope } from "./instance.ts";

export const periods = ["second", "minute", "hour", "day", "month", "year"] as const;
export type Period = (typeof periods)[number];

/**
 * What a node does with requests while the node that owns a counter of policy fleet does not answer. share: it admits
 * at most the limit divided by the number of nodes, rounded down. open: it admits all; closed: none.
 */
export const fleetFallbacks = ["share", "open", "closed"] as const;
export type FleetFallback = (typeof fleetFallbacks)[number];

/** Where counters are kept. The members are those of the config of rate-limiting. */
export interface CounterOptions {
  readonly policy: "local" | "cluster" | "redis" | "fleet";
  /** For policy fleet. Default: share. */
  readonly fleet_fallback?: FleetFallback;
  /** Seconds between two synchronizations with Redis; -1: every request counts in Redis. */
  readonly sync_rate: number;
  readonly redis: RedisServer;
}

/** A Redis server, as the record `redis` of a config describes it. */
export interface RedisServer {
  readonly host: string | null;
  readonly port: number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly username: string | null;
  readonly password: string | null;
  readonly database: number;
  readonly ssl: boolean;
  readonly ssl_verify: boolean;
  readonly server_name: string | null;
}

/** The counter of one identifier, such as a consumer or an address, in one window of a period, with its limit. */
export interface Counter {
  /** The scope of the plugin and the identifier, which identify the counter apart from its window. */
  readonly name: string;
  /**
   * The scope of the plugin instance. If the number of counters has reached a bound, a new counter replaces one
   * of the scope with the most counters, so that a flood of made-up identifiers affects its own scope first.
   */
  readonly scope: string;
  readonly period: Period;
  /** Unix milliseconds of the window's start (UTC calendar units, including month and year). */
  readonly windowStart: number;
  /** Unix milliseconds of the window's end, after which the counter may be dropped. */
  readonly expires: number;
  /** Maximum sum of the amounts of admitted requests. A fraction is rounded up. */
  readonly limit: number;
  /**
   * What `incrementBelowLimit` adds: a whole number of at least 1, such as the cost of the request. Default: 1. With
   * policy cluster, it must be 1. With policy fleet, all counters of a call must have the same amount.
   */
  readonly amount?: number;
  /** Absent: the window is fixed. Either all counters of a call have it, or none. */
  readonly sliding?: SlidingWindow;
}

/**
 * A window that slides: the counter's value is an estimate, the amounts of its own window and a part of those of the
 * window before, rounded up. The estimate never exceeds the limit when a request is admitted.
 */
export interface SlidingWindow {
  /** Unix milliseconds of the start of the window before, which ends when the counter's own window begins. */
  readonly previousStart: number;
  /** Unix milliseconds of the end of the counter's own window. Its `expires` is the end of the next one. */
  readonly end: number;
  /** The part of the window before that counts now: 1 at the start of the own window, and 0 at its end. */
  readonly weight: number;
}

export interface CounterResult {
  readonly admitted: boolean;
  /** The counters' values after the call, in the given order; unchanged if the request was not admitted. */
  readonly counts: readonly number[];
  /** For sliding windows: the amounts of the windows before, without a weight. */
  readonly previous?: readonly number[];
}

/** Maximum of `Bucket.burst`. */
export const MAX_BURST = 1_000_000;

/** Minimum of `Bucket.interval` in milliseconds: 50,000 requests per second. */
export const MIN_INTERVAL = 0.02;

/**
 * The bucket of one identifier. Each admitted request raises the level by one, and one request leaks out in every
 * interval. A request is admitted while the level is at most `burst`. So an empty bucket admits `1 + burst` requests at
 * once, and later one request per interval, like limit_req of nginx with `nodelay`.
 */
export interface Bucket {
  /** The scope of the plugin and the identifier, which identify the bucket apart from its period and interval. */
  readonly name: string;
  /** As `Counter.scope`. */
  readonly scope: string;
  readonly period: Period;
  /**
   * Milliseconds between two requests at the permitted rate. Times are rounded to 1/1024 of it, without errors that add
   * up. A bucket with another interval is another bucket.
   */
  readonly interval: number;
  /** A whole number of requests. */
  readonly burst: number;
}

export interface BucketResult {
  readonly admitted: boolean;
  /**
   * The levels after the call in requests, in the given order; they have a fraction. If the request was not admitted,
   * it is not included.
   */
  readonly levels: readonly number[];
}

export interface Counters {
  /**
   * Adds its amount to every counter, unless one of them would exceed its limit: then none changes. So a request that
   * the limit per second rejects does not use up the limit per hour (as in Kong's local policy). Atomic: over any number
   * of callers, the admitted amounts never exceed `limit`, unless `sync_rate` lets nodes count separately. If the counters are
   * not in this process, the result is a promise, which rejects when they cannot be reached.
   */
  incrementBelowLimit(counters: readonly Counter[], options: CounterOptions): CounterResult | Promise<CounterResult>;
  /**
   * Adds an amount (a whole number of at least 0) to every counter, whatever its limit, and returns the counters'
   * values. With 0, the values are read, and no counter is created. Atomic for each counter. With policy redis every
   * call counts in Redis, whatever the `sync_rate`. With policy fleet, a node that does not reach the owner of a counter
   * returns the value that it knows, and tells the owner later.
   */
  addAmount(
    counters: readonly Counter[],
    amount: number,
    options: CounterOptions,
  ): readonly number[] | Promise<readonly number[]>;
  /**
   * Adds one request to every bucket, unless one of them is too full: then none changes. Atomic: over any number of
   * callers, exactly as many requests are admitted as the buckets allow. With policy redis every call counts in Redis,
   * whatever the `sync_rate`. With the policies cluster and fleet, the promise rejects.
   *
   * @param now Unix milliseconds
   */
  fillBuckets(buckets: readonly Bucket[], now: number, options: CounterOptions): BucketResult | Promise<BucketResult>;
  /** The levels of the buckets, in requests. Changes nothing. */
  bucketLevels(
    buckets: readonly Bucket[],
    now: number,
    options: CounterOptions,
  ): readonly number[] | Promise<readonly number[]>;
  /**
   * Why this node cannot count by the policy at all; null: it can. A plugin whose `phases` throws for this reason
   * answers 503. Absent: it can count by every policy.
   */
  unavailableReason?(policy: CounterOptions["policy"]): string | null;
  /** Closes connections and timers. */
  close(): Promise<void>;
}

/** Counters without buckets, such as those in the database. */
export type WindowCounters = Pick<Counters, "incrementBelowLimit" | "addAmount" | "close">;

/**
 * The part of a counter's name that derives from the plugin's scope. The plugin's id is not used, so that a plugin that
 * is deleted and created again continues its counts.
 */
export function counterScope({ routeId, serviceId, consumerId, consumerGroupId }: PluginScope): string {
  const owner = consumerGroupId === null ? (consumerId ?? "-") : `group-${consumerGroupId}`;
  return `${routeId ?? "-"}:${serviceId ?? "-"}:${owner}`;
}

/** Logs a problem for the administrator of the node; `facts` contain no secrets. */
export type Warn = (message: string, facts: Readonly<Record<string, unknown>>) => void;
