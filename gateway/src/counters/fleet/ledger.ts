/** What the owner of a counter knows about it: the accounts of all nodes, which together must not exceed the limit. */
import { type Counter, slidingWeight } from "@sluice/plugin-sdk";
import {
  type Account,
  chargedTokens,
  isLong,
  mergedAccount,
  newAccount,
  unspentTokens,
  wholeLimit,
} from "./accounts.ts";
import type { FleetClock } from "./fleet-clock.ts";
import type { LeaseAsk, ReportedCounter, SeenTotal } from "./messages.ts";

/** At most this many remaining tokens are not divided among the nodes. */
const LAST_TOKENS = 8;

interface SpareFacts {
  /** Tokens that the node holds already. */
  readonly held: number;
  /** As `shareOf`. */
  readonly share: number;
  /** Number of nodes of the fleet. */
  readonly nodes: number;
}

export class Ledger {
  readonly hash: number;
  /** The limit at which the nodes were told that no token is left; -1: they were not. */
  exhaustedAt = -1;
  /** The owner that has the content of this ledger: this node, or the one that has confirmed its report. */
  knownBy: string | undefined;
  readonly #accounts = new Map<string, Account>();
  readonly #wallTime: () => number;
  /** The ledgers of the windows before and after, if the window slides. */
  #previous: Ledger | undefined;
  #next: Ledger | undefined;
  #counter: Counter;
  #highestLimit = 0;
  #charged = 0;
  /** The part of `#charged` that was added whatever the limit. */
  #added = 0;
  #unreported = 0;
  #overshoot = 0;
  #seen: SeenTotal | undefined;

  constructor(counter: Counter, { hash, wallTime }: Pick<Ledger, "hash"> & Pick<FleetClock, "wallTime">) {
    this.#counter = counter;
    this.hash = hash;
    this.#wallTime = wallTime;
    this.setLimit(counter);
  }

  get counter(): Counter {
    return this.#counter;
  }

  /** Tokens of all accounts, and those that a former owner granted to nodes that did not report. */
  get total(): number {
    return this.#charged + this.#unreported;
  }

  /** Tokens of the window before; 0 if the window does not slide. */
  get previous(): number {
    return this.#previous?.total ?? 0;
  }

  get remaining(): number {
    const room = wholeLimit(this.#counter) - this.total - this.#carried;
    return Math.max(0, this.#next === undefined ? room : Math.min(room, this.#roomOf(this.#next)));
  }

  /** Tokens of nodes that did not report, and may give some back. */
  get hasUnreported(): boolean {
    return this.#unreported > 0;
  }

  /** Connects the ledgers of two windows that follow each other. */
  precede(next: Ledger): void {
    this.#next = next;
    next.#previous = this;
  }

  /** The ledger is not used any more. */
  unlink(): void {
    if (this.#previous !== undefined) this.#previous.#next = undefined;
    if (this.#next !== undefined) this.#next.#previous = undefined;
    this.#previous = undefined;
    this.#next = undefined;
  }

  /** Tokens over the limit that have been counted. */
  get overshoot(): number {
    return this.#overshoot;
  }

  /** The limit of the latest ask holds, because the configuration may have changed. */
  setLimit(counter: Counter): void {
    this.#counter = counter;
    this.#highestLimit = Math.max(this.#highestLimit, wholeLimit(counter));
  }

  /** Number of accounts. */
  get accounts(): number {
    return this.#accounts.size;
  }

  /** The nodes with their accounts. */
  nodes(): Iterable<readonly [node: string, account: Account]> {
    return this.#accounts;
  }

  account(node: string): Account | undefined {
    return this.#accounts.get(node);
  }

  /** The part of the tokens of this window that the node has got: from 0 to 1. It tells which part of the demand it has. */
  shareOf(node: string): number {
    const { granted = 0, returned = 0 } = this.#accounts.get(node) ?? {};
    return Math.min(1, (granted - returned) / Math.max(1, this.#charged - this.#added));
  }

  /** The nodes that may hold tokens. */
  holders(): readonly string[] {
    return [...this.#accounts].filter(([, account]) => unspentTokens(account) > 0).map(([node]) => node);
  }

  /** Merges what a node says of an account. */
  learn(node: string, account: Account): void {
    const before = this.#accounts.get(node);
    const after = mergedAccount(before, account);
    this.#accounts.set(node, after);
    const charged = chargedTokens(after) - (before === undefined ? 0 : chargedTokens(before));
    this.#charged += charged;
    this.#added += after.added - (before?.added ?? 0);
    // These tokens were already charged, as those of a node that had not reported.
    if (charged > 0) this.#unreported -= Math.min(this.#unreported, charged);
  }

  /**
   * Replaces the accounts of nodes that have ended by one account of the owner that calls this. If another node still has
   * a former copy of the ledger, their tokens count twice after the next change of the owner.
   */
  foldEnded(hasEnded: (node: string) => boolean, owner: string): void {
    const name = `ended:${owner}`;
    let before = 0;
    for (const [node, account] of this.#accounts) {
      if (!hasEnded(node)) continue;
      before += chargedTokens(account);
      this.#added -= account.added;
      this.#accounts.delete(node);
    }
    this.#accounts.set(name, { ...newAccount(1), before });
  }

  /** Merges the report of a node. */
  learnReport({ counter, accounts, seen, overshoot }: ReportedCounter): void {
    this.#highestLimit = Math.max(this.#highestLimit, wholeLimit(counter));
    this.#overshoot = Math.max(this.#overshoot, overshoot);
    if (seen !== undefined) this.#see(seen);
    for (const [node, account] of accounts) this.learn(node, account);
  }

  /** Charges the tokens that the former owner has granted to nodes that did not report. */
  chargeUnreported(): void {
    this.#unreported = Math.max(this.#unreported, (this.#seen?.total ?? 0) - this.#charged);
  }

  /**
   * Grants tokens for the waiting requests of the ask, and extra ones. The share of a node is its part of the tokens
   * that were granted so far, or an equal part if that is larger. With the share s, a node gets at most s * (1 - s / 2)
   * of the remainder as extra tokens. A node with more than half of the demand also gets the last tokens. In windows of
   * an hour and longer, all nodes together hold at most an eighth of the remainder in advance. Returns whether all
   * waiting requests get a token.
   *
   * @param nodes Number of nodes of the fleet
   */
  grant(node: string, ask: LeaseAsk, nodes: number): boolean {
    const { account, extra } = ask;
    const now = this.#accounts.get(node);
    if (now === undefined || now.generation !== account.generation) return true;
    const share = this.shareOf(node);
    const needed = neededTokens(ask);
    const held = Math.max(0, now.granted - needed);
    const left = Math.max(0, this.remaining - Math.max(0, needed - now.granted));
    const wanted = needed + Math.min(extra, this.#spareOf(left, { held, share, nodes }));
    const added = Math.min(Math.max(0, wanted - now.granted), this.remaining);
    if (added > 0) {
      this.#accounts.set(node, { ...now, granted: now.granted + added });
      this.#charged += added;
    }
    return now.granted + added >= needed;
  }

  /** The most tokens that a node may hold in advance. */
  #spareOf(left: number, { held, share, nodes }: SpareFacts): number {
    // What a node holds when it crashes is lost, which matters more than messages if the window is long.
    if (isLong(this.#counter)) return Math.floor(left / (8 * nodes));
    if (left <= LAST_TOKENS && share > 0.5) return held + left;
    const least = Math.max(share, 1 / nodes);
    return held + Math.floor(left * least * (1 - least / 2));
  }

  /** The number of tokens by which the overshoot has grown since the last call. Amounts may exceed a limit. */
  countOvershoot(): number {
    const excess = this.total + this.#carried - this.#added - this.#highestLimit;
    if (excess <= this.#overshoot) return 0;
    const grown = excess - this.#overshoot;
    this.#overshoot = excess;
    return grown;
  }

  /** For the next owner. */
  report(): ReportedCounter {
    const { counter, overshoot } = this;
    return { counter, accounts: [...this.#accounts], seen: this.#seen, overshoot };
  }

  /** Tokens of the window before that count now. */
  get #carried(): number {
    return this.#previous === undefined ? 0 : Math.ceil(this.#previous.total * this.#weight);
  }

  get #weight(): number {
    const { windowStart: start, sliding } = this.#counter;
    return sliding === undefined ? 0 : slidingWeight({ start, end: sliding.end }, this.#wallTime());
  }

  /** Tokens that may still be granted in this window, because they count in part in the next one. */
  #roomOf(next: Ledger): number {
    const weight = next.#weight;
    const room = Math.max(0, wholeLimit(next.#counter) - next.total);
    if (weight === 0) return Number.POSITIVE_INFINITY;
    const most = Math.floor(room / weight);
    // The quotient may be rounded up.
    return (Math.ceil(most * weight) > room ? most - 1 : most) - this.total;
  }

  #see(seen: SeenTotal): void {
    const { epoch, total } = this.#seen ?? { epoch: -1, total: 0 };
    if (seen.epoch > epoch || (seen.epoch === epoch && seen.total > total)) this.#seen = seen;
  }
}

/** The total that must be granted to the account so that the waiting requests of the ask get their tokens. */
export const neededTokens = ({ account, pending }: LeaseAsk): number => account.used + account.returned + pending;
