/** Compares passwords with the hashes that nodes store. */
import { createHash, createHmac, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { LruCache } from "@sluice/plugin-sdk";

interface HashedPassword {
  readonly consumerId: string;
  /** Kong's SHA-1 in hex, `$sha256$<hex>` or `$scrypt$<salt>$<hash>`. */
  readonly stored: string;
}

/** Maximum concurrent scrypt hashes of a worker; further ones wait. Each occupies a thread of libuv's pool. */
const MAX_HASHES = 2;
/**
 * Maximum passwords for one credential that are being hashed or wait to be hashed. More are refused, so that passwords
 * for other credentials need not wait long.
 */
const MAX_PER_CREDENTIAL = 4;
/** Maximum passwords for all credentials that are being hashed or wait to be hashed. */
const MAX_PENDING = 256;

/** Thrown if too many passwords are being hashed or wait to be hashed. */
export class PasswordQueueFull extends Error {
  override readonly name = "PasswordQueueFull";
}

/**
 * Recent results, so that scrypt does not run again for the same password. The key is a keyed hash (HMAC) of the stored
 * hash and the password.
 */
const results = new LruCache<Result>(4096);
type Result = "right" | "wrong";
/** The key of the keyed hash: random, and different in each worker. */
const KEY = randomBytes(32);

/** Unfinished comparisons, by the key of their result: concurrent requests with the same password share one. */
const pending = new Map<string, Promise<boolean>>();
/** The number of unfinished comparisons by stored hash. */
const perCredential = new Map<string, number>();
let running = 0;
const waiting: (() => void)[] = [];

/**
 * Whether the password is correct. Returns a promise only if the password has to be hashed with scrypt. The promise
 * rejects with PasswordQueueFull if too many passwords wait to be hashed.
 *
 * @param password The bytes that the client sent
 */
export function isPassword(password: Buffer, { consumerId, stored }: HashedPassword): boolean | Promise<boolean> {
  if (!stored.startsWith("$"))
    return isEqual(createHash("sha1").update(password).update(consumerId).digest("hex"), stored);
  const [, form = "", salt = "", expected = ""] = stored.split("$");
  if (form === "sha256") return isEqual(createHash("sha256").update(consumerId).update(password).digest("hex"), salt);
  const key = createHmac("sha256", KEY).update(`${stored} `).update(password).digest("base64");
  const known = results.get(key);
  if (known !== undefined) return known === "right";
  const before = pending.get(key);
  if (before !== undefined) return before;
  const comparison = compare(password, { stored, salt, expected }).then((isRight) => {
    results.set(key, isRight ? "right" : "wrong");
    return isRight;
  });
  pending.set(key, comparison);
  const forget = () => pending.delete(key);
  comparison.then(forget, forget);
  return comparison;
}

interface ScryptHash {
  readonly stored: string;
  readonly salt: string;
  readonly expected: string;
}

async function compare(password: Buffer, { stored, salt, expected }: ScryptHash): Promise<boolean> {
  const count = perCredential.get(stored) ?? 0;
  if (count >= MAX_PER_CREDENTIAL || pending.size >= MAX_PENDING) throw new PasswordQueueFull();
  perCredential.set(stored, count + 1);
  // A comparison that ends hands its place to the next waiting one. So a new comparison cannot take the same place.
  if (running < MAX_HASHES) running += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return isEqual(await scryptHash(password, salt), expected);
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
    const left = (perCredential.get(stored) ?? 1) - 1;
    if (left > 0) perCredential.set(stored, left);
    else perCredential.delete(stored);
  }
}

const scryptHash = (password: Buffer, salt: string): Promise<string> =>
  new Promise((resolve, reject) => {
    scrypt(password, Buffer.from(salt, "base64"), 32, (error, derived) =>
      error ? reject(error) : resolve(derived.toString("base64").replace(/=+$/, "")),
    );
  });

const isEqual = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
