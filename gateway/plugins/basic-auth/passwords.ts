/** Compares passwords with the hashes of consumers' credentials, in the forms in which nodes store them. */
import { createHash, scrypt } from "node:crypto";
import { compareOnce } from "./hash-queue.ts";
import { isEqual } from "./is-equal.ts";

interface HashedPassword {
  readonly consumerId: string;
  /** Kong's SHA-1 in hex, `$sha256$<hex>` or `$scrypt$<salt>$<hash>`. */
  readonly stored: string;
  /** Address of the client. */
  readonly address: string;
}

/**
 * Whether the password is correct. Returns a promise only if the password has to be hashed with scrypt. The promise
 * rejects with PasswordQueueFull if too many passwords wait to be hashed.
 *
 * @param password The bytes that the client sent
 */
export function isPassword(
  password: Buffer,
  { consumerId, stored, address }: HashedPassword,
): boolean | Promise<boolean> {
  if (!stored.startsWith("$"))
    return isEqual(createHash("sha1").update(password).update(consumerId).digest("hex"), stored);
  const [, form = "", salt = "", expected = ""] = stored.split("$");
  if (form === "sha256") return isEqual(createHash("sha256").update(consumerId).update(password).digest("hex"), salt);
  const compare = async () => isEqual(await scryptHash(password, salt), expected);
  return compareOnce({ user: stored, password, address, compare });
}

const scryptHash = (password: Buffer, salt: string): Promise<string> =>
  new Promise((resolve, reject) => {
    scrypt(password, Buffer.from(salt, "base64"), 32, (error, derived) =>
      error ? reject(error) : resolve(derived.toString("base64").replace(/=+$/, "")),
    );
  });
