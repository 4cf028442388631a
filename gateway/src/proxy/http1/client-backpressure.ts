/** Backpressure of one HTTP/1.1 client: minimum read rate, pipelining limit, and memory accounting. */
import type { Socket } from "node:net";
import type { ClientMemory, MemoryAccount } from "../listener/client-memory.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { type MinRateLimits, MinRateTimer } from "../timers/min-rate-timer.ts";

export interface ClientBackpressureOptions {
  /** Counts the bytes written to the socket so far. */
  readonly out: { readonly written: number };
  readonly limits: MinRateLimits;
  readonly memory: ClientMemory;
  /** Called when the client reads too slowly; closes the connection. */
  readonly onLate: () => void;
}

/** Bytes of pipelined requests at which reading pauses while another request is under way. */
const MAX_PIPELINED = 65_536;
/** The account counts pipelined bytes only once there are more than this. */
const MIN_COUNTED = 4096;

export class ClientBackpressure {
  readonly #socket: Socket;
  readonly #out: ClientBackpressureOptions["out"];
  /** Runs while response data waits for the client. */
  readonly #stall: IdleTimer;
  readonly #pace: MinRateTimer;
  readonly #memory: ClientMemory;
  readonly #close: () => void;
  /** Null until the client leaves data unread or pipelines requests, or a tunnel needs the account. */
  #account: MemoryAccount | null = null;
  /** Pipelined bytes, as counted in the account. */
  #ahead = 0;
  /** Bytes that the client has not read yet, as counted in the account. */
  #waiting = 0;
  /** Number of the last request whose response had to wait for the client; -1: none yet. */
  #slow = -1;

  constructor(socket: Socket, { out, limits, memory, onLate }: ClientBackpressureOptions) {
    this.#socket = socket;
    this.#out = out;
    this.#memory = memory;
    this.#close = onLate;
    this.#stall = new IdleTimer(onLate);
    this.#pace = new MinRateTimer(this.#stall, limits);
  }

  /**
   * Starts the timer: response data is waiting for the client.
   *
   * @param request Number of the request; each has a grace period of its own
   */
  wait(request: number): void {
    if (this.#slow !== request) this.#pace.reset(this.#taken);
    this.#slow = request;
    this.#pace.resume(this.#taken);
    const before = this.#waiting;
    this.#waiting = this.#socket.writableLength;
    this.account().wait(this.#waiting - before);
  }

  /** Called when the kernel has accepted all data. */
  drained(): void {
    this.#pace.pause(this.#taken);
    this.#release();
  }

  stop(): void {
    this.#stall.stop();
  }

  /** The connection's memory account; a tunnel on the connection uses it too. */
  readonly account = (): MemoryAccount => {
    this.#account ??= this.#memory.account(this.#close);
    return this.#account;
  };

  /** Counts pipelined bytes. Reading pauses while the client is MAX_PIPELINED bytes or more ahead. */
  ahead(bytes: number): void {
    if (bytes > MIN_COUNTED || this.#ahead > 0) {
      this.account().wait(bytes - this.#ahead);
      this.#ahead = bytes;
    }
    const socket = this.#socket;
    if (bytes >= MAX_PIPELINED) socket.pause();
    else if (socket.isPaused()) socket.resume();
  }

  /** Called when the connection has been closed. */
  leave(): void {
    this.close();
    this.#account?.close();
  }

  /** Stops the timing of writes; later writes are not monitored. */
  close(): void {
    this.#stall.close();
    this.#release();
  }

  #release(): void {
    if (this.#waiting > 0) this.account().taken(this.#waiting);
    this.#waiting = 0;
  }

  /** Bytes that the kernel has accepted so far. */
  get #taken(): number {
    return this.#out.written - this.#socket.writableLength;
  }
}
