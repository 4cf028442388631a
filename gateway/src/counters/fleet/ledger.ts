/** What the owner of a counter knows about it: the accounts of all nodes, which together must not exceed the limit. */
import type { Counter } from "@sluice/plugin-sdk";
import { type Account, chargedTokens, mergedAccount, unspentTokens, wholeLimit } from "./accounts.ts";
import type { LeaseAsk, ReportedCounter, SeenTotal } from "./messages.ts";

export class Ledger {
  readonly hash: number;
  /** The owner that has the content of this ledger: this node, or the one that has confirmed its report. */
  knownBy: string | undefined;
  readonly #accounts = new Map<string, Account>();
  #counter: Counter;
  #highestLimit = 0;
  #charged = 0;
  #unreported = 0;
  #overshoot = 0;
  #seen: SeenTotal | undefined;

  constructor(counter: Counter, hash: number) {
    this.#counter = counter;
    this.hash = hash;
    this.setLimit(counter);
  }

  get counter(): Counter {
    return this.#counter;
  }

  /** Tokens of all accounts, and those that a former owner granted to nodes that did not report. */
  get total(): number {
    return this.#charged + this.#unreported;
  }

  get remaining(): number {
    return Math.max(0, wholeLimit(this.#counter) - this.total);
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

  account(node: string): Account | undefined {
    return this.#accounts.get(node);
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
    const added = chargedTokens(after) - (before === undefined ? 0 : chargedTokens(before));
    this.#charged += added;
    // These tokens were already charged, as those of a node that had not reported.
    if (added > 0) this.#unreported -= Math.min(this.#unreported, added);
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
   * Grants tokens for the waiting requests of the ask, and of the extra ones so few that all nodes can still get as
   * many. Returns whether all waiting requests get a token.
   *
   * @param nodes Number of nodes of the fleet
   */
  grant(node: string, { account, pending, extra }: LeaseAsk, nodes: number): boolean {
    const now = this.#accounts.get(node);
    if (now === undefined || now.generation !== account.generation) return true;
    const needed = account.used + account.returned + pending;
    const spare = Math.floor((this.remaining - Math.max(0, needed - now.granted)) / (2 * nodes));
    const wanted = needed + Math.max(0, Math.min(extra, spare));
    const added = Math.min(Math.max(0, wanted - now.granted), this.remaining);
    if (added > 0) {
      this.#accounts.set(node, { ...now, granted: now.granted + added });
      this.#charged += added;
    }
    return now.granted + added >= needed;
  }

  /** The number of tokens by which the overshoot has grown since the last call. */
  countOvershoot(): number {
    const excess = this.total - this.#highestLimit;
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

  #see(seen: SeenTotal): void {
    const { epoch, total } = this.#seen ?? { epoch: -1, total: 0 };
    if (seen.epoch > epoch || (seen.epoch === epoch && seen.total > total)) this.#seen = seen;
  }
}
