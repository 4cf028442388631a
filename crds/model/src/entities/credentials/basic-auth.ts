/** Credentials of basic-auth: user names and passwords of consumers. */
import { hash } from "node:crypto";
import { owner, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, tagsMember } from "../common-members.ts";

export const basicAuthSchema = record(
  {
    id: text({
      description:
        "The credential's UUID. If unset, the admin API generates it at random; in a declarative file it is derived " +
        "from the user name (UUIDv5).",
      rule: "uuid",
    }),
    created_at,
    consumer: owner("consumers", "The consumer that logs in with the credential."),
    username: text({ description: "The user name, unique among these credentials.", maxLength: 512 }),
    password: text({
      description:
        "The password. The admin API stores its hash (scrypt). A hash that Kong has stored, 40 hexadecimal digits, is " +
        "kept as it is.",
      maxLength: 1024,
      secret: true,
    }),
    tags: tagsMember,
  },
  { description: "A consumer's user name and password." },
);

export type BasicAuthCredential = Static<typeof basicAuthSchema>;

/**
 * The forms of a hashed password. Salt (16 bytes) and hash of scrypt are in Base64 without padding.
 *
 * | form | hash |
 * |---|---|
 * | 40 hexadecimal digits | SHA-1 of the password and the consumer's id, as Kong stores it |
 * | `$scrypt$<salt>$<hash>` | scrypt with Node's default cost (N 16384, r 8, p 1) and 32 bytes |
 * | `$sha256$<64 hexadecimal digits>` | SHA-256 of the consumer's id and the password, for plain text in documents |
 */
const HASHED = /^(?:[\da-f]{40}|\$scrypt\$[\w+/]{22}\$[\w+/]{43}|\$sha256\$[\da-f]{64})$/;

export const isPasswordHash = (password: string): boolean => HASHED.test(password);

/** Whether the password is a hash that is valid only for its consumer, because the consumer's id is hashed too. */
export const isConsumerBound = (password: string): boolean =>
  isPasswordHash(password) && !password.startsWith("$scrypt$");

/**
 * The form in which nodes store, and the admin API shows, a password that a file or a custom resource has as plain
 * text. The hash is computed again each time the plain text is read, so it has neither a random salt nor a high cost. A
 * node that reads a file has the plain text anyway. A node of a cluster does not: an attacker who reads its memory can
 * guess weak passwords from this hash (docs/explanation/threat-model.md).
 */
export const documentPassword = (consumerId: string, password: string): string =>
  isPasswordHash(password) ? password : `$sha256$${hash("sha256", `${consumerId}${password}`)}`;

/** The form in which Kong stores a password; a hash in any form is returned unchanged. */
export const kongPassword = (consumerId: string, password: string): string =>
  isPasswordHash(password) ? password : hash("sha1", `${password}${consumerId}`);
