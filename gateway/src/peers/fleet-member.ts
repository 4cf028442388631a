/**
 * A node of a fleet in a process: the protocol (gateway/src/counters/fleet/README.md) with timers and with connections to
 * its peers.
 */
import type { Counter, CounterResult } from "@sluice/plugin-sdk";
import { RETRY } from "../counters/fleet/fleet-clock.ts";
import { type FleetEvents, FleetLimiter } from "../counters/fleet/fleet-limiter.ts";
import type { UnownedPolicy } from "../counters/fleet/leased-counter.ts";
import type { PeerMessage } from "../counters/fleet/messages.ts";
import type { FleetView } from "../counters/fleet/view.ts";
import { openPeerNetwork, type PeerAddress, type PeerNetwork, type PeerNetworkOptions } from "./peer-network.ts";

export interface FleetMemberOptions extends Omit<PeerNetworkOptions, "onMessage"> {
  readonly events: FleetEvents;
}

/** Milliseconds between two ticks above which the event loop was blocked, or the process suspended. */
const STALL = 5 * RETRY;

export class FleetMember {
  readonly #limiter: FleetLimiter;
  readonly #network: PeerNetwork;
  readonly #waiting = new Map<number, (result: CounterResult) => void>();
  readonly #ticks: NodeJS.Timeout;
  #requests = 0;
  #willFlush = false;
  #tickedAt = performance.now();
  /** Milliseconds in which the event loop did not run. */
  #stalled = 0;
  #onDismissed: (() => void) | undefined;

  private constructor(options: FleetMemberOptions, network: PeerNetwork) {
    this.#network = network;
    this.#limiter = new FleetLimiter({
      self: options.self,
      clock: { now: () => performance.now() - this.#stalled, wallTime: () => Date.now() },
      send: (peer, message) => network.send(peer, message),
      onDecision: (id, result) => {
        this.#waiting.get(id)?.(result);
        this.#waiting.delete(id);
      },
      events: options.events,
    });
    this.#ticks = setInterval(() => this.#tick(), RETRY).unref();
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

  /** As `Counters.incrementBelowLimit`, but takes one token of each counter whatever its `amount`: synchronous if this node holds tokens. */
  take(counters: readonly Counter[], unowned: UnownedPolicy): CounterResult | Promise<CounterResult> {
    const id = this.#requests++;
    const result = this.#limiter.take(id, counters, unowned);
    this.#flushSoon();
    return result ?? new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** @param from The name of the peer that sent it */
  receive(from: string, message: PeerMessage): void {
    this.#limiter.receive(from, message);
    this.#flushSoon();
  }

  /** @param peers The addresses of all nodes of the view */
  adopt(view: FleetView, peers: readonly PeerAddress[]): void {
    this.#network.setPeers(peers);
    this.#limiter.adopt(view);
    this.#flushSoon();
  }

  /** Gives all leases back, and resolves when the other nodes know all that this node knew. */
  retire(): Promise<void> {
    this.#limiter.retire();
    this.#flushSoon();
    return new Promise((resolve) => {
      this.#onDismissed = resolve;
    });
  }

  /** Requests that wait stay undecided. */
  async close(): Promise<void> {
    clearInterval(this.#ticks);
    await this.#network.close();
  }

  #tick(): void {
    // Peers are not silent while this process cannot read what they send.
    const since = performance.now() - this.#tickedAt;
    if (since > STALL) this.#stalled += since - RETRY;
    this.#tickedAt = performance.now();
    this.#limiter.tick();
    this.#limiter.flush();
    if (this.#limiter.isDismissed) this.#onDismissed?.();
  }

  /** All messages of a turn of the event loop leave together. */
  #flushSoon(): void {
    if (this.#willFlush) return;
    this.#willFlush = true;
    setImmediate(() => {
      this.#willFlush = false;
      this.#limiter.flush();
    });
  }
}
