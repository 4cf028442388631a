/** Who has an interest in what can be claimed: where it is one resource alone, nobody else depends on what it does. */
import { type Claimant, keysOfClaims } from "./claims.ts";
import type { Owner } from "./translation.ts";

export interface Parties {
  /** Notes the owner's interest in all that the entity claims. */
  join(claimant: Claimant): void;
  /** Takes what nobody has an interest in. False: somebody has. */
  enter(claimant: Claimant): boolean;
  /** Takes an interest back. False: others have it too. */
  leave(claimant: Claimant): boolean;
}

export function createParties(): Parties {
  /** null: several, or one that asked twice. */
  const interested = new Map<string, Owner | null>();
  return {
    join(claimant) {
      for (const key of keysOfClaims(claimant)) {
        const before = interested.get(key);
        if (before === undefined) interested.set(key, claimant.owner);
        else if (before !== claimant.owner) interested.set(key, null);
      }
    },
    enter(claimant) {
      return keysOfClaims(claimant).every((key) => {
        if (interested.has(key)) return false;
        interested.set(key, claimant.owner);
        return true;
      });
    },
    leave(claimant) {
      return keysOfClaims(claimant).every((key) => interested.get(key) === claimant.owner && interested.delete(key));
    },
  };
}
