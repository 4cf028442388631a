/**
 * The memory that clients make a worker hold, counted over all their connections: connections and streams of HTTP/2 at
 * fixed prices, decoded heads, and bytes that wait for clients to take them. Each connection has its own limits; only
 * this one holds for many connections together (CVE-2019-9517 and its kin, from several hundred connections).
 *
 * Over half of the limit, a connection that leaves more than its share of the rest waiting gets no more streams. When the
 * part for new streams is used up, the connection is closed on which the most has been waiting for a second; if there is
 * none, the stream is refused. The last quarter is for responses of streams that were admitted.
 */

import type { ProxyLog } from "../pipeline.ts";

/** Part of the limit that new connections and streams may use. */
const ADMISSION = 3 / 4;
/** Part of the limit from which on shares hold. */
const PRESSURE = 1 / 2;
/** Part of the room that is left for new streams which one connection may leave waiting under pressure. */
const CONNECTION_SHARE = 1 / 128;
/** Milliseconds after which what waits is regarded as not being taken. */
const STALL_TIME = 1000;
/** Milliseconds between two lines of the log. */
const LOG_INTERVAL = 10_000;

export class ClientMemory {
  readonly limit: number;
  /** Bytes. */
  held = 0;
  readonly #log: Pick<ProxyLog, "warn">;
  #loggedAt = Number.NEGATIVE_INFINITY;
  /** Connections with bytes that wait for their clients. */
  readonly #waiting = new Set<MemoryAccount>();

  /** @param limit Bytes */
  constructor(limit: number, log: Pick<ProxyLog, "warn">) {
    this.limit = limit;
    this.#log = log;
  }

  /** @param close Closes the connection at once, because it holds too much */
  account(close: () => void): MemoryAccount {
    return new MemoryAccount(this, close);
  }

  /** What waits for the account's client has changed. */
  track(account: MemoryAccount): void {
    if (account.waiting > 0) this.#waiting.add(account);
    else this.#waiting.delete(account);
  }

  /** Makes room for a new connection or stream if need be; false: it must not begin. */
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

  /** Closes connections while more is held than may be, those first on which the most waits. */
  enforce(): void {
    while (this.held > this.limit) {
      const worst = this.#worst(() => true);
      if (worst === null) return;
      this.#close(worst);
    }
  }

  /** Whether so much is held that connections have shares. */
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
    const message = "clients use too much memory: refusing streams, or closing connections that do not read";
    this.#log.warn({ held: this.held, limit: this.limit }, message);
  }
}

/** What one connection makes its worker hold. Nothing is counted any more once it is closed. */
export class MemoryAccount {
  /** Bytes that wait for the client, with the streams that they keep open. */
  waiting = 0;
  /** Since when they have been waiting, by `performance.now()`; it moves on with the part of them that is taken. */
  waitsSince = 0;
  readonly #memory: ClientMemory;
  readonly #close: () => void;
  #held = 0;
  #isClosed = false;

  constructor(memory: ClientMemory, close: () => void) {
    this.#memory = memory;
    this.#close = close;
  }

  /** For a connection or stream that begins; false: it must not. */
  admit(bytes: number): boolean {
    if (this.#isClosed || !this.#memory.mayAdmit(this, bytes)) return false;
    this.#hold(bytes);
    return true;
  }

  /** Bytes that were admitted are free again. */
  release(bytes: number): void {
    this.#hold(-bytes);
  }

  /**
   * More waits for the client.
   *
   * @param bytes That wait, more than before; below zero: some were taken
   * @param admitted Bytes admitted before that stay held while these wait
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

  /** What waited was taken, or nobody will take it any more. */
  taken(bytes: number, admitted = 0): void {
    if (this.#isClosed) return;
    const part = (bytes + admitted) / this.waiting;
    this.waitsSince += (performance.now() - this.waitsSince) * part;
    this.waiting -= bytes + admitted;
    this.#hold(-bytes);
    this.#memory.track(this);
  }

  /** The connection is closed. */
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
