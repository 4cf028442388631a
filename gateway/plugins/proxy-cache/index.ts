/** proxy-cache: caches responses of upstreams (docs/reference/kong-compatibility.md#proxy-cache). */
import { hash } from "node:crypto";
import {
  type BodyObserver,
  CACHEABLE_OPERATION,
  CACHEABLE_RESULT,
  type DirectResponse,
  definePlugin,
  type Exchange,
  ExchangeValues,
  editGroup,
  type HeaderEditGroup,
  HeaderName,
  PURGE_NAMES,
  RESULT_NAMES,
  setHeaderEdit,
} from "@sluice/plugin-sdk";
import { createKeyOf, variantKey } from "./cache-key.ts";
import { type Directives, directivesOf, secondsIn } from "./directives.ts";
import { answerEndpoint } from "./endpoints.ts";
import { MutationPurges } from "./mutation-purges.ts";
import { PurgeCounts } from "./purge-counts.ts";
import { forbidsCache, isPersonal, mayUseCache, readRequestBody } from "./requests.ts";
import { createStorableOf, MAX_STORED_BODY, type Storable } from "./responses.ts";
import { type ProxyCacheConfig, proxyCacheFacts } from "./schema.ts";
import { type CacheEntry, entryCodec, type StoredResponse } from "./stored-response.ts";

const CACHE_STATUS = new HeaderName("X-Cache-Status");
const CACHE_KEY = new HeaderName("X-Cache-Key");
const AGE = new HeaderName("Age");
const HIT = setHeaderEdit(CACHE_STATUS, "Hit");

/** The response to `only-if-cached` if no cached response can be used (RFC 9111 section 5.2.1.7). */
const notCached: DirectResponse = { status: 504 };

const noDirectives: Directives = new Map();

/** Minimum milliseconds between two logged errors of the cache. */
const LOG_INTERVAL = 10_000;

/** A request that the cache cannot answer, and whose response may be stored. */
interface Pending {
  /** The key without the headers that the response's Vary header lists. */
  readonly key: string;
  /** As in `StoredResponse`. */
  readonly purges: string;
  /** Set in the phase `responseHeaders` if the response is to be stored. */
  storable: Storable | null;
  /**
   * The key with the headers that the response's Vary header lists; null: it has none. Set with `storable`, because the
   * headers of the request are gone when the response has ended.
   */
  variant: string | null;
}

/** The headers of hits of one stored response, at one age in seconds. A response is always stored under one key. */
interface HitHeaders {
  readonly age: number;
  readonly group: HeaderEditGroup;
}

export const proxyCache = definePlugin({
  ...proxyCacheFacts,
  phases(config, context) {
    const { log, now } = context;
    const { redis: _redis, ...kept } = config;
    const cache = context.cache<CacheEntry>({
      strategy: config.strategy,
      redis: config.redis,
      generation: hash("sha256", JSON.stringify(kept)).slice(0, 16),
      codec: entryCodec,
    });
    const keyOf = createKeyOf(config);
    const storableOf = createStorableOf(config);
    const methods: ReadonlySet<string> = new Set(config.request_method);
    const shows = config.response_headers;
    const counts = new PurgeCounts(config, context);
    const pending = new ExchangeValues<Pending>();
    const mutations = new MutationPurges({
      counts,
      timers: context.timers,
      onError: (error, exchange) => report("results that a mutation changes cannot be purged", error, exchange),
    });
    const hits = new WeakMap<StoredResponse, HitHeaders>();
    let silentUntil = 0;

    function showStatus(exchange: Exchange, status: "Miss" | "Refresh" | "Bypass"): void {
      if (shows["X-Cache-Status"]) exchange.responseHeaders.set(CACHE_STATUS, status);
    }

    function showKey(exchange: Exchange, key: string): void {
      if (shows["X-Cache-Key"]) exchange.responseHeaders.set(CACHE_KEY, key);
    }

    /** The headers of a hit. Those of responses in memory are kept, because they are equal for a second. */
    function hitHeaders(stored: StoredResponse, key: string, at: number): HeaderEditGroup {
      const age = Math.floor(ageOf(stored, at));
      const known = hits.get(stored);
      if (known?.age === age) return known.group;
      const group = editGroup([
        ...(shows["X-Cache-Key"] ? [setHeaderEdit(CACHE_KEY, key)] : []),
        ...(shows["X-Cache-Status"] ? [HIT] : []),
        ...(shows.age ? [setHeaderEdit(AGE, String(age))] : []),
      ]);
      if (config.strategy === "memory") hits.set(stored, { age, group });
      return group;
    }

    function bypass(exchange: Exchange): undefined {
      showStatus(exchange, "Bypass");
    }

    /** Logs an error of the cache, at most once in LOG_INTERVAL, because an error may affect every request. */
    function report(message: string, error: unknown, exchange?: Exchange): void {
      const at = now();
      if (at < silentUntil) return;
      silentUntil = at + LOG_INTERVAL;
      log.warn(message, { reason: (error as Error).message }, exchange);
    }

    /** Waits for the cache's answer. Resolves to undefined if the cache cannot be read, so the request is forwarded. */
    async function laterOf(exchange: Exchange, found: Promise<DirectResponse | undefined>) {
      try {
        return await found;
      } catch (error) {
        report("the cache cannot be read, so requests are forwarded", error, exchange);
        return bypass(exchange);
      }
    }

    function lookUp(exchange: Exchange, body: Buffer | null, directives: Directives) {
      const purges = counts.stateOf(exchange, purgeNames(exchange));
      return purges instanceof Promise
        ? laterOf(
            exchange,
            purges.then((known) => lookUpWith(exchange, { body, directives, purges: known })),
          )
        : lookUpWith(exchange, { body, directives, purges });
    }

    function lookUpWith(
      exchange: Exchange,
      { body, ...request }: { readonly body: Buffer | null } & Pick<Found, "directives" | "purges">,
    ) {
      const key = keyOf(exchange, body);
      const found = cache.get(key);
      if (found instanceof Promise) {
        return laterOf(
          exchange,
          found.then((entry) => select(exchange, { key, entry, ...request })),
        );
      }
      return select(exchange, { key, entry: found, ...request });
    }

    interface Found {
      readonly key: string;
      readonly purges: string;
      readonly entry: CacheEntry | undefined;
      readonly directives: Directives;
    }

    /** Decides about the entry or, if the entry is `Variants`, about the variant for the request's headers. */
    function select(exchange: Exchange, { key, entry, ...request }: Found) {
      if (entry === undefined || !("vary" in entry)) return decide(exchange, { key, shown: key, entry, ...request });
      const shown = variantKey(key, entry.vary, exchange);
      const found = cache.get(shown);
      const settle = (variant: CacheEntry | undefined) =>
        decide(exchange, {
          key,
          shown,
          entry: variant !== undefined && "vary" in variant ? undefined : variant,
          ...request,
        });
      return found instanceof Promise ? found.then(settle) : settle(found);
    }

    function decide(
      exchange: Exchange,
      found: Omit<Found, "entry"> & { readonly shown: string; readonly entry: StoredResponse | undefined },
    ): DirectResponse | undefined | Promise<DirectResponse | undefined> {
      const { entry, purges } = found;
      const isCurrent = entry !== undefined && isUnpurged(exchange, entry, purges);
      return isCurrent instanceof Promise
        ? isCurrent.then((current) => answer(exchange, found, current))
        : answer(exchange, found, isCurrent);
    }

    /** Whether nothing of the stored response has been purged. */
    function isUnpurged(
      exchange: Exchange,
      { purges, names }: StoredResponse,
      now: string,
    ): boolean | Promise<boolean> {
      if (names === null) return purges === now;
      if (names.types !== purgeNames(exchange).join()) return false;
      const state = counts.stateOf(exchange, names.own);
      return state instanceof Promise ? state.then((known) => known === purges) : state === purges;
    }

    /** @param isCurrent Whether nothing of the entry has been purged */
    function answer(
      exchange: Exchange,
      {
        key,
        shown,
        entry,
        directives,
        purges,
      }: Omit<Found, "entry"> & { readonly shown: string; readonly entry: StoredResponse | undefined },
      isCurrent: boolean,
    ): DirectResponse | undefined {
      const at = now();
      if (entry !== undefined && isCurrent && isUsable(entry, config, { directives, now: at })) {
        exchange.responseHeaders.applyAll(hitHeaders(entry, shown, at));
        return { status: entry.status, keptHeaders: entry.headers, body: entry.body };
      }
      showKey(exchange, shown);
      if (directives.has("only-if-cached")) return notCached;
      pending.set(exchange, { key, purges, storable: null, variant: null });
      showStatus(exchange, entry === undefined ? "Miss" : "Refresh");
      return undefined;
    }

    /** Stores a response without waiting for the cache, whose errors are logged and do not affect the client. */
    function store(exchange: Exchange, { key, variant, purges, storable }: Pending, body: Buffer): void {
      if (storable === null || mayHaveErrors(exchange)) return;
      const { vary, ...response } = storable;
      const fresh = (response.ttl - ageOf(response, now())) * 1000;
      const lifetime = config.storage_ttl === null ? fresh : config.storage_ttl * 1000;
      if (lifetime <= 0) return;
      const put = async (names: StoredResponse["names"], state: string) => {
        const entry: StoredResponse = { ...response, purges: state, names, body };
        await Promise.all(
          variant === null
            ? [cache.set(key, entry, lifetime)]
            : [cache.set(key, { vary }, lifetime), cache.set(variant, entry, lifetime)],
        );
      };
      const own = sharedNames(exchange, RESULT_NAMES);
      const stored = own.length === 0 ? put(null, purges) : putWithNames(exchange, { own, purges, put });
      stored.catch((error: unknown) => report("responses cannot be stored", error, exchange));
    }

    /**
     * Stores a result that depends on names of its own, unless one of its types was purged while the result was on its
     * way: then it is stored as purged.
     */
    async function putWithNames(
      exchange: Exchange,
      {
        own,
        purges,
        put,
      }: {
        readonly own: readonly string[];
        readonly purges: string;
        readonly put: (names: StoredResponse["names"], state: string) => Promise<void>;
      },
    ): Promise<void> {
      const types = purgeNames(exchange);
      const [before, state = ""] = await counts.statesOf(exchange, [types, own]);
      await (before === purges ? put({ types: types.join(), own }, state) : put(null, purges));
    }

    /** Collects the body. When it is complete, and not longer than MAX_STORED_BODY, stores the response. */
    function observer(exchange: Exchange, request: Pending): BodyObserver {
      let pieces: Buffer[] | null = [];
      let length = 0;
      return {
        observe(piece) {
          length += piece.length;
          if (length > MAX_STORED_BODY) pieces = null;
          else pieces?.push(piece);
        },
        complete() {
          // A copy, so that the cache does not keep the larger buffers of which the pieces are slices.
          if (pieces !== null) store(exchange, request, Buffer.concat(pieces, length));
        },
      };
    }

    return {
      access(exchange) {
        const { request, shared } = exchange;
        if (shared.get(CACHEABLE_OPERATION) === false) {
          mutations.expect(exchange, purgeNames(exchange));
          return bypass(exchange);
        }
        if (!mayUseCache(request, methods) || isPersonal(exchange, config)) return bypass(exchange);
        const directives = config.cache_control ? directivesOf(request.headerValues("cache-control")) : noDirectives;
        if (forbidsCache(directives)) return bypass(exchange);
        const body = readRequestBody(request);
        if (body instanceof Promise) {
          return body.then((read) =>
            read === "refused"
              ? bypass(exchange)
              : lookUp(exchange, read === null || read.length === 0 ? null : read, directives),
          );
        }
        return body === "refused" ? bypass(exchange) : lookUp(exchange, body, directives);
      },
      ...(config.strategy === "redis" && {
        holds: (exchange: Exchange) => mutations.isExpected(exchange),
        // Holds the response to a mutation, so that the client finds no older result once it has the response.
        response: (exchange: Exchange) => mutations.purgeAndWait(exchange),
      }),
      responseHeaders(exchange) {
        mutations.purge(exchange);
        const request = pending.get(exchange);
        if (request === undefined) return;
        request.storable = storableOf(exchange, now());
        if (request.storable === null) showStatus(exchange, "Bypass");
        else if (request.storable.vary.length > 0) {
          request.variant = variantKey(request.key, request.storable.vary, exchange);
          showKey(exchange, request.variant);
        }
      },
      responseBody(exchange) {
        const request = pending.get(exchange);
        if (request === undefined) return mutations.observer(exchange);
        return request.storable === null ? null : observer(exchange, request);
      },
      log: (exchange) => mutations.end(exchange),
      endpoint: (request) => answerEndpoint(request, { cache, isShared: config.strategy === "redis" }),
    };
  },
});

/** What a GraphQL operation purges, or the types in its result. */
const purgeNames = (exchange: Exchange): readonly string[] => sharedNames(exchange, PURGE_NAMES);

function sharedNames({ shared }: Exchange, name: string): readonly string[] {
  const names = shared.get(name);
  return typeof names === "string" ? names.split(",") : [];
}

/** Whether the response is a result of GraphQL that may have errors, although its status is 200. */
const mayHaveErrors = ({ shared }: Exchange): boolean =>
  shared.has(CACHEABLE_OPERATION) && shared.get(CACHEABLE_RESULT) !== true;

/** The age of the response in seconds. */
const ageOf = ({ timestamp }: Pick<StoredResponse, "timestamp">, now: number): number =>
  Math.max(0, (now - timestamp) / 1000);

/** Whether a stored response may be used for a request (RFC 9111 sections 4.2 and 5.2.1). */
function isUsable(
  stored: StoredResponse,
  { cache_control, cache_ttl }: ProxyCacheConfig,
  { directives, now }: { readonly directives: Directives; readonly now: number },
): boolean {
  const age = ageOf(stored, now);
  if (!cache_control) return age <= cache_ttl;
  if (age > (secondsIn(directives, "max-age") ?? Number.POSITIVE_INFINITY)) return false;
  const left = stored.ttl - age;
  if (left < (secondsIn(directives, "min-fresh") ?? 0)) return acceptsStale(stored, directives, -left);
  return true;
}

/** Whether a stale response may be used. `max-stale` without a number accepts a stale response of any age. */
function acceptsStale({ mustRevalidate }: StoredResponse, directives: Directives, staleness: number): boolean {
  const argument = directives.get("max-stale");
  if (argument === undefined || mustRevalidate || directives.has("min-fresh")) return false;
  return argument === "" || staleness <= (secondsIn(directives, "max-stale") ?? 0);
}
