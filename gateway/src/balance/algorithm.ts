/** What all algorithms of balancing are: one function from those that are fit to the one that is taken. */
import type { Member } from "./member.ts";

/** A member and its weight, above 0 for those that may be picked. */
export interface Entry {
  readonly member: Member;
  readonly weight: number;
}

export interface Fit {
  fits(index: number): boolean;
}

export interface Algorithm {
  /**
   * @param hash of what the request shows; null when there is nothing to hash
   * @returns the index of an entry that fits; -1 when none does
   */
  pick(fit: Fit, hash: number | null): number;
}
