/**
 * A node of a fleet in a process: the protocol (gateway/src/counters/fleet/README.md) with timers and with connections to
 * its peers.
 */
import type { PemTexts, ViewedNode } from "@sluice/model/serving";
import type { Counter, CounterResult, FleetFallback } from "@sluice/plugin-sdk";
import { RETRY } from "../counters/fleet/fleet-clock.ts";
import { type FleetEvents, FleetLimiter } from "../counters/fleet/fleet-limiter.ts";
import { createLeaseMemory, LeaseSlots, type WorkerLease } from "../counters/fleet/lessee/lease-words.ts";
import type { PeerMessage, ReportedCounter, SavedCounter } from "../counters/fleet/messages.ts";
import type { FleetView } from "../counters/fleet/view.ts";
import { MAX_COUNTERS } from "../counters/fleet/window-table.ts";
import { openPeerNetwork, type PeerNetwork, type PeerNetworkOptions } from "./peer-network.ts";

export interface FleetMemberOptions extends Omit<PeerNetworkOptions, "onMessage"> {
  readonly events: FleetEvents & {
    /** A message was sent to a peer. */
    readonly onSend: () => void;
  };
}

/**
 * If a tick is later than this many milliseconds, the event loop was blocked, or the process was suspended. Peers do not
 * count as silent meanwhile, because their messages were not read.
 */
const MAX_LATENESS = RETRY;
/** Maximum milliseconds until the ends of windows are looked at again, because the clock may have been set. */
const MAX_SLEEP = 60_000;

export class FleetMember {
  /** Where the workers of this node find the tokens that it holds. */
  readonly memory = createLeaseMemory(MAX_COUNTERS + 1);
  readonly #limiter: FleetLimiter;
  readonly #network: PeerNetwork;
  readonly #waiting = new Map<number, (result: CounterResult) => void>();
  #requests = 0;
  #willFlush = false;
  /** The next tick while this node waits for other nodes, and its time of `performance.now()`; Infinity: there is none. */
  #retry: NodeJS.Timeout | undefined;
  #retryAt = Number.POSITIVE_INFINITY;
  /** The tick after the next end of a window, and the time of that end in Unix milliseconds. */
  #ending: NodeJS.Timeout | undefined;
  #nextEnd = Number.POSITIVE_INFINITY;
  /** Milliseconds in which the event loop did not run. */
  #stalled = 0;
  #onDismissed: (() => void) | undefined;
  #handedOver = 0;
  #isClosed = false;
  #handedOverAt = 0;

  private constructor(options: FleetMemberOptions, network: PeerNetwork) {
    this.#network = network;
    this.#limiter = new FleetLimiter({
      self: options.self,
      clock: {
        // A request or a message may come after such a time, but before the tick that is late.
        now: () => Math.min(performance.now(), this.#retryAt + MAX_LATENESS) - this.#stalled,
        wallTime: () => Date.now(),
      },
      send(peer, message) {
        network.send(peer, message);
        options.events.onSend();
      },
      onDecision: (id, result) => {
        this.#waiting.get(id)?.(result);
        this.#waiting.delete(id);
      },
      events: options.events,
      slots: new LeaseSlots(this.memory),
    });
  }

  /** Rejects when the address for peers cannot be listened on. */
  static async open(options: FleetMemberOptions): Promise<FleetMember> {
    let member: FleetMember | undefined;
    const network = await openPeerNetwork({
      ...options,
      onMessage: (from, message) => member?.receive(from, message),
    });
    member = new FleetMember(options, network);
    return member;
  }

  get address(): PeerNetwork["address"] {
    return this.#network.address;
  }

  /** As `Counters.incrementBelowLimit`, for counters with the same `amount`: synchronous if this node holds tokens. */
  take(counters: readonly Counter[], unowned: FleetFallback): CounterResult | Promise<CounterResult> {
    const id = this.#requests++;
    const result = this.#limiter.take(id, counters, unowned);
    this.#continue();
    return result ?? new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** What a worker must know to spend tokens of a counter by itself; undefined: nothing is leased. */
  placeOf(counter: Counter): WorkerLease | undefined {
    return this.#limiter.placeOf(counter);
  }

  /** Leases more tokens of a counter if few are left. */
  refill(counter: Counter): void {
    this.#limiter.refill(counter);
    this.#continue();
  }

  /** Adds an amount to a counter whatever its limit. Resolves to the value; tokens that other nodes hold count as used. */
  add(counter: Counter, amount: number): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#limiter.add(counter, amount, resolve);
    this.#continue();
    return promise;
  }

  /** See FleetLimiter. */
  restore(counters: readonly ReportedCounter[]): void {
    this.#limiter.restore(counters);
    this.#continue();
  }

  /** See FleetLimiter. */
  takeUnsaved(most: number): readonly SavedCounter[] {
    return this.#limiter.takeUnsaved(most);
  }

  /** @param from The name of the peer that sent it */
  receive(from: string, message: PeerMessage): void {
    this.#limiter.receive(from, message);
    // Requests of the peer may wait for the answer.
    this.#limiter.flush();
    this.#continue();
    this.#noteHandover();
  }

  /** @param peers The addresses of all nodes of the view */
  adopt(view: FleetView, peers: readonly ViewedNode[]): void {
    this.#network.setPeers(peers);
    this.#limiter.adopt(view);
    this.#continue();
    this.#noteHandover();
  }

  /** Uses these certificates for new connections. */
  renew(tls: PemTexts): void {
    this.#network.renew(tls);
  }

  /** The time of `performance.now()` at which another node last took over something of this node, as far as it knows. */
  get handedOverAt(): number {
    return this.#handedOverAt;
  }

  /** Gives all leases back, and resolves when the other nodes know all that this node knew. */
  retire(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onDismissed = resolve;
    this.#limiter.retire();
    this.#continue();
    this.#noteHandover();
    return promise;
  }

  /** Requests that wait stay undecided. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#ending);
    await this.#network.close();
  }

  #noteHandover(): void {
    if (this.#limiter.handedOver > this.#handedOver) this.#handedOverAt = performance.now();
    this.#handedOver = this.#limiter.handedOver;
    if (this.#limiter.isDismissed) this.#onDismissed?.();
  }

  #tick(): void {
    this.#limiter.tick();
    this.#continue();
    this.#noteHandover();
  }

  /** Sends the messages and plans the ticks that follow from a call of the limiter. */
  #continue(): void {
    if (this.#isClosed) return;
    this.#flushSoon();
    if (this.#retry === undefined && this.#limiter.isWaiting) {
      this.#retryAt = performance.now() + RETRY;
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.#stalled += Math.max(0, performance.now() - this.#retryAt - MAX_LATENESS);
        this.#retryAt = Number.POSITIVE_INFINITY;
        this.#tick();
      }, RETRY).unref();
    }
    const end = this.#limiter.nextEnd;
    if (end >= this.#nextEnd) return;
    this.#nextEnd = end;
    clearTimeout(this.#ending);
    const delay = Math.min(MAX_SLEEP, Math.max(RETRY, end - Date.now()));
    this.#ending = setTimeout(() => {
      this.#nextEnd = Number.POSITIVE_INFINITY;
      this.#tick();
    }, delay).unref();
  }

  /** All messages of a turn of the event loop leave together. */
  #flushSoon(): void {
    // Most requests cause no message.
    if (this.#willFlush || !this.#limiter.hasMessages) return;
    this.#willFlush = true;
    setImmediate(() => {
      this.#willFlush = false;
      this.#limiter.flush();
    });
  }
}
