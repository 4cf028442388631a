/** How a client takes what it is sent, and that it sends no more than can be used: what it makes us hold is counted. */
import type { Socket } from "node:net";
import type { ClientMemory, MemoryAccount } from "../listener/client-memory.ts";
import { IdleTimer } from "./idle-timer.ts";
import { type MinRateLimits, MinRateTimer } from "./min-rate-timer.ts";
import type { WriteQueue } from "./write-queue.ts";

export interface ClientBackpressureOptions {
  readonly out: WriteQueue;
  readonly limits: MinRateLimits;
  readonly memory: ClientMemory;
  /** Closes the connection. */
  readonly onLate: () => void;
}

/** Bytes of the next requests that are kept while one is under way. */
const MAX_PIPELINED = 65_536;
/** Bytes of them that are not worth counting. */
const MIN_COUNTED = 4096;

export class ClientBackpressure {
  readonly #socket: Socket;
  readonly #out: WriteQueue;
  /** Runs while the client takes nothing. */
  readonly #stall: IdleTimer;
  readonly #pace: MinRateTimer;
  readonly #memory: ClientMemory;
  readonly #close: () => void;
  /** Null as long as the client has taken all, and has sent nothing before its time. */
  #account: MemoryAccount | null = null;
  /** Bytes that have come before their time, as they are counted. */
  #ahead = 0;
  /** Bytes that wait for the client, as they are counted. */
  #waiting = 0;
  /** The request whose answer is being taken slowly. */
  #slow = -1;

  constructor(socket: Socket, { out, limits, memory, onLate }: ClientBackpressureOptions) {
    this.#socket = socket;
    this.#out = out;
    this.#memory = memory;
    this.#close = onLate;
    this.#stall = new IdleTimer(onLate);
    this.#pace = new MinRateTimer(this.#stall, limits);
  }

  /** Something waits. @param request Whose answer it is; each has its grace */
  wait(request: number): void {
    if (this.#slow !== request) this.#pace.reset(this.#taken);
    this.#slow = request;
    this.#pace.resume(this.#taken);
    const before = this.#waiting;
    this.#waiting = this.#socket.writableLength;
    this.account().wait(this.#waiting - before);
  }

  /** Nothing waits any more. */
  drained(): void {
    this.#pace.pause(this.#taken);
    this.#release();
  }

  stop(): void {
    this.#stall.stop();
  }

  /** What the connection is counted with, also as a tunnel. */
  readonly account = (): MemoryAccount => {
    this.#account ??= this.#memory.account(this.#close);
    return this.#account;
  };

  /** So many bytes have come before their time: whoever sends more than can be used now is read no further. */
  ahead(bytes: number): void {
    if (bytes > MIN_COUNTED || this.#ahead > 0) {
      this.account().wait(bytes - this.#ahead);
      this.#ahead = bytes;
    }
    const socket = this.#socket;
    if (bytes >= MAX_PIPELINED) socket.pause();
    else if (socket.isPaused()) socket.resume();
  }

  /** The connection is closed. */
  leave(): void {
    this.close();
    this.#account?.close();
  }

  /** What is written from now on is not looked at. */
  close(): void {
    this.#stall.close();
    this.#release();
  }

  #release(): void {
    if (this.#waiting > 0) this.account().taken(this.#waiting);
    this.#waiting = 0;
  }

  /** Bytes so far. */
  get #taken(): number {
    return this.#out.written - this.#socket.writableLength;
  }
}
