/**
 * Passwords of basic-auth: hashing them before they are stored, and comparing passwords of requests with stored ones.
 */
import { randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";
import { documentPassword, type Entities, isConsumerBound, isPasswordHash, kongPassword } from "@sluice/model";
import type { EntityLists } from "./read-all.ts";

type Credential = Entities["basicauth_credentials"];

const derive = promisify<string, Buffer, number, Buffer>(scrypt);

const HASH_BYTES = 32;

const unpadded = (bytes: Buffer): string => bytes.toString("base64").replace(/=+$/, "");

export async function scryptPassword(password: string, salt = randomBytes(16)): Promise<string> {
  return `$scrypt$${unpadded(salt)}$${unpadded(await derive(password, salt, HASH_BYTES))}`;
}

interface PasswordWrite {
  /** Plain text or a hash. */
  readonly given: string;
  /** The stored credential, if there is one. */
  readonly before: Pick<Credential, "consumer" | "password"> | null;
  /**
   * True only if the credential's consumer is known to stay the same. Otherwise, a stored hash that depends on the
   * consumer's id is replaced.
   */
  readonly keepsConsumer: boolean;
  readonly hash: (password: string) => string | Promise<string>;
}

/**
 * The value to store: the stored value if it represents the same password, else the given password, hashed if plain
 * text.
 */
export async function passwordToStore({ given, before, keepsConsumer, hash }: PasswordWrite): Promise<string> {
  if (before && (keepsConsumer || !isConsumerBound(before.password)) && (await isSamePassword(given, before)))
    return before.password;
  return isPasswordHash(given) ? given : hash(given);
}

async function isSamePassword(
  given: string,
  { consumer, password: stored }: Pick<Credential, "consumer" | "password">,
): Promise<boolean> {
  if (given === stored) return true;
  if (isPasswordHash(given)) return isFormOf(given, stored, consumer.id);
  if (!stored.startsWith("$scrypt$") || !isPasswordHash(stored)) return isFormOf(stored, given, consumer.id);
  const [, , salt = ""] = stored.split("$");
  return (await scryptPassword(given, Buffer.from(salt, "base64"))) === stored;
}

const isFormOf = (hashed: string, plain: string, consumerId: string): boolean =>
  !isPasswordHash(plain) && [documentPassword(consumerId, plain), kongPassword(consumerId, plain)].includes(hashed);

/**
 * The entities of a document with their passwords as `passwordToStore` returns them.
 *
 * @param before The store's entities. An entity that the document contains too has the same id in `before` and `after`.
 */
export async function withHashedPasswords(
  before: EntityLists,
  after: EntityLists,
  hash: (credential: Credential) => string | Promise<string>,
): Promise<EntityLists> {
  const stored = new Map(before.basicauth_credentials?.map((credential) => [credential.id, credential]));
  const credentials: Credential[] = [];
  // One after the other: scrypt runs in the process's thread pool, which other work needs too.
  for (const credential of after.basicauth_credentials ?? []) {
    const was = stored.get(credential.id) ?? null;
    const password = await passwordToStore({
      given: credential.password,
      before: was,
      keepsConsumer: was?.consumer.id === credential.consumer.id,
      hash: () => hash(credential),
    });
    credentials.push({ ...credential, password });
  }
  return { ...after, basicauth_credentials: credentials };
}

/** The entities with their passwords converted by `form`, such as `documentPassword`. */
export const withPasswordsAs = (
  form: (consumerId: string, password: string) => string,
  lists: EntityLists,
): EntityLists => ({
  ...lists,
  ...(lists.basicauth_credentials && {
    basicauth_credentials: lists.basicauth_credentials.map((credential) => ({
      ...credential,
      password: form(credential.consumer.id, credential.password),
    })),
  }),
});
