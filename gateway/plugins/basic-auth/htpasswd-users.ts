/** The users of the config's htpasswd file, and their passwords. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import type { ExchangeCredential } from "@sluice/plugin-sdk";
import { compareOnce } from "./hash-queue.ts";
import { hasHash } from "./hash-thread.ts";
import { type HashForm, type HtpasswdUser, usersOf } from "./htpasswd.ts";
import { isEqual } from "./is-equal.ts";

export interface HtpasswdLogin {
  readonly username: string;
  /** The bytes that the client sent. */
  readonly password: Buffer;
  /** Address of the client. */
  readonly address: string;
}

interface UsableHash {
  readonly hash: string;
  readonly form: HashForm;
}

/** Maximum bytes of a password, as in libxcrypt. The cost of some hashes grows with the password. */
const MAX_PASSWORD = 512;
/** The key by which unknown names select a hash: random, and different in each worker. */
const KEY = randomBytes(32);

const isUsable = (user: HtpasswdUser): user is HtpasswdUser & UsableHash => user.form !== null;

export class HtpasswdUsers {
  /** The users whose hashes are not supported. */
  readonly withoutLogin: readonly HtpasswdUser[];
  readonly #hashes: ReadonlyMap<string, UsableHash>;
  readonly #list: readonly UsableHash[];
  /** Created when they are needed: identity headers are cached by credential. */
  readonly #credentials = new Map<string, ExchangeCredential>();
  readonly #names: ReadonlySet<string>;
  readonly #instance: string;

  /**
   * @param file The text of a file without faults.
   * @param instance The id of the plugin instance.
   */
  constructor(file: string, instance: string) {
    const users = usersOf(file);
    const usable = users.filter(isUsable);
    this.withoutLogin = users.filter((user) => !isUsable(user));
    this.#names = new Set(users.map(({ name }) => name));
    this.#hashes = new Map(usable.map((user) => [user.name, user]));
    this.#list = usable;
    this.#instance = instance;
  }

  /** Whether the file has the user, even if the user cannot log in. */
  has(username: string): boolean {
    return this.#names.has(username);
  }

  /** The credential of a user whose password is correct. Its id is the same on every node. */
  credentialOf(username: string): ExchangeCredential {
    const known = this.#credentials.get(username);
    if (known !== undefined) return known;
    const id = createHash("sha256").update(`${this.#instance} ${username}`).digest("hex");
    const credential = { id, consumer: null };
    this.#credentials.set(username, credential);
    return credential;
  }

  /**
   * Whether the password is correct. A name without a usable hash takes as long as the others: its password is compared
   * with the hash of some user, and the result is ignored. Otherwise clients could find out which names exist. The
   * promise rejects with PasswordQueueFull if too many passwords wait to be hashed.
   */
  isPassword(login: HtpasswdLogin): boolean | Promise<boolean> {
    if (login.password.length > MAX_PASSWORD) return false;
    const usable = this.#hashes.get(login.username);
    const result = compare(login, usable ?? this.#substituteFor(login.username));
    if (usable !== undefined) return result;
    return typeof result === "boolean" ? false : result.then(() => false);
  }

  /** Always the same hash for one name, so that the time of repeated requests does not vary. */
  #substituteFor(username: string): UsableHash {
    const number = createHmac("sha256", KEY).update(username).digest().readUInt32BE();
    const hash = this.#list[number % this.#list.length];
    if (hash === undefined) throw new Error("the file has no usable hash, which the config's check excludes");
    return hash;
  }
}

function compare({ username, password, address }: HtpasswdLogin, usable: UsableHash): boolean | Promise<boolean> {
  const { hash, form } = usable;
  if (form === "sha" || form === "ssha") return isShaHash(password, hash);
  const user = `htpasswd ${hash} ${username}`;
  return compareOnce({ user, password, address, compare: () => hasHash(password, usable) });
}

const SHA1_BYTES = 20;

/** `{SHA}` or `{SSHA}` and the Base64 text of a SHA-1 hash, followed by the salt. */
function isShaHash(password: Buffer, hash: string): boolean {
  const stored = Buffer.from(hash.slice(hash.indexOf("}") + 1), "base64");
  const computed = createHash("sha1").update(password).update(stored.subarray(SHA1_BYTES)).digest("latin1");
  return isEqual(computed, stored.toString("latin1", 0, SHA1_BYTES));
}
