/** The keys of counters in Redis, and the scripts that run there: each script is one atomic step and one round trip. */
import { hash } from "node:crypto";
import type { Bucket, Counter } from "@sluice/plugin-sdk";
import type { Redis } from "ioredis";
import { CLOCK_TOLERANCE, UNITS_PER_REQUEST } from "../bucket-levels.ts";

/**
 * Milliseconds that a counter outlives its window, for nodes whose clocks differ. This does not prolong the window:
 * each window has a key of its own.
 */
const SKEW = 1000;

/** The braces put the windows of one name into one slot of a Redis Cluster, so that a script may use all of them. */
export const counterKey = ({ name, period, windowStart }: Counter): string =>
  `sluice:{${name}}:${period}:${windowStart}`;

export const bucketKey = ({ name, period, interval }: Bucket): string =>
  `sluice:{${name}}:bucket:${period}:${interval}`;

export const counterLifetime = ({ expires }: Counter, now: number): number => Math.max(0, expires - now) + SKEW;

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

const script = (source: string): Script => ({ source, sha1: hash("sha1", source) });

/**
 * Runs several calls of `incrementBelowLimit` in order. KEYS: the counters of all calls. ARGV: for each call its number
 * of counters, and for each counter the limit, its lifetime in milliseconds and the amount to add. Returns for each call
 * 1 if its counters were increased, 0 if one would exceed its limit, followed by the counters' values.
 */
export const takeScript = script(`
local answer, key, arg = {}, 0, 1
while arg <= #ARGV do
  local size, admitted, at = tonumber(ARGV[arg]), 1, #answer + 1
  for i = 1, size do
    local count = tonumber(redis.call('GET', KEYS[key + i]) or 0)
    if count + tonumber(ARGV[arg + 3 * i]) - 1 >= tonumber(ARGV[arg + 3 * i - 2]) then admitted = 0 end
    answer[at + i] = count
  end
  answer[at] = admitted
  if admitted == 1 then
    for i = 1, size do
      local amount = ARGV[arg + 3 * i]
      local count = redis.call('INCRBY', KEYS[key + i], amount)
      if count == tonumber(amount) then redis.call('PEXPIRE', KEYS[key + i], ARGV[arg + 3 * i - 1]) end
      answer[at + i] = count
    end
  end
  key, arg = key + size, arg + 1 + 3 * size
end
return answer
`);

/**
 * Increments counters. KEYS: the counters. ARGV: for each counter the increment and the counter's lifetime in
 * milliseconds. Returns the counters' values.
 */
export const addScript = script(`
local counts = {}
for i, key in ipairs(KEYS) do
  counts[i] = redis.call('INCRBY', key, ARGV[2 * i - 1])
  if counts[i] == tonumber(ARGV[2 * i - 1]) then redis.call('PEXPIRE', key, ARGV[2 * i]) end
end
return counts
`);

/**
 * Adds a request to buckets (bucket-levels.ts). A key holds the time at which its bucket will be empty, in units. KEYS:
 * the buckets. ARGV: for each bucket the time in units, the burst and the interval in milliseconds. Returns 1 if the
 * request was admitted, else 0, followed by the levels in units.
 */
export const fillScript = script(`
local answer = {1}
for i, key in ipairs(KEYS) do
  local now, burst, interval = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  local full, level = (1 + burst) * ${UNITS_PER_REQUEST}, tonumber(redis.call('GET', key) or now) - now
  if level > full + math.floor(${CLOCK_TOLERANCE * UNITS_PER_REQUEST} / interval) then
    redis.call('SET', key, string.format('%.0f', now + full), 'PX', math.ceil((1 + burst) * interval) + ${SKEW})
  end
  level = math.min(math.max(level, 0), full)
  if level > burst * ${UNITS_PER_REQUEST} then answer[1] = 0 end
  answer[1 + i] = level
end
if answer[1] == 1 then
  for i, key in ipairs(KEYS) do
    local level = answer[1 + i] + ${UNITS_PER_REQUEST}
    local milliseconds = math.ceil(level / ${UNITS_PER_REQUEST} * tonumber(ARGV[3 * i])) + ${SKEW}
    redis.call('SET', key, string.format('%.0f', tonumber(ARGV[3 * i - 2]) + level), 'PX', milliseconds)
    answer[1 + i] = level
  end
end
return answer
`);

export interface ScriptArguments {
  readonly keys: readonly string[];
  readonly values: readonly (string | number)[];
}

/** Runs a script by its hash, or by its text if the server does not have it (any more). Resolves to the reply. */
export async function runScript(client: Redis, { source, sha1 }: Script, { keys, values }: ScriptArguments) {
  try {
    return await client.evalsha(sha1, keys.length, ...keys, ...values);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
    return await client.eval(source, keys.length, ...keys, ...values);
  }
}

/** Whether the error is that of a Redis Cluster for keys in different slots. */
export const isOfSeveralSlots = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("CROSSSLOT");
