/** How many requests a client may send in a minute. Counted in Redis when there are several replicas. */
import rateLimit, { normalizeIP, type RateLimitPluginOptions } from "@fastify/rate-limit";
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from "fastify";
import { Redis, ReplyError } from "ioredis";
import type { Asker } from "../policy/who-asks.ts";
import { makeOutage, type Outage } from "./outage.ts";

export interface RateOptions {
  /** 0: any number. */
  readonly requestsPerMinute: number;
  /** Undefined: each process counts for itself. */
  readonly redisUrl: string | undefined;
  /** Of the counters' names in Redis. */
  readonly redisPrefix: string;
  readonly log: FastifyBaseLogger;
}

/** Counts a request of a client. Resolves to the seconds until the next one is answered; null: this one is. */
export type CountRequest = (request: FastifyRequest) => Promise<number | null>;

/** A request too many. */
export class TooManyRequests extends Error {
  readonly seconds: number;

  constructor(seconds: number) {
    super(tooManyRequests(seconds));
    this.seconds = seconds;
  }
}

export const tooManyRequests = (seconds: number): string => `Too many requests. Retry in ${seconds} seconds`;

const COMMAND_TIMEOUT = 500;

/**
 * Counters for the application; closed with it. Null: there is no limit. While Redis does not answer, each process
 * counts for itself: a directory that answers nobody because of a counter would be worse than one that answers too
 * many, and one without any limit is what somebody could want who can slow Redis down.
 */
export async function countRequests(app: FastifyInstance, options: RateOptions): Promise<CountRequest | null> {
  const { requestsPerMinute: max, redisUrl, redisPrefix, log } = options;
  if (max === 0) return null;
  const here = await ownCounters(app, max);
  if (redisUrl === undefined) return here;
  const connection = connect(redisUrl, log);
  app.addHook("onClose", async () => connection.close());
  const shared = await counter(app, { max, redis: connection.redis, nameSpace: `${redisPrefix}:rate:` });
  return (request) =>
    shared(request).then(
      (seconds) => {
        connection.back();
        return seconds;
      },
      (error: unknown) => {
        // One that is full or a replica; one that is silent or away loses its connection.
        if (error instanceof ReplyError) connection.lost(error);
        return here(request);
      },
    );
}

/** Clients of one kind that a process counts; the least recently seen begins again beyond that. */
const CLIENTS = 50_000;

/**
 * Counters in this process. Consumers are counted apart: addresses are free to anybody who has a network of IPv6, and
 * would otherwise replace the counter of a consumer.
 */
async function ownCounters(app: FastifyInstance, max: number): Promise<CountRequest> {
  const ofConsumers = await counter(app, { max, cache: CLIENTS });
  const ofAddresses = await counter(app, { max, cache: CLIENTS });
  return (request) => ((request.asker?.consumer ?? null) === null ? ofAddresses : ofConsumers)(request);
}

/** Each in a scope of its own, for the plugin has one store in each. Rejects when the store fails. */
async function counter(app: FastifyInstance, options: RateLimitPluginOptions): Promise<CountRequest> {
  const { promise, resolve } = Promise.withResolvers<ReturnType<FastifyInstance["createRateLimit"]>>();
  await app.register(async (scope) => {
    await scope.register(rateLimit, {
      global: false,
      timeWindow: 60_000,
      keyGenerator: ({ asker }) => keyOf(asker),
      ...options,
    });
    resolve(scope.createRateLimit());
  });
  const count = await promise;
  return async (request) => {
    const counted = await count(request);
    return counted.isAllowed || !counted.isExceeded ? null : Math.max(1, counted.ttlInSeconds);
  };
}

/** What a rate is counted by. Who has one address of IPv6 has all of its /64. */
export function keyOf(asker: Asker | null): string {
  if (asker === null) return "";
  const { consumer, address } = asker;
  return consumer === null ? `address ${normalizeIP(address)}` : `consumer ${consumer.id}`;
}

interface Connection extends Outage {
  readonly redis: Redis;
}

function connect(url: string, log: FastifyBaseLogger): Connection {
  const redis = new Redis(url, {
    connectTimeout: COMMAND_TIMEOUT,
    commandTimeout: COMMAND_TIMEOUT,
    // A Redis that hangs holds up who asks first. The connection ends then, and with it the wait of all others; until
    // there is another one, commands fail at once.
    socketTimeout: COMMAND_TIMEOUT,
    // What cannot be counted now is not counted later.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(1_000, 50 * attempt),
  });
  const outage = makeOutage(log);
  let cause: Error | undefined;
  redis.on("error", (error) => {
    cause = error;
  });
  redis.on("close", () => outage.lost(cause));
  return {
    redis,
    ...outage,
    close() {
      outage.close();
      redis.disconnect();
    },
  };
}
