/** What credentials do differently: keys that are made up, and lives that end. */
import { randomInt, randomUUID } from "node:crypto";
import type { Credential } from "@sluice/model";
import type { Operations } from "./operations.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const KEY_LENGTH = 32;

const randomKey = (): string => Array.from({ length: KEY_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");

export const credentials = (): Partial<Operations> => ({
  /** The id never follows from the key: ids stand in headers and logs. */
  prepare: (raw) => ({ ...raw, key: raw.key ?? randomKey(), id: raw.id ?? randomUUID() }),

  /** The seconds that are left; no member when the key does not end. */
  present(entity) {
    const { ttl, ...members } = entity as Credential;
    if (ttl === null) return members;
    return { ...members, ttl: Math.max(0, members.created_at + ttl - Math.floor(Date.now() / 1000)) };
  },
});
