/** Limits requests per minute and client. They are counted in Redis if it is configured, for all replicas together. */
import rateLimit, { normalizeIP, type RateLimitPluginOptions } from "@fastify/rate-limit";
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from "fastify";
import { Redis, ReplyError } from "ioredis";
import type { Caller } from "../policy/caller.ts";
import { failFastOptions } from "../redis-options.ts";
import type { Settings } from "../settings.ts";
import { makeOutageLog } from "./outage.ts";

export interface RateOptions extends Pick<Settings, "requestsPerMinute" | "redisUrl" | "redisPrefix"> {
  readonly log: FastifyBaseLogger;
}

/** Counts a request of a client. Resolves to null if the request is allowed. */
export type CountRequest = (request: FastifyRequest) => Promise<TooManyRequests | null>;

export class TooManyRequests extends Error {
  readonly seconds: number;

  constructor(seconds: number) {
    super(`Too many requests. Retry in ${seconds} seconds`);
    this.seconds = seconds;
  }
}

const COMMAND_TIMEOUT = 500;

/**
 * Resolves to the function that counts the application's requests; null: there is no limit. The connection to Redis is
 * closed with the application. While Redis does not respond, each process counts for itself. Refusing all requests
 * because of a counter would be worse than allowing too many. If instead no limit applied, an attacker could remove the
 * limit by slowing Redis down.
 */
export async function countRequests(app: FastifyInstance, options: RateOptions): Promise<CountRequest | null> {
  const { requestsPerMinute: max, redisUrl, redisPrefix, log } = options;
  if (max === 0) return null;
  const here = await ownCounters(app, max);
  if (redisUrl === undefined) return here;
  const redis = new Redis(redisUrl, failFastOptions(COMMAND_TIMEOUT));
  const outage = makeOutageLog(log);
  let cause: Error | undefined;
  redis.on("error", (error) => {
    cause = error;
  });
  redis.on("close", () => outage.failed(cause));
  app.addHook("onClose", async () => {
    outage.close();
    redis.disconnect();
  });
  const shared = await counter(app, { max, redis, nameSpace: `${redisPrefix}:rate:` });
  return (request) =>
    shared(request).then(
      (refusal) => {
        outage.recovered();
        return refusal;
      },
      (error: unknown) => {
        // After an error reply (Redis is full or a replica) the connection stays open. The connection to a silent or
        // absent Redis is closed, which the listener above reports.
        if (error instanceof ReplyError) outage.failed(error);
        return here(request);
      },
    );
}

/**
 * A process counts at most this many consumers, and at most this many addresses. Beyond that, the counter of the least
 * recently seen client is dropped.
 */
const CLIENTS = 50_000;

/**
 * Counters in this process. Consumers are counted apart: a client with a large IPv6 network can use many thousand /64s,
 * whose counters would otherwise evict those of consumers.
 */
async function ownCounters(app: FastifyInstance, max: number): Promise<CountRequest> {
  const ofConsumers = await counter(app, { max, cache: CLIENTS });
  const ofAddresses = await counter(app, { max, cache: CLIENTS });
  return (request) => (request.caller.consumer === null ? ofAddresses : ofConsumers)(request);
}

/**
 * Each counter has a scope of its own, because the plugin has one store per scope. The returned function rejects when
 * the store fails.
 */
async function counter(app: FastifyInstance, options: RateLimitPluginOptions): Promise<CountRequest> {
  const { promise, resolve } = Promise.withResolvers<ReturnType<FastifyInstance["createRateLimit"]>>();
  await app.register(async (scope) => {
    await scope.register(rateLimit, {
      global: false,
      timeWindow: 60_000,
      keyGenerator: ({ caller }) => rateKeyOf(caller),
      ...options,
    });
    resolve(scope.createRateLimit());
  });
  const count = await promise;
  return async (request) => {
    const counted = await count(request);
    return counted.isAllowed || !counted.isExceeded ? null : new TooManyRequests(Math.max(1, counted.ttlInSeconds));
  };
}

/** The key of a client's counter. An IPv6 address counts as its /64, since one client usually has all of it. */
export function rateKeyOf({ consumer, address }: Caller): string {
  return consumer === null ? `address ${normalizeIP(address)}` : `consumer ${consumer.id}`;
}
