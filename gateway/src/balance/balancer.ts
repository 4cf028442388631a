/** The balancer of one upstream: its targets, which of them are fit, and whose turn it is. */
import type { Certificate, Target, Upstream } from "@sluice/model";
import type { BalancingAlgorithm, EligibleTargets, WeightedTarget } from "./algorithm.ts";
import { HashRing } from "./hash-ring.ts";
import {
  type HealthRules,
  type HealthSignal,
  type HealthState,
  hasHealthChecks,
  healthRulesOf,
  healthy,
  nextHealthState,
  unhealthy,
  withSharedState,
} from "./health.ts";
import { byConnections, byLatency, LeastCost } from "./least-cost.ts";
import { RoundRobin } from "./round-robin.ts";
import { TargetState } from "./target-state.ts";

export interface BalancerOptions {
  readonly upstream: Upstream;
  /** Those of the upstream, in any order. */
  readonly targets: readonly Target[];
  /** The upstream's own client certificate. */
  readonly certificate: Certificate | null;
  /** The balancer that served this upstream until now: members that stay keep their health and their load. */
  readonly previous: Balancer | null;
  /** Milliseconds by a clock that only goes forward. */
  readonly now: () => number;
  /** Told when a target turns. */
  readonly onHealthTransition?: (turn: HealthTransition) => void;
  /** Told of every sign that counted, and of orders. */
  readonly onHealthUpdate?: (news: HealthUpdate) => void;
}

export interface HealthTransition {
  readonly upstream: string;
  readonly target: string;
  readonly healthy: boolean;
  /** What tipped the scales; null: somebody's order. */
  readonly sign: HealthSignal | null;
}

/** The state of a target after a sign that counted. */
export interface HealthUpdate {
  readonly upstreamId: string;
  readonly targetId: string;
  /** `host:port` */
  readonly address: string;
  readonly state: HealthState;
  /** Null: somebody's order. */
  readonly sign: HealthSignal | null;
}

export class Balancer {
  readonly upstream: Upstream;
  /** As they were given. */
  readonly targets: readonly Target[];
  readonly certificate: Certificate | null;
  /** One for each target, in order of their addresses, those with weight 0 included. */
  readonly entries: readonly WeightedTarget[];
  /** Whether health is looked at. Without it every target counts as fit. */
  readonly checksHealth: boolean;
  readonly active: HealthRules;
  readonly passive: HealthRules;
  readonly now: () => number;
  readonly #algorithm: BalancingAlgorithm;
  readonly #total: number;
  readonly #onHealthTransition: BalancerOptions["onHealthTransition"];
  readonly #onHealthUpdate: BalancerOptions["onHealthUpdate"];

  constructor({ upstream, targets, certificate, previous, now, onHealthTransition, onHealthUpdate }: BalancerOptions) {
    const { healthchecks } = upstream;
    this.upstream = upstream;
    this.targets = targets;
    this.certificate = certificate;
    this.checksHealth = hasHealthChecks(healthchecks);
    this.active = healthRulesOf(healthchecks.active);
    this.passive = healthRulesOf(healthchecks.passive);
    this.now = now;
    this.#onHealthTransition = onHealthTransition;
    this.#onHealthUpdate = onHealthUpdate;
    const members = new Map(previous?.entries.map(({ member }) => [`${member.id} ${member.address}`, member]));
    this.entries = targets
      .toSorted((a, b) => (a.target < b.target ? -1 : a.target > b.target ? 1 : 0))
      .map((target) => ({
        member: members.get(`${target.id} ${target.target}`) ?? new TargetState(target),
        weight: target.weight,
      }));
    // What was counted under other rules must not count when health is looked at again.
    if (!this.checksHealth) for (const { member } of this.entries) member.health = healthy;
    this.#total = this.entries.reduce((sum, { weight }) => sum + weight, 0);
    this.#algorithm = algorithmOf(this);
  }

  /** Whether it needs a hash to pick. */
  get needsHash(): boolean {
    return this.upstream.algorithm === "consistent-hashing";
  }

  /** False: the upstream as a whole answers 503. As in Kong the fit weight must be more than the threshold. */
  get isUp(): boolean {
    if (this.#total === 0) return false;
    if (!this.checksHealth) return true;
    let fit = 0;
    for (const { member, weight } of this.entries) if (member.health.healthy) fit += weight;
    return (fit / this.#total) * 100 > this.upstream.healthchecks.threshold;
  }

  /** Whether the entry may get requests. */
  isEligible(index: number): boolean {
    const entry = this.entries[index];
    return entry !== undefined && entry.weight > 0 && (!this.checksHealth || entry.member.health.healthy);
  }

  pick(fit: EligibleTargets, hash: number | null): number {
    return this.#algorithm.pick(fit, hash);
  }

  applySignal(member: TargetState, sign: HealthSignal, rules: HealthRules): void {
    if (this.checksHealth) this.#turn(member, nextHealthState(member.health, sign, rules.thresholds), sign);
  }

  /**
   * Somebody knows better. Counts begin anew.
   *
   * @param address `host:port` of the target; null: whatever it is
   * @returns false when there is no such target, or health is not looked at
   */
  setHealth(targetId: string, address: string | null, isHealthy: boolean): boolean {
    const entry = this.entries.find(({ member }) => member.id === targetId);
    if (!this.checksHealth || entry === undefined) return false;
    if (address !== null && address !== entry.member.address) return false;
    this.#turn(entry.member, isHealthy ? healthy : unhealthy, null);
    return true;
  }

  /** The target of this id, if it is at this address. */
  member(targetId: string, address: string): TargetState | undefined {
    return this.entries.find(({ member }) => member.id === targetId && member.address === address)?.member;
  }

  /** Takes over what another thread has found. */
  adoptHealth({ targetId, address, state }: Omit<HealthUpdate, "upstreamId" | "sign">): void {
    const member = this.member(targetId, address);
    if (this.checksHealth && member !== undefined) member.health = withSharedState(state);
  }

  #turn(member: TargetState, next: HealthState, sign: HealthSignal | null): void {
    const turned = member.health.healthy !== next.healthy;
    const changed = member.health !== next;
    member.health = next;
    if (changed) {
      const { id: targetId, address } = member;
      this.#onHealthUpdate?.({ upstreamId: this.upstream.id, targetId, address, state: next, sign });
    }
    if (turned) {
      this.#onHealthTransition?.({ upstream: this.upstream.name, target: member.address, healthy: next.healthy, sign });
    }
  }
}

function algorithmOf({ upstream, entries, now }: Balancer): BalancingAlgorithm {
  switch (upstream.algorithm) {
    case "round-robin":
      return new RoundRobin(entries);
    case "least-connections":
      return new LeastCost(entries, byConnections);
    case "latency":
      return new LeastCost(entries, byLatency(now));
    case "consistent-hashing":
      return new HashRing(entries, upstream.slots);
  }
}
