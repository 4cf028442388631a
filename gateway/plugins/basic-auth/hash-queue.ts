/**
 * Comparisons of passwords with hashes that are slow to compute. Each result is cached, and the number of concurrent
 * comparisons is limited.
 */
import { randomBytes } from "node:crypto";
import { KeyedHash, LruCache } from "@sluice/plugin-sdk";

/** Maximum concurrent hashes of a worker; further ones wait. Each occupies a thread. */
const MAX_HASHES = 2;
/**
 * Maximum passwords for one user that are being hashed or wait to be hashed. More are refused, so that passwords
 * for other users need not wait long.
 */
const MAX_PER_USER = 4;
/** The same for one address of clients, which may guess passwords for many names. */
const MAX_PER_ADDRESS = 64;
/** Maximum passwords for all users that are being hashed or wait to be hashed. */
const MAX_PENDING = 256;

/** Thrown if too many passwords are being hashed or wait to be hashed. */
export class PasswordQueueFull extends Error {
  override readonly name = "PasswordQueueFull";
}

interface Comparison {
  /** What identifies the user, as a string that differs between users and changes with the hash. */
  readonly user: string;
  /** The bytes that the client sent. */
  readonly password: Buffer;
  /** Address of the client. */
  readonly address: string;
  /** Computes the hash of the password, and compares it. */
  compare(): Promise<boolean>;
}

/**
 * Recent results, so that no hash is computed again for the same password. The key is a keyed hash (HMAC) of user and
 * password.
 */
const results = new LruCache<Result>(4096);
type Result = "right" | "wrong";
/** Its key is random, and different in each worker. */
const keyedHash = new KeyedHash("sha256", randomBytes(32));

/** Unfinished comparisons, by the key of their result: concurrent requests with the same password share one. */
const pending = new Map<string, Promise<boolean>>();
/** The number of unfinished comparisons by user and by address. */
const counts = new Map<string, number>();
let running = 0;
const waiting: (() => void)[] = [];

/**
 * Whether the password is correct. Returns a promise only if the password has to be hashed. The promise rejects with
 * PasswordQueueFull if too many passwords wait to be hashed.
 */
export function compareOnce(comparison: Comparison): boolean | Promise<boolean> {
  const key = keyedHash.base64Of(`${comparison.user} ${comparison.password.toString("latin1")}`);
  const known = results.get(key);
  if (known !== undefined) return known === "right";
  const before = pending.get(key);
  if (before !== undefined) return before;
  const result = compareInTurn(comparison).then((isRight) => {
    results.set(key, isRight ? "right" : "wrong");
    return isRight;
  });
  pending.set(key, result);
  const forget = () => pending.delete(key);
  result.then(forget, forget);
  return result;
}

async function compareInTurn({ user, address, compare }: Comparison): Promise<boolean> {
  const limits = [
    [`user ${user}`, MAX_PER_USER],
    [`address ${address}`, MAX_PER_ADDRESS],
  ] as const;
  const isFull = pending.size >= MAX_PENDING || limits.some(([key, limit]) => (counts.get(key) ?? 0) >= limit);
  if (isFull) throw new PasswordQueueFull();
  for (const [key] of limits) counts.set(key, (counts.get(key) ?? 0) + 1);
  // A comparison that ends hands its place to the next waiting one. So a new comparison cannot take the same place.
  if (running < MAX_HASHES) running += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await compare();
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
    for (const [key] of limits) {
      const left = (counts.get(key) ?? 1) - 1;
      if (left > 0) counts.set(key, left);
      else counts.delete(key);
    }
  }
}
