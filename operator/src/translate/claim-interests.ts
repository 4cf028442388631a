/** Who has an interest in what can be claimed: where it is one resource alone, nobody else depends on what it does. */
import { type Claimant, claimKeysOf } from "./claims.ts";
import type { Owner } from "./translation.ts";

export interface ClaimInterests {
  /** Notes the owner's interest in all that the entity claims. */
  add(claimant: Claimant): void;
  /** Takes what nobody has an interest in. False: somebody has. */
  addExclusive(claimant: Claimant): boolean;
  /** Takes an interest back. False: others have it too. */
  removeExclusive(claimant: Claimant): boolean;
}

export function createClaimInterests(): ClaimInterests {
  /** null: several, or one that asked twice. */
  const interested = new Map<string, Owner | null>();
  return {
    add(claimant) {
      for (const key of claimKeysOf(claimant)) {
        const before = interested.get(key);
        if (before === undefined) interested.set(key, claimant.owner);
        else if (before !== claimant.owner) interested.set(key, null);
      }
    },
    addExclusive(claimant) {
      return claimKeysOf(claimant).every((key) => {
        if (interested.has(key)) return false;
        interested.set(key, claimant.owner);
        return true;
      });
    },
    removeExclusive(claimant) {
      return claimKeysOf(claimant).every((key) => interested.get(key) === claimant.owner && interested.delete(key));
    },
  };
}
