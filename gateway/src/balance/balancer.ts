/** The balancer of one upstream: its targets, their health, and the choice of the next target. */
import {
  type CaCertificate,
  ENDPOINT_WEIGHT_UNIT,
  hostAndPort,
  type IssuedCertificate,
  type SnapshotUpstream,
  type Target,
  type UpstreamEndpoint,
} from "@sluice/model/serving";
import type { BalancingAlgorithm, EligibleTargets, WeightedTarget } from "./algorithms/algorithm.ts";
import { HashRing } from "./algorithms/hash-ring.ts";
import { byConnections, byLatency, LeastCost } from "./algorithms/least-cost.ts";
import { RoundRobin } from "./algorithms/round-robin.ts";
import { SlowStart } from "./algorithms/slow-start.ts";
import {
  HEALTHY,
  type HealthRules,
  type HealthSignal,
  type HealthState,
  hasHealthChecks,
  healthRulesOf,
  nextHealthState,
  UNHEALTHY,
  withSharedState,
} from "./health.ts";
import type { ResolvedTargets } from "./target-names.ts";
import { type MemberIdentity, parseTargetAddress, TargetState } from "./target-state.ts";

export interface BalancerOptions {
  readonly upstream: SnapshotUpstream;
  /** The upstream's targets, in any order. */
  readonly targets: readonly Target[];
  /** The endpoints of the core Services behind the upstream, in any order. They are targets too. */
  readonly endpoints: readonly UpstreamEndpoint[];
  /** The addresses of targets whose names have several addresses or SRV records. */
  readonly resolvedTargets: ResolvedTargets;
  readonly certificate: IssuedCertificate | null;
  /** The CAs by which active checks verify targets; null: the CAs that the machine trusts. */
  readonly authorities: readonly CaCertificate[] | null;
  /** Whether certificates of CAs that the machine trusts are accepted too. */
  readonly trustsMachine: boolean;
  /** The balancer that the new one replaces. Members with an unchanged id and address keep their health and load. */
  readonly previous: Balancer | null;
  /** Milliseconds by a monotonic clock. */
  readonly now: () => number;
  /** Called when a target becomes healthy or unhealthy. */
  readonly onHealthTransition?: (transition: HealthTransition) => void;
  /** Called for every signal that changed a health state, and whenever a health is set by hand. */
  readonly onHealthUpdate?: (update: HealthUpdate) => void;
}

export interface HealthTransition {
  readonly upstream: string;
  readonly target: string;
  readonly healthy: boolean;
  /** The signal that caused the transition; null: a manual change. */
  readonly signal: HealthSignal | null;
}

/** A target's health state after a change. */
export interface HealthUpdate {
  readonly upstreamId: string;
  readonly targetId: string;
  /** `host:port` */
  readonly address: string;
  readonly state: HealthState;
  /** Null: a manual change. */
  readonly signal: HealthSignal | null;
}

export class Balancer {
  readonly upstream: SnapshotUpstream;
  readonly certificate: IssuedCertificate | null;
  readonly authorities: readonly CaCertificate[] | null;
  readonly trustsMachine: boolean;
  /** The members: targets, the addresses of their names, and endpoints, including those of weight 0, sorted by address. */
  readonly entries: readonly WeightedTarget[];
  /** Whether any health check is enabled. If not, every target with a weight above 0 is eligible. */
  readonly checksHealth: boolean;
  readonly active: HealthRules;
  readonly passive: HealthRules;
  readonly now: () => number;
  readonly #algorithm: BalancingAlgorithm;
  readonly #total: number;
  readonly #onHealthTransition: BalancerOptions["onHealthTransition"];
  readonly #onHealthUpdate: BalancerOptions["onHealthUpdate"];

  constructor(options: BalancerOptions) {
    const { upstream, certificate, authorities, trustsMachine, previous, now } = options;
    const { healthchecks } = upstream;
    this.upstream = upstream;
    this.certificate = certificate;
    this.authorities = authorities;
    this.trustsMachine = trustsMachine;
    this.checksHealth = hasHealthChecks(healthchecks);
    this.active = healthRulesOf(healthchecks.active);
    this.passive = healthRulesOf(healthchecks.passive);
    this.now = now;
    this.#onHealthTransition = options.onHealthTransition;
    this.#onHealthUpdate = options.onHealthUpdate;
    const members = new Map(previous?.entries.map(({ member }) => [keyOf(member), member]));
    this.entries = membersOf(options)
      .map(({ weight, ...identity }) => {
        const member = new TargetState(identity);
        const known = members.get(keyOf(member));
        // All members of a new upstream start at the same time.
        if (known === undefined && previous !== null) member.startedAt = now();
        return { member: known ?? member, weight };
      })
      .sort(({ member: { address: a } }, { member: { address: b } }) => (a < b ? -1 : a > b ? 1 : 0));
    // Discards health and counts, so that they do not apply when health checks are enabled again.
    if (!this.checksHealth) for (const { member } of this.entries) member.health = HEALTHY;
    this.#total = this.entries.reduce((sum, { weight }) => sum + weight, 0);
    this.#algorithm = algorithmOf(this);
  }

  get needsHash(): boolean {
    return this.upstream.algorithm === "consistent-hashing";
  }

  /**
   * Whether requests can be sent to targets; if not, the requests are answered with 503. As in Kong, the percentage of
   * the weight that is healthy must exceed the threshold.
   */
  get isUp(): boolean {
    if (this.#total === 0) return false;
    if (!this.checksHealth) return true;
    let fit = 0;
    for (const { member, weight } of this.entries) if (member.health.healthy) fit += weight;
    return (fit / this.#total) * 100 > this.upstream.healthchecks.threshold;
  }

  /** Whether the target at this index may receive requests. */
  isEligible(index: number): boolean {
    const entry = this.entries[index];
    return entry !== undefined && entry.weight > 0 && (!this.checksHealth || entry.member.health.healthy);
  }

  pick(fit: EligibleTargets, hash: number | null): number {
    return this.#algorithm.pick(fit, hash);
  }

  applySignal(member: TargetState, signal: HealthSignal, rules: HealthRules): void {
    if (!this.checksHealth) return;
    const next = nextHealthState(member.health, signal, rules.thresholds);
    const isEjected = member.health.healthy && !next.healthy && rules === this.passive;
    if (!isEjected || this.#mayEject()) this.#setState(member, next, signal);
  }

  /** Whether one more member may become unhealthy by passive checks. */
  #mayEject(): boolean {
    const { outlier_detection: limits } = this.upstream;
    if (limits === null) return true;
    const used = this.entries.filter(({ weight }) => weight > 0);
    const unhealthy = used.filter(({ member }) => !member.health.healthy).length;
    return ((unhealthy + 1) / used.length) * 100 <= limits.max_ejection_percent;
  }

  /**
   * Sets a target's health by hand, and resets its counts.
   *
   * @param address `host:port` of one of the target's members; null: all of them
   * @returns false when there is no such target, or no health check is enabled
   */
  setHealth(targetId: string, address: string | null, isHealthy: boolean): boolean {
    if (!this.checksHealth) return false;
    const found = this.entries.filter(
      ({ member }) => member.id === targetId && (address === null || member.address === address),
    );
    for (const { member } of found) this.#setState(member, isHealthy ? HEALTHY : UNHEALTHY, null);
    return found.length > 0;
  }

  member(targetId: string, address: string): TargetState | undefined {
    return this.entries.find(({ member }) => member.id === targetId && member.address === address)?.member;
  }

  /** Adopts a health state that another thread determined. */
  adoptHealth({ targetId, address, state }: Omit<HealthUpdate, "upstreamId" | "signal">): void {
    const member = this.member(targetId, address);
    if (this.checksHealth && member !== undefined) this.#replaceState(member, withSharedState(state));
  }

  #replaceState(member: TargetState, next: HealthState): void {
    if (next.healthy && !member.health.healthy) member.startedAt = this.now();
    member.health = next;
  }

  #setState(member: TargetState, next: HealthState, signal: HealthSignal | null): void {
    const hasTransition = member.health.healthy !== next.healthy;
    const isNews = member.health !== next || signal === null;
    this.#replaceState(member, next);
    if (isNews) {
      const { id: targetId, address } = member;
      this.#onHealthUpdate?.({ upstreamId: this.upstream.id, targetId, address, state: next, signal });
    }
    if (hasTransition) {
      this.#onHealthTransition?.({
        upstream: this.upstream.name,
        target: member.address,
        healthy: next.healthy,
        signal,
      });
    }
  }
}

const keyOf = ({ id, address, name }: TargetState): string => `${id} ${address} ${name}`;

type WeightedMember = MemberIdentity & { readonly weight: number };

function membersOf(options: BalancerOptions): readonly WeightedMember[] {
  return [
    ...options.targets.flatMap((target) => membersOfTarget(target, options)),
    ...options.endpoints.map((endpoint) => {
      const address = hostAndPort({ host: endpoint.address, port: endpoint.port });
      return { id: address, target: address, isEndpoint: true, weight: endpoint.weight * ENDPOINT_WEIGHT_UNIT };
    }),
  ];
}

/** As in Kong, each address has the weight of the target, and each SRV record its own weight. */
function membersOfTarget(
  { id, target, weight }: Target,
  { upstream, resolvedTargets }: BalancerOptions,
): readonly WeightedMember[] {
  const addresses = resolvedTargets.get(target);
  if (addresses === undefined) return [{ id, target, weight }];
  const { host: own } = parseTargetAddress(target);
  return addresses.map(({ host, port, weight: given }) => ({
    id,
    target,
    address: hostAndPort({ host, port }),
    name: given !== null && upstream.use_srv_name ? host : own,
    weight: weight === 0 ? 0 : (given ?? weight),
  }));
}

function algorithmOf({ upstream, entries, now }: Balancer): BalancingAlgorithm {
  const { slow_start_window: seconds, algorithm } = upstream;
  if (algorithm === "consistent-hashing") return new HashRing(entries, upstream.slots);
  const create = (used: readonly WeightedTarget[]): BalancingAlgorithm => {
    if (algorithm === "round-robin") return new RoundRobin(used);
    return new LeastCost(used, algorithm === "latency" ? byLatency(used, now) : byConnections);
  };
  return seconds === null ? create(entries) : new SlowStart({ entries, window: seconds * 1000, now, create });
}
