/**
 * Follows one kind: lists it, and then watches it. A watch that ends is resumed at its last position. Pure apart from
 * its transport and clock.
 *
 * Like client-go's reflector, and unlike client-node's informer, it has bookmarks, server-side timeouts, a watchdog for
 * silent streams and delays with jitter, and it never ends before its signal aborts.
 */
import type { Log } from "../../log.ts";
import { createNotifier } from "../../notifier.ts";
import { type Kind, type Observer, type Resource, UnknownKind } from "../../resource.ts";
import { ApiServerError, type ApiStatus } from "../api/api-server-error.ts";

export interface ListPage {
  readonly items: readonly Resource[];
  readonly resourceVersion: string;
  /** The token of the next page. */
  readonly continue?: string;
}

export type WatchEvent =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; readonly object: Resource }
  | { readonly type: "ERROR"; readonly object: ApiStatus };

export interface ListQuery {
  readonly limit?: number;
  readonly continue?: string;
}

/**
 * Both methods reject with an ApiServerError when the server refuses, with UnknownKind when it does not serve the kind,
 * with another error when the network fails, and on abort.
 */
export interface ListerWatcher {
  list(query: ListQuery, signal: AbortSignal): Promise<ListPage>;
  watch(
    query: { readonly resourceVersion: string; readonly timeoutSeconds: number },
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent>>;
}

export interface Clock {
  /** Monotonic, in milliseconds. */
  now(): number;
  /** A random number in [0, 1). */
  random(): number;
  /** Resolves early, and never rejects, when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export interface ReflectorOptions {
  /** The kind that log lines name. */
  readonly kind: Kind;
  readonly listerWatcher: ListerWatcher;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly log: Log;
  readonly signal: AbortSignal;
  /**
   * Returns a signal that aborts once the connection is known to work again. The reflector then restarts the open watch
   * and a hanging list, and ends the delay before the next attempt, unless the server asked for this delay. Called
   * before each attempt and each page of a list. Default: returns `signal`.
   */
  readonly reconnect?: () => AbortSignal;
}

/**
 * Milliseconds before the first retry, as in client-go's reflector. The delay doubles with each further retry, and
 * jitter makes it up to twice as long.
 */
const firstBackoff = 800;
/** The longest delay between attempts in milliseconds, including jitter. */
const longestBackoff = 30_000;
const pageSize = 500;
const watchSeconds = 300;
/**
 * Milliseconds. Bookmarks come once a minute. A late bookmark means a dead connection or a busy server: opening the
 * next watch shows which, at hardly any cost to the server.
 */
export const silenceLimit = 75_000;
/** Milliseconds. A watch that lived this long, or delivered an event, counts as healthy. */
const healthyAfter = 5_000;
/**
 * Milliseconds. A page that has been pending this long may have been requested on a dead connection: it is aborted when
 * the connection works again. A younger request is kept until it has been pending this long, so that a long list
 * completes while its pages arrive, however often `reconnect` fires. This time is longer than the connection's own
 * wait for a Retry-After.
 */
export const LIST_PATIENCE = 6_000;
/** Milliseconds. Longer Retry-After delays are cut: a proxy may ask for hours and recover in a minute. */
const maxRetryAfter = 60_000;
/** Milliseconds that the server may be away (a restart takes seconds) before the kind counts as lost. */
const lostAfter = 15_000;
/** Milliseconds. A periodic full list finds changes that a stream has missed. */
const relistAfter = 30 * 60_000;

/** Resolves when the signal has aborted; never rejects. */
export async function runReflector(options: ReflectorOptions): Promise<void> {
  const { kind, listerWatcher, clock, observer, log, signal, reconnect = () => signal } = options;
  const tell = createNotifier({ kind, log, signal });
  /** Milliseconds; reset to the first delay by a healthy watch and by the reconnect signal. */
  let backoff = firstBackoff;
  /** Where the watch resumes; undefined: list first. */
  let version: string | undefined;
  let listedAt = 0;
  /** Whether no healthy watch has followed the last list yet. */
  let isListUnconfirmed = false;
  /**
   * Doubled whenever a list is aborted, until a list completes: otherwise a slow server on an unstable connection would
   * never complete a list.
   */
  let patienceForPage = LIST_PATIENCE;
  let outage: { readonly since: number; logged?: string } | undefined;
  let failure: string | null = null;

  function reportFailure(error: Error | null): void {
    const message = error?.message ?? null;
    if (message === failure) return;
    failure = message;
    tell(() => observer.failure?.(error));
  }

  /** Reports whether the request succeeded. A 410 for an expired version is not reported as a failure. */
  async function trackOutcome<Answer>(asked: Promise<Answer>, cutOff: AbortSignal): Promise<Answer> {
    try {
      const answer = await asked;
      reportFailure(null);
      return answer;
    } catch (error) {
      if (!cutOff.aborted) reportFailure(isExpired(error) ? null : errorOf(error));
      throw error;
    }
  }

  async function listPage(query: ListQuery): Promise<ListPage> {
    const attempt = new AbortController();
    const either = AbortSignal.any([signal, attempt.signal]);
    const cutOff = reconnect();
    const askedAt = clock.now();
    const giveUp = async () => {
      const left = askedAt + patienceForPage - clock.now();
      if (left > 0) await clock.sleep(left, either);
      if (either.aborted) return;
      patienceForPage *= 2;
      attempt.abort();
    };
    cutOff.addEventListener("abort", giveUp);
    try {
      return await listerWatcher.list(query, either);
    } finally {
      cutOff.removeEventListener("abort", giveUp);
      attempt.abort();
    }
  }

  async function list(cutOff: AbortSignal): Promise<void> {
    const page = await trackOutcome(listAll({ list: listPage }, signal), cutOff);
    if (signal.aborted) return;
    patienceForPage = LIST_PATIENCE;
    if (outage) log.info({ kind }, "the kind can be read again");
    outage = undefined;
    listedAt = clock.now();
    isListUnconfirmed = true;
    version = page.resourceVersion;
    tell(() => observer.replaced(page.items));
  }

  function confirmWatch(): void {
    if (outage) log.info({ kind }, "the watch resumes after its last event");
    outage = undefined;
    isListUnconfirmed = false;
    backoff = firstBackoff;
  }

  async function follow(resourceVersion: string, cutOff: AbortSignal): Promise<void> {
    const attempt = new AbortController();
    const either = AbortSignal.any([signal, cutOff, attempt.signal]);
    const startedAt = clock.now();
    let heardAt = startedAt;
    let opened = false;
    let heard = false;
    const watchdog = async () => {
      while (!either.aborted) {
        await clock.sleep(heardAt + silenceLimit - clock.now(), either);
        if (clock.now() - heardAt >= silenceLimit) attempt.abort();
      }
    };
    const guard = watchdog();
    try {
      const timeoutSeconds = Math.round(watchSeconds * (1 + clock.random()));
      const opening = listerWatcher.watch({ resourceVersion, timeoutSeconds }, either);
      const inTime = opening.catch((error) => Promise.reject(attempt.signal.aborted ? watchOpenTimeout() : error));
      const events = await trackOutcome(inTime, cutOff);
      opened = true;
      for await (const event of events) {
        if (either.aborted) return;
        heardAt = clock.now();
        if (event.type === "ERROR") throw new ApiServerError(event.object.code ?? 500, event.object);
        heard = true;
        confirmWatch();
        version = event.object.metadata.resourceVersion ?? version;
        if (event.type === "DELETED") tell(() => observer.removed(event.object));
        else if (event.type !== "BOOKMARK") tell(() => observer.changed(event.object));
      }
      const shortLived = !heard && clock.now() - startedAt < healthyAfter;
      if (shortLived && !either.aborted) throw new Error("the watch ended as soon as it began");
    } catch (error) {
      // A silent stream may be dead or merely quiet: opening the next one shows which.
      if (!attempt.signal.aborted || !opened) throw error;
      log.info({ kind }, "the watch delivered nothing in time; opening another one");
    } finally {
      if (opened && !attempt.signal.aborted && clock.now() - startedAt >= healthyAfter) confirmWatch();
      attempt.abort();
      await guard;
    }
  }

  function report(error: Error): void {
    if (!outage) {
      const message = "cannot list or watch resources; trying again";
      // Only the observer knows whether a missing kind is an error: some kinds are optional.
      if (error instanceof UnknownKind) log.info({ kind, reason: error.message }, message);
      else log.warn({ kind, error: error.message }, message);
    }
    outage ??= { since: clock.now() };
    const refused =
      error instanceof UnknownKind ||
      (error instanceof ApiServerError && error.code >= 400 && error.code < 500 && error.code !== 429);
    if (version !== undefined && !refused && clock.now() - outage.since < lostAfter) return;
    // From here on only a list makes the kind synced again: observers get `replaced` after `lost`.
    version = undefined;
    if (outage.logged === error.message) return;
    outage.logged = error.message;
    tell(() => observer.lost?.(error));
  }

  /** The reconnect signal ends the backoff, but not a delay that the server asked for. */
  async function waitForRetry(error: Error, cutOff: AbortSignal): Promise<void> {
    const asked = Math.min(error instanceof ApiServerError ? (error.retryAfter ?? 0) : 0, maxRetryAfter);
    const wait = Math.min(backoff * (1 + clock.random()), longestBackoff);
    backoff = Math.min(backoff * 2, longestBackoff);
    if (asked > 0) await clock.sleep(asked, signal);
    if (wait > asked) await clock.sleep(wait - asked, AbortSignal.any([signal, cutOff]));
  }

  while (!signal.aborted) {
    // Obtained before the attempt, so that an attempt that hangs while the connection recovers is cut off.
    const cutOff = reconnect();
    try {
      if (version === undefined || clock.now() - listedAt >= relistAfter) await list(cutOff);
      else await follow(version, cutOff);
    } catch (thrown) {
      if (signal.aborted) return;
      const error = errorOf(thrown);
      if (isExpired(error)) {
        // The version has expired on the server: list at once, but only once per healthy watch.
        version = undefined;
        if (!isListUnconfirmed) continue;
      }
      if (!cutOff.aborted) report(error);
      await waitForRetry(error, cutOff);
    }
    if (cutOff.aborted) backoff = firstBackoff;
  }
}

const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

const isExpired = (error: unknown): boolean => error instanceof ApiServerError && error.code === 410;

const watchOpenTimeout = () => new Error(`the API server did not open the watch in ${silenceLimit / 1000} s`);

/**
 * The whole list, requested in pages. If its version expires between two pages, the list is requested again without
 * pages, as in client-go.
 */
export async function listAll(listerWatcher: Pick<ListerWatcher, "list">, signal: AbortSignal): Promise<ListPage> {
  const items: Resource[] = [];
  let page = await listerWatcher.list({ limit: pageSize }, signal);
  items.push(...page.items);
  while (page.continue) {
    try {
      page = await listerWatcher.list({ limit: pageSize, continue: page.continue }, signal);
    } catch (error) {
      if (isExpired(error)) return listerWatcher.list({}, signal);
      throw error;
    }
    items.push(...page.items);
  }
  return { items, resourceVersion: page.resourceVersion };
}
