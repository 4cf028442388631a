/**
 * What one node has leased of one counter. Accounts only grow, so messages about them may be lost, repeated and
 * reordered: the merged account of two messages is the same in any order.
 */
import type { Counter, Period } from "@sluice/plugin-sdk";

export interface Account {
  /**
   * Number of the account among all accounts that its node has opened. A node that dropped an account, to free memory,
   * opens one with a higher generation, and can no longer spend the tokens of the former one.
   */
  readonly generation: number;
  /** Tokens of the node's former generations. */
  readonly before: number;
  /** Tokens that owners have granted in total, and those that the node has borrowed while no owner answered. */
  readonly granted: number;
  /** Tokens that the node has given back in total. */
  readonly returned: number;
  /** Tokens that the node has spent, as far as the holder of this record knows. Never more than granted - returned. */
  readonly used: number;
  /** Amounts that the node has added whatever the limit (`Counters.addAmount`), in total. */
  readonly added: number;
}

/** An account with which nothing has happened. */
export const newAccount = (generation: number): Account => ({
  generation,
  before: 0,
  granted: 0,
  returned: 0,
  used: 0,
  added: 0,
});

/** Tokens that the account's node has spent or may spend. */
export const chargedTokens = ({ before, granted, returned, added }: Account): number =>
  before + granted - returned + added;

/** Tokens that the account's node may still hold. */
export const unspentTokens = ({ granted, returned, used }: Account): number => granted - returned - used;

/** The union of what two records of one node's account say. */
export function mergedAccount(one: Account | undefined, other: Account): Account {
  if (one === undefined) return other;
  if (one.generation === other.generation) {
    return {
      generation: one.generation,
      before: Math.max(one.before, other.before),
      granted: Math.max(one.granted, other.granted),
      returned: Math.max(one.returned, other.returned),
      used: Math.max(one.used, other.used),
      added: Math.max(one.added, other.added),
    };
  }
  const [newer, older] = one.generation > other.generation ? [one, other] : [other, one];
  return { ...newer, before: Math.max(newer.before, chargedTokens(older)) };
}

/** Identifies a counter within its window. */
export const counterId = ({ name, period, windowStart }: Counter): string => `${period}:${windowStart}:${name}`;

/** Counters of these periods are saved, because a restart of all nodes must not end them. */
const savedPeriods: ReadonlySet<Period> = new Set(["day", "month", "year"]);

export const isSaved = ({ period }: Counter): boolean => savedPeriods.has(period);

/** Whether the window lasts an hour or longer. */
export const isLong = ({ period }: Counter): boolean => period !== "second" && period !== "minute";

/** Limits may have fractions, which are rounded up. */
export const wholeLimit = ({ limit }: Counter): number => Math.ceil(limit);
