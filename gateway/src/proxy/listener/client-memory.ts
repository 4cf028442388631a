/**
 * Memory that clients make a worker hold, counted over all their connections: fixed costs for HTTP/2 connections and
 * streams, decoded heads, request bodies of HTTP/2 that wait for an upstream, and bytes that clients have not read yet.
 * The last two are called unread here. Each connection has limits of its own; only this limit covers many connections
 * together (CVE-2019-9517 and similar attacks over several hundred connections).
 *
 * Three quarters of the limit are for new connections and streams; the last quarter is reserved for responses of
 * admitted streams. Above half of the limit, a connection whose unread bytes exceed its share of the remaining room for
 * new streams may open no more streams. When that room is used up, the connection with the most bytes that have been
 * unread for a second is closed; if there is none, the stream is refused.
 */

import type { ProxyLog } from "../engine.ts";

/** Fraction of the limit that new connections and streams may use. */
const ADMISSION = 3 / 4;
/** Fraction of the limit above which shares apply. */
const PRESSURE = 1 / 2;
/** Above PRESSURE, a connection whose unread bytes exceed this fraction of the remaining room gets no new streams. */
const CONNECTION_SHARE = 1 / 128;
/** Milliseconds after which unread data counts as stalled. */
const STALL_TIME = 1000;
/** Milliseconds between two log lines. */
const LOG_INTERVAL = 10_000;

export class ClientMemory {
  readonly limit: number;
  /** Bytes held at present. */
  held = 0;
  readonly #log: Pick<ProxyLog, "warn">;
  #loggedAt = Number.NEGATIVE_INFINITY;
  readonly #waiting = new Set<MemoryAccount>();

  /** @param limit Bytes */
  constructor(limit: number, log: Pick<ProxyLog, "warn">) {
    this.limit = limit;
    this.#log = log;
  }

  /** @param close Closes the connection at once, because it holds too much memory */
  account(close: () => void): MemoryAccount {
    return new MemoryAccount(this, close);
  }

  /** Called when the account's unread bytes have changed. */
  track(account: MemoryAccount): void {
    if (account.waiting > 0) this.#waiting.add(account);
    else this.#waiting.delete(account);
  }

  /** Makes room for a new connection or stream if necessary. Returns false when it must not begin. */
  mayAdmit(asking: MemoryAccount, bytes: number): boolean {
    if (this.#exceedsShare(asking.waiting)) {
      this.#warn();
      return false;
    }
    while (this.held + bytes > this.limit * ADMISSION) {
      const worst = this.#worst(
        (account) => account !== asking && account.waitsSince <= performance.now() - STALL_TIME,
      );
      if (worst === null) {
        this.#warn();
        return false;
      }
      this.#close(worst);
    }
    return true;
  }

  /** Closes connections while the limit is exceeded, those with the most unread bytes first. */
  enforce(): void {
    while (this.held > this.limit) {
      const worst = this.#worst(() => true);
      if (worst === null) return;
      this.#close(worst);
    }
  }

  /** Whether usage is so high that shares apply. */
  get isShort(): boolean {
    return this.held > this.limit * PRESSURE;
  }

  #exceedsShare(waiting: number): boolean {
    return this.isShort && waiting > Math.max(0, this.limit * ADMISSION - this.held) * CONNECTION_SHARE;
  }

  #worst(fits: (account: MemoryAccount) => boolean): MemoryAccount | null {
    let worst: MemoryAccount | null = null;
    for (const account of this.#waiting) {
      if ((worst === null || account.waiting > worst.waiting) && fits(account)) worst = account;
    }
    return worst;
  }

  #close(account: MemoryAccount): void {
    this.#warn();
    account.close();
    account.closeConnection();
  }

  #warn(): void {
    const now = performance.now();
    if (now - this.#loggedAt < LOG_INTERVAL) return;
    this.#loggedAt = now;
    const message = "clients use too much memory: refusing streams, or closing connections whose clients do not read";
    this.#log.warn({ held: this.held, limit: this.limit }, message);
  }
}

/** Memory that one connection makes its worker hold. A closed account counts nothing. */
export class MemoryAccount {
  /** Bytes that the client has not read, and the bytes of the streams that stay open because of them. */
  waiting = 0;
  /** Start of waiting by `performance.now()`; it advances in proportion to the bytes that are read. */
  waitsSince = 0;
  readonly #memory: ClientMemory;
  readonly #close: () => void;
  #held = 0;
  #isClosed = false;

  constructor(memory: ClientMemory, close: () => void) {
    this.#memory = memory;
    this.#close = close;
  }

  /** Counts a new connection or stream. Returns false when it must not begin. */
  admit(bytes: number): boolean {
    if (this.#isClosed || !this.#memory.mayAdmit(this, bytes)) return false;
    this.#hold(bytes);
    return true;
  }

  release(bytes: number): void {
    this.#hold(-bytes);
  }

  /**
   * Counts bytes that the client has not read.
   *
   * @param bytes Change of unread bytes; negative: some were read
   * @param admitted Bytes admitted earlier that stay held until the unread bytes are read
   */
  wait(bytes: number, admitted = 0): void {
    if (this.#isClosed) return;
    if (bytes < 0) {
      this.taken(-bytes);
      return;
    }
    if (this.waiting === 0) this.waitsSince = performance.now();
    this.waiting += bytes + admitted;
    this.#hold(bytes);
    this.#memory.track(this);
    this.#memory.enforce();
  }

  /** Called when unread bytes were read, or have been discarded. */
  taken(bytes: number, admitted = 0): void {
    if (this.#isClosed) return;
    const part = (bytes + admitted) / this.waiting;
    this.waitsSince += (performance.now() - this.waitsSince) * part;
    this.waiting -= bytes + admitted;
    this.#hold(-bytes);
    this.#memory.track(this);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#hold(-this.#held);
    this.#isClosed = true;
    this.waiting = 0;
    this.#memory.track(this);
  }

  closeConnection(): void {
    this.#close();
  }

  #hold(bytes: number): void {
    if (this.#isClosed) return;
    this.#held += bytes;
    this.#memory.held += bytes;
  }
}
