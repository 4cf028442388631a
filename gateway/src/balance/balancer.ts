/** The balancer of one upstream: its targets, which of them are fit, and whose turn it is. */
import type { Certificate, Target, Upstream } from "@sluice/model";
import type { Algorithm, Entry, Fit } from "./algorithm.ts";
import { byConnections, byLatency, Cheapest } from "./cheapest.ts";
import {
  type HealthState,
  healthy,
  isWatched,
  judge,
  known,
  type Rules,
  rulesOf,
  type Sign,
  unhealthy,
} from "./health.ts";
import { Member } from "./member.ts";
import { Ring } from "./ring.ts";
import { Turns } from "./turns.ts";

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
  readonly onTurn?: (turn: Turn) => void;
  /** Told of every sign that counted, and of orders. */
  readonly onHealth?: (news: HealthNews) => void;
}

export interface Turn {
  readonly upstream: string;
  readonly target: string;
  readonly healthy: boolean;
  /** What tipped the scales; null: somebody's order. */
  readonly sign: Sign | null;
}

/** The state of a target after a sign that counted. */
export interface HealthNews {
  readonly upstreamId: string;
  readonly targetId: string;
  /** `host:port` */
  readonly address: string;
  readonly state: HealthState;
  /** Null: somebody's order. */
  readonly sign: Sign | null;
}

export class Balancer {
  readonly upstream: Upstream;
  /** As they were given. */
  readonly targets: readonly Target[];
  readonly certificate: Certificate | null;
  /** One for each target, in order of their addresses, those with weight 0 included. */
  readonly entries: readonly Entry[];
  /** Whether health is looked at. Without it every target counts as fit. */
  readonly watched: boolean;
  readonly active: Rules;
  readonly passive: Rules;
  readonly now: () => number;
  readonly #algorithm: Algorithm;
  readonly #total: number;
  readonly #onTurn: BalancerOptions["onTurn"];
  readonly #onHealth: BalancerOptions["onHealth"];

  constructor({ upstream, targets, certificate, previous, now, onTurn, onHealth }: BalancerOptions) {
    const { healthchecks } = upstream;
    this.upstream = upstream;
    this.targets = targets;
    this.certificate = certificate;
    this.watched = isWatched(healthchecks);
    this.active = rulesOf(healthchecks.active);
    this.passive = rulesOf(healthchecks.passive);
    this.now = now;
    this.#onTurn = onTurn;
    this.#onHealth = onHealth;
    const members = new Map(previous?.entries.map(({ member }) => [`${member.id} ${member.address}`, member]));
    this.entries = targets
      .toSorted((a, b) => (a.target < b.target ? -1 : a.target > b.target ? 1 : 0))
      .map((target) => ({
        member: members.get(`${target.id} ${target.target}`) ?? new Member(target),
        weight: target.weight,
      }));
    // What was counted under other rules must not count when health is looked at again.
    if (!this.watched) for (const { member } of this.entries) member.health = healthy;
    this.#total = this.entries.reduce((sum, { weight }) => sum + weight, 0);
    this.#algorithm = algorithmOf(this);
  }

  /** Whether it needs a hash to pick. */
  get hashes(): boolean {
    return this.upstream.algorithm === "consistent-hashing";
  }

  /** False: the upstream as a whole answers 503. As in Kong the fit weight must be more than the threshold. */
  get isUp(): boolean {
    if (this.#total === 0) return false;
    if (!this.watched) return true;
    let fit = 0;
    for (const { member, weight } of this.entries) if (member.health.healthy) fit += weight;
    return (fit / this.#total) * 100 > this.upstream.healthchecks.threshold;
  }

  /** Whether the entry may get requests. */
  isFit(index: number): boolean {
    const entry = this.entries[index];
    return entry !== undefined && entry.weight > 0 && (!this.watched || entry.member.health.healthy);
  }

  pick(fit: Fit, hash: number | null): number {
    return this.#algorithm.pick(fit, hash);
  }

  report(member: Member, sign: Sign, rules: Rules): void {
    if (this.watched) this.#turn(member, judge(member.health, sign, rules.limits), sign);
  }

  /**
   * Somebody knows better. Counts begin anew.
   *
   * @param address `host:port` of the target; null: whatever it is
   * @returns false when there is no such target, or health is not looked at
   */
  setHealth(targetId: string, address: string | null, isHealthy: boolean): boolean {
    const entry = this.entries.find(({ member }) => member.id === targetId);
    if (!this.watched || entry === undefined) return false;
    if (address !== null && address !== entry.member.address) return false;
    this.#turn(entry.member, isHealthy ? healthy : unhealthy, null);
    return true;
  }

  /** The target of this id, if it is at this address. */
  member(targetId: string, address: string): Member | undefined {
    return this.entries.find(({ member }) => member.id === targetId && member.address === address)?.member;
  }

  /** Takes over what another thread has found. */
  adoptHealth({ targetId, address, state }: Omit<HealthNews, "upstreamId" | "sign">): void {
    const member = this.member(targetId, address);
    if (this.watched && member !== undefined) member.health = known(state);
  }

  #turn(member: Member, next: HealthState, sign: Sign | null): void {
    const turned = member.health.healthy !== next.healthy;
    const changed = member.health !== next;
    member.health = next;
    if (changed) {
      const { id: targetId, address } = member;
      this.#onHealth?.({ upstreamId: this.upstream.id, targetId, address, state: next, sign });
    }
    if (turned) {
      this.#onTurn?.({ upstream: this.upstream.name, target: member.address, healthy: next.healthy, sign });
    }
  }
}

function algorithmOf({ upstream, entries, now }: Balancer): Algorithm {
  switch (upstream.algorithm) {
    case "round-robin":
      return new Turns(entries);
    case "least-connections":
      return new Cheapest(entries, byConnections);
    case "latency":
      return new Cheapest(entries, byLatency(now));
    case "consistent-hashing":
      return new Ring(entries, upstream.slots);
  }
}
