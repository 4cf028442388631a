/** Orders of tests: a storage in memory, and a clock that tests move. */
import type { TestContext } from "node:test";
import type { AcmeChallenge, AcmeStatus } from "@sluice/model";
import { type AcmeOrders, type AcmeOrdersOptions, createAcmeOrders } from "./orders.ts";
import type { TestCa } from "./testing-ca.ts";
import type { AcmeAccount, AcmeClock, AcmeState, AcmeStorage, OrderedCertificate } from "./types.ts";

export const acmeOf = (members: Partial<OrderedCertificate["acme"]> = {}): OrderedCertificate["acme"] => ({
  domains: null,
  challenge: "http-01",
  directory: null,
  key_type: "ecdsa",
  ...members,
});

/** Sleeps end when the test moves the clock. Sleeps of at most ten seconds end at once: an order is not slowed down. */
export class OrderClock implements AcmeClock {
  #now = Date.parse("2026-01-01T00:00:00Z");
  readonly #sleeping = new Set<() => void>();

  now(): number {
    return this.#now;
  }

  sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (milliseconds <= 10_000) {
      this.#now += milliseconds;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const until = this.#now + milliseconds;
      const wake = () => {
        if (!signal.aborted && this.#now < until) return;
        this.#sleeping.delete(wake);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      };
      this.#sleeping.add(wake);
      signal.addEventListener("abort", wake);
    });
  }

  /** Moves the clock, and wakes those whose time has come. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const wake of this.#sleeping) wake();
  }
}

export class MemoryStorage implements AcmeStorage {
  readonly accounts = new Map<string, AcmeAccount>();
  readonly states = new Map<string, AcmeState>();
  readonly pairs = new Map<string, { readonly cert: string; readonly key: string }>();
  /** The challenges of all publications. */
  readonly published: (readonly AcmeChallenge[])[] = [];
  /** Called with the method of each write; may throw. */
  onWrite: (method: string) => void = () => {};
  onPair: (id: string) => void = () => {};
  /** Resolves when the nodes have the challenges. */
  onPublish: (challenges: readonly AcmeChallenge[]) => Promise<void> = async () => {};
  /** Called before each read of a state. */
  onRead: () => void = () => {};

  async account(directory: string) {
    return this.accounts.get(directory) ?? null;
  }
  async putAccount(directory: string, account: AcmeAccount) {
    this.onWrite("putAccount");
    this.accounts.set(directory, account);
  }
  async state(id: string) {
    this.onRead();
    return this.states.get(id) ?? null;
  }
  async putState(id: string, state: AcmeState) {
    this.onWrite("putState");
    this.states.set(id, structuredClone(state));
  }
  async putCertificate(id: string, pair: { readonly cert: string; readonly key: string }) {
    this.onWrite("putCertificate");
    this.pairs.set(id, pair);
    this.onPair(id);
  }
  async publishChallenges(_id: string, challenges: readonly AcmeChallenge[]) {
    this.onWrite("publishChallenges");
    this.published.push(challenges);
    await this.onPublish(challenges);
  }
}

export interface TestOrders {
  readonly storage: MemoryStorage;
  readonly orders: AcmeOrders;
  /** The clock, unless another one was given. */
  readonly clock: OrderClock;
  readonly log: string[];
  /** The statuses of the certificate, in order. */
  readonly statuses: AcmeStatus[];
  /** Follows this certificate; a new pair is followed as soon as it is stored. */
  follow(members?: Partial<OrderedCertificate>): void;
  /** Stops following all certificates. */
  unfollow(): void;
  close(): Promise<void>;
}

export function startOrders(
  test: TestContext,
  ca: TestCa,
  given: Partial<AcmeOrdersOptions> & { readonly storage?: MemoryStorage } = {},
): TestOrders {
  const ownClock = new OrderClock();
  const { storage = new MemoryStorage(), clock = ownClock } = given;
  const log: string[] = [];
  const statuses: AcmeStatus[] = [];
  const write = (_details: object, message: string) => void log.push(message);
  ca.now = () => clock.now();
  const orders = createAcmeOrders({
    directories: [ca.directory],
    email: null,
    ca: ca.authority,
    externalAccountBinding: null,
    log: { info: write, warn: write, error: write },
    random: () => 0,
    onStatus: (_id, status) => statuses.push(status),
    ...given,
    storage,
    clock,
  });
  test.after(() => orders.close());
  let followed: OrderedCertificate = { id: "one", name: "shop", acme: acmeOf(), snis: ["shop.example"], cert: null };
  const follow = (members: Partial<OrderedCertificate> = {}) => {
    followed = { ...followed, ...members };
    orders.follow([followed]);
  };
  storage.onPair = (id) => follow({ cert: storage.pairs.get(id)?.cert ?? null });
  return {
    storage,
    orders,
    clock: ownClock,
    log,
    statuses,
    follow,
    unfollow: () => orders.follow([]),
    close: () => orders.close(),
  };
}
