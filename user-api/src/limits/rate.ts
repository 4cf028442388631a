/** How many requests a client may send in a minute. Counted in Redis when there are several replicas. */
import rateLimit, { normalizeIP } from "@fastify/rate-limit";
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from "fastify";
import { Redis } from "ioredis";
import type { Asker } from "../policy/who-asks.ts";

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
 * Counters for the application; closed with it. Null: there is no limit. While Redis does not answer, everything is allowed: the gateway counts
 * too, and a directory that answers nobody because of a counter would be worse than one that answers too many.
 */
export async function countRequests(app: FastifyInstance, options: RateOptions): Promise<CountRequest | null> {
  const { requestsPerMinute, redisUrl, redisPrefix, log } = options;
  if (requestsPerMinute === 0) return null;
  const connection = redisUrl === undefined ? undefined : connect(redisUrl, log);
  app.addHook("onClose", async () => connection?.close());
  await app.register(rateLimit, {
    global: false,
    max: requestsPerMinute,
    timeWindow: 60_000,
    keyGenerator: ({ asker }) => keyOf(asker),
    redis: connection?.redis,
    nameSpace: `${redisPrefix}:rate:`,
    skipOnError: true,
  });
  const count = app.createRateLimit();
  return async (request) => {
    const counted = await count(request);
    return counted.isAllowed || !counted.isExceeded ? null : Math.max(1, counted.ttlInSeconds);
  };
}

/** What a rate is counted by. Who has one address of IPv6 has all of its /64. */
function keyOf(asker: Asker | null): string {
  if (asker === null) return "";
  const { consumer, address } = asker;
  return consumer === null ? `address ${normalizeIP(address)}` : `consumer ${consumer.id}`;
}

function connect(url: string, log: FastifyBaseLogger): { readonly redis: Redis; close(): void } {
  const redis = new Redis(url, {
    connectTimeout: COMMAND_TIMEOUT,
    commandTimeout: COMMAND_TIMEOUT,
    // What cannot be counted now is not counted later.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(1_000, 50 * attempt),
  });
  let away = false;
  let closing = false;
  let cause: Error | undefined;
  redis.on("error", (error) => {
    cause = error;
  });
  redis.on("close", () => {
    if (away || closing) return;
    away = true;
    log.warn({ err: cause }, "requests are not counted: Redis does not answer");
  });
  redis.on("ready", () => {
    if (away) log.info("requests are counted again");
    away = false;
  });
  return {
    redis,
    close() {
      closing = true;
      redis.disconnect();
    },
  };
}
