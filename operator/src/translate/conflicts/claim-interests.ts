/** Tracks which resources claim a key. When only one resource claims it, no other resource depends on that claim. */

import type { Owner } from "../translation.ts";
import { type Claimant, claimKeysOf } from "./claims.ts";

export function createClaimInterests() {
  /** null: several owners, or one that claimed twice. */
  const interested = new Map<string, Owner | null>();
  return {
    /** Records the owner for all keys that the entity claims. */
    add(claimant: Claimant) {
      for (const key of claimKeysOf(claimant)) {
        const before = interested.get(key);
        if (before === undefined) interested.set(key, claimant.owner);
        else if (before !== claimant.owner) interested.set(key, null);
      }
    },
    /** Adds the owner when no other claims these keys; returns false otherwise. */
    addExclusive(claimant: Claimant) {
      return claimKeysOf(claimant).every((key) => {
        if (interested.has(key)) return false;
        interested.set(key, claimant.owner);
        return true;
      });
    },
    /** Removes the owner; returns false when others claim these keys too. */
    removeExclusive(claimant: Claimant) {
      return claimKeysOf(claimant).every((key) => interested.get(key) === claimant.owner && interested.delete(key));
    },
  };
}

export type ClaimInterests = ReturnType<typeof createClaimInterests>;
