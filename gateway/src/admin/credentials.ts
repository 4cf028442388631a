/** What credentials do differently: keys that are made up, and lives that end. */
import { randomInt, randomUUID } from "node:crypto";
import type { Credential, Entity } from "@sluice/model";
import type { Raw } from "./body.ts";
import type { Operations, Preparing } from "./operations/index.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const KEY_LENGTH = 32;

const randomKey = (): string => Array.from({ length: KEY_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");

const now = (): number => Math.floor(Date.now() / 1000);

export const credentials = (): Partial<Operations> => ({
  prepare: (raw, how) => withLife(how.keeps ? raw : withKey(raw, how), how.before),

  /** The seconds that are left; no member when the key does not end. */
  async present(entity) {
    const { ttl, ...members } = entity as Credential;
    if (ttl === null) return members;
    return { ...members, ttl: Math.max(0, members.created_at + ttl - now()) };
  },
});

/** The id never follows from the key: ids stand in headers and logs. */
const withKey = (raw: Raw, { before }: Preparing): Raw => ({
  ...raw,
  key: raw.key ?? randomKey(),
  id: raw.id ?? before?.id ?? randomUUID(),
});

/** Clients count the seconds from now, entities from when they were made. */
function withLife(raw: Raw, before: Entity | null): Raw {
  if (typeof raw.ttl !== "number") return raw;
  if (!before) return { ...raw, created_at: now() };
  return { ...raw, created_at: before.created_at, ttl: raw.ttl + now() - before.created_at };
}
