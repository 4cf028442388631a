/** The keys of counters in Redis, and the scripts that run there: each script is one atomic step and one round trip. */
import { hash } from "node:crypto";
import type { Counter } from "@sluice/plugin-sdk";
import type { Redis } from "ioredis";

/**
 * Milliseconds that a counter outlives its window, for nodes whose clocks differ. This does not prolong the window:
 * each window has a key of its own.
 */
const SKEW = 1000;

/** The braces put the windows of one name into one slot of a Redis Cluster, so that a script may use all of them. */
export const counterKey = ({ name, period, windowStart }: Counter): string =>
  `sluice:{${name}}:${period}:${windowStart}`;

export const lifetime = ({ expires }: Counter, now: number): number => Math.max(0, expires - now) + SKEW;

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

const script = (source: string): Script => ({ source, sha1: hash("sha1", source) });

/**
 * Runs several calls of `take` in order. KEYS: the counters of all calls. ARGV: for each call its number of counters,
 * and for each counter the limit and its lifetime in milliseconds. Returns for each call 1 if its counters were
 * incremented, 0 if one was at its limit, followed by the counters' values.
 */
export const takeScript = script(`
local answer, key, arg = {}, 0, 1
while arg <= #ARGV do
  local size, admitted, at = tonumber(ARGV[arg]), 1, #answer + 1
  for i = 1, size do
    local count = tonumber(redis.call('GET', KEYS[key + i]) or 0)
    if count >= tonumber(ARGV[arg + 2 * i - 1]) then admitted = 0 end
    answer[at + i] = count
  end
  answer[at] = admitted
  if admitted == 1 then
    for i = 1, size do
      local count = redis.call('INCR', KEYS[key + i])
      if count == 1 then redis.call('PEXPIRE', KEYS[key + i], ARGV[arg + 2 * i]) end
      answer[at + i] = count
    end
  end
  key, arg = key + size, arg + 1 + 2 * size
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
