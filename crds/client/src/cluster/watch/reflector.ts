/**
 * Follows one kind: a list, then a watch that resumes where it broke. Pure but for its transport and clock.
 *
 * It does what client-go's reflector does and client-node's informer does not: bookmarks, server-side timeouts,
 * a watchdog for streams that went silent, waits with jitter, and no way to die before its signal aborts.
 */
import type { Log } from "../../log.ts";
import { createNotifier } from "../../notifier.ts";
import { type Kind, type Observer, type Resource, UnknownKind } from "../../resource.ts";
import { ApiServerError, type ApiStatus } from "../api/api-server-error.ts";
import { createBackoff } from "./backoff.ts";

export interface Page {
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

/** Both reject with a Fault for what the server refuses, with anything else for the network, and end on abort. */
export interface ListerWatcher {
  list(query: ListQuery, signal: AbortSignal): Promise<Page>;
  watch(
    query: { readonly resourceVersion: string; readonly timeoutSeconds: number },
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent>>;
}

export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  /** In [0, 1). */
  random(): number;
  /** Resolves early, and never rejects, when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export interface ReflectorOptions {
  /** For the log. */
  readonly kind: Kind;
  readonly listerWatcher: ListerWatcher;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly log: Log;
  readonly signal: AbortSignal;
  /**
   * Aborts when the way is known to be whole again: a watch that is open now is opened anew, a list that hangs is begun
   * anew, and nobody waits any more until the next attempt but for what the server asked. Asked for each of them.
   * Default: never.
   */
  readonly reconnect?: () => AbortSignal;
}

const pageSize = 500;
const watchSeconds = 300;
/**
 * Bookmarks come once a minute. One that is late means a dead connection, or a server that has much to do: opening the
 * next watch tells, and costs it next to nothing.
 */
export const silenceLimit = 75_000;
/** A watch that lived this long, or brought an event, was a good one. */
const healthyAfter = 5_000;
/**
 * A page of a list that has been waited for so long may have been asked for on a way that had died: it is given up when
 * the way is whole again. One that is younger gets its time, so that a long list goes on while its pages come, however
 * often we are told. Longer than the connection itself waits when the server asks it to.
 */
export const LIST_PATIENCE = 6_000;
/** What stands before an API server may ask for hours, and be gone in a minute. */
const maxRetryAfter = 60_000;
/** How long the server may be away (a restart takes seconds) before the kind counts as lost. */
const lostAfter = 15_000;
/** Never trust a stream alone: a full list now and then finds what it may have missed. */
const relistAfter = 30 * 60_000;

/** Resolves when the signal has aborted; never rejects. */
export async function runReflector(options: ReflectorOptions): Promise<void> {
  const { kind, listerWatcher, clock, observer, log, signal, reconnect = () => signal } = options;
  const tell = createNotifier({ kind, log, signal });
  const backoff = createBackoff(() => clock.random());
  /** Where to resume; undefined: list first. */
  let version: string | undefined;
  let listedAt = 0;
  /** The last list has not been followed by a good watch yet. */
  let isListUnconfirmed = false;
  /**
   * Doubled whenever a list is given up until one has ended: a server that is slower than this, while the way comes and
   * goes, would else never bring a list to its end.
   */
  let patienceForPage = LIST_PATIENCE;
  let outage: { readonly since: number; told?: string } | undefined;
  let trouble: string | null = null;

  function reportTrouble(error: Error | null): void {
    const message = error?.message ?? null;
    if (message === trouble) return;
    trouble = message;
    tell(() => observer.trouble?.(error));
  }

  /** Whether the server answers: a version that it has forgotten is an answer. */
  async function trackOutcome<Answer>(asked: Promise<Answer>, cutOff: AbortSignal): Promise<Answer> {
    try {
      const answer = await asked;
      reportTrouble(null);
      return answer;
    } catch (error) {
      if (!cutOff.aborted) reportTrouble(isExpired(error) ? null : errorOf(error));
      throw error;
    }
  }

  async function listPage(query: ListQuery): Promise<Page> {
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
    if (outage) log.info({ kind }, "the kind is readable again");
    outage = undefined;
    listedAt = clock.now();
    isListUnconfirmed = true;
    version = page.resourceVersion;
    tell(() => observer.replaced(page.items));
  }

  function confirmWatch(): void {
    if (outage) log.info({ kind }, "the watch goes on where it broke");
    outage = undefined;
    isListUnconfirmed = false;
    backoff.reset();
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
      // A silent stream may be dead or merely quiet: opening the next one tells.
      if (!attempt.signal.aborted || !opened) throw error;
      log.info({ kind }, "the watch went silent; opening another one");
    } finally {
      if (opened && !attempt.signal.aborted && clock.now() - startedAt >= healthyAfter) confirmWatch();
      attempt.abort();
      await guard;
    }
  }

  function report(error: Error): void {
    if (!outage) {
      const message = "resources cannot be followed for now; trying again";
      // Whether that is trouble the observer knows: some kinds may be missing.
      if (error instanceof UnknownKind) log.info({ kind, reason: error.message }, message);
      else log.warn({ kind, error: error.message }, message);
    }
    outage ??= { since: clock.now() };
    const refused =
      error instanceof UnknownKind ||
      (error instanceof ApiServerError && error.code >= 400 && error.code < 500 && error.code !== 429);
    if (version !== undefined && !refused && clock.now() - outage.since < lostAfter) return;
    // From here on only a list can make the kind synced again: observers hear `replaced` after `lost`.
    version = undefined;
    if (outage.told === error.message) return;
    outage.told = error.message;
    tell(() => observer.lost?.(error));
  }

  /** Until the next attempt; who knows that the way is whole again may shorten our own wait, and not the server's. */
  async function waitForRetry(error: Error, cutOff: AbortSignal): Promise<void> {
    const asked = Math.min(error instanceof ApiServerError ? (error.retryAfter ?? 0) : 0, maxRetryAfter);
    const wait = backoff.next();
    if (asked > 0) await clock.sleep(asked, signal);
    if (wait > asked) await clock.sleep(wait - asked, AbortSignal.any([signal, cutOff]));
  }

  while (!signal.aborted) {
    // Before the attempt: one that hangs while the way becomes whole again has not seen it whole.
    const cutOff = reconnect();
    try {
      if (version === undefined || clock.now() - listedAt >= relistAfter) await list(cutOff);
      else await follow(version, cutOff);
    } catch (thrown) {
      if (signal.aborted) return;
      const error = errorOf(thrown);
      if (isExpired(error)) {
        // The server has forgotten that version: list at once, but only once per good watch.
        version = undefined;
        if (!isListUnconfirmed) continue;
      }
      if (!cutOff.aborted) report(error);
      await waitForRetry(error, cutOff);
    }
    if (cutOff.aborted) backoff.reset();
  }
}

const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

const isExpired = (error: unknown): boolean => error instanceof ApiServerError && error.code === 410;

const watchOpenTimeout = () => new Error(`the API server did not open the watch in ${silenceLimit / 1000} s`);

/** The whole list in pages. When the snapshot expires between two pages, once more in one piece, as client-go does. */
export async function listAll(listerWatcher: Pick<ListerWatcher, "list">, signal: AbortSignal): Promise<Page> {
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
