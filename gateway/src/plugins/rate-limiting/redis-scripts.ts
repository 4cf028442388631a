/** What runs inside Redis: scripts, because a script is one atomic step and one round trip. */
import { hash } from "node:crypto";
import type { Redis } from "ioredis";

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

const script = (source: string): Script => ({ source, sha1: hash("sha1", source) });

/**
 * KEYS: counters. ARGV: for every counter its limit and how many milliseconds it is kept.
 * Answers 1 when all were counted up, 0 when one was at its limit; then the counters' values.
 */
export const takeScript = script(`
local counts, admitted = {}, 1
for i, key in ipairs(KEYS) do
  counts[i] = tonumber(redis.call('GET', key) or 0)
  if counts[i] >= tonumber(ARGV[2 * i - 1]) then admitted = 0 end
end
if admitted == 1 then
  for i, key in ipairs(KEYS) do
    counts[i] = redis.call('INCR', key)
    if counts[i] == 1 then redis.call('PEXPIRE', key, ARGV[2 * i]) end
  end
end
table.insert(counts, 1, admitted)
return counts
`);

/** KEYS: one counter. ARGV: how much to add, how many milliseconds it is kept. Answers its value. */
export const addScript = script(`
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
if count == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return count
`);

export interface ScriptArguments {
  readonly keys: readonly string[];
  readonly values: readonly (string | number)[];
}

/** Runs a script by its hash; sends its text when the server does not know it (anymore). */
export async function runScript(client: Redis, { source, sha1 }: Script, { keys, values }: ScriptArguments) {
  try {
    return await client.evalsha(sha1, keys.length, ...keys, ...values);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
    return await client.eval(source, keys.length, ...keys, ...values);
  }
}
