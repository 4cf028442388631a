/** The tries of one request: which target comes next, and what each result means for the target's health. */
import type { EligibleTargets } from "./algorithms/algorithm.ts";
import { hashOf } from "./algorithms/hash-ring.ts";
import { type BalancingRequest, hashInputOf } from "./algorithms/hash-source.ts";
import type { Balancer } from "./balancer.ts";
import type { FailureSignal } from "./health.ts";
import type { TargetState } from "./target-state.ts";
import { FAILED_TRY_LATENCY } from "./target-state.ts";

/** @typeParam Place The destination of a try */
export interface TargetAttempts<Place> {
  /** The next target to try; null when there is none. Ends the previous try. */
  next(): Place | null;
  /** Whether an eligible target has not been tried yet. */
  readonly hasOtherTarget: boolean;
  /** Called when the target of the current try has sent a response head. */
  recordResponse(status: number, place: Place | null): void;
  /** Called when no connection could be made to the target of the current try. */
  unreachable(place: Place | null): void;
  /** Called when the current try failed. */
  failed(signal: FailureSignal): void;
  /** Ends the current try, so that its target no longer counts it as in flight. Further calls have no effect. */
  endTry(): void;
}

export class BalancedAttempts<Place> implements TargetAttempts<Place>, EligibleTargets {
  readonly #balancer: Balancer;
  /** In the order of the balancer's entries. */
  readonly #places: readonly Place[];
  readonly #view: BalancingRequest;
  #hash: number | null | undefined;
  #tried: number[] = [];
  #current: TargetState | null = null;
  #since = 0;

  constructor(balancer: Balancer, places: readonly Place[], view: BalancingRequest) {
    this.#balancer = balancer;
    this.#places = places;
    this.#view = view;
  }

  isEligible(index: number): boolean {
    return !this.#tried.includes(index) && this.#balancer.isEligible(index);
  }

  next(): Place | null {
    this.endTry();
    if (!this.#balancer.isUp) return null;
    const index = this.#pick();
    const member = this.#balancer.entries[index]?.member;
    if (member === undefined) return null;
    this.#tried.push(index);
    this.#current = member;
    this.#since = this.#balancer.now();
    member.inFlight++;
    return this.#places[index] ?? null;
  }

  get hasOtherTarget(): boolean {
    return this.#balancer.entries.some((_entry, index) => this.isEligible(index));
  }

  recordResponse(status: number): void {
    const member = this.#current;
    if (member === null) return;
    const { passive } = this.#balancer;
    this.#addLatency(member, this.#balancer.now() - this.#since);
    const signal = passive.signalFor(status);
    if (signal !== null) this.#balancer.applySignal(member, signal, passive);
  }

  /** Does nothing: the caller also calls `failed` for this try. */
  unreachable(): void {}

  failed(signal: FailureSignal): void {
    const member = this.#current;
    if (member === null) return;
    this.#addLatency(member, Math.max(FAILED_TRY_LATENCY, this.#balancer.now() - this.#since));
    this.#balancer.applySignal(member, signal, this.#balancer.passive);
  }

  endTry(): void {
    if (this.#current !== null) this.#current.inFlight--;
    this.#current = null;
  }

  /** Prefers targets not yet tried, then any target except the one tried last, and then that one again. */
  #pick(): number {
    for (const tried of [this.#tried, this.#tried.slice(-1), []]) {
      this.#tried = tried;
      const index = this.#balancer.pick(this, this.#hashed());
      if (index >= 0 || tried.length === 0) return index;
    }
    return -1;
  }

  /** Computed once, so that every try has the same hash. */
  #hashed(): number | null {
    if (this.#hash === undefined) {
      const value = this.#balancer.needsHash ? hashInputOf(this.#balancer.upstream, this.#view) : null;
      this.#hash = value === null ? null : hashOf(value);
    }
    return this.#hash;
  }

  #addLatency(member: TargetState, duration: number): void {
    if (this.#balancer.upstream.algorithm === "latency") member.latency.add(duration, this.#balancer.now());
  }
}
