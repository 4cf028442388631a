/**
 * The balancers of a pool in its control thread. They keep the health of targets for all workers: a worker reports the
 * health signals that it observes, and every worker adopts the changes that result.
 */
import { emptySnapshot, type Snapshot } from "@sluice/model/serving";
import type { Balancer, HealthUpdate } from "../../balance/balancer.ts";
import { HEALTHY } from "../../balance/health.ts";
import { noResolvedTargets, type ResolvedTargets } from "../../balance/target-names.ts";
import { Balancers, type BalancerTools } from "../../compile/balancers.ts";

export class PoolBalancers {
  readonly #tools: BalancerTools;
  #balancers = Balancers.empty;
  #snapshot: Snapshot = emptySnapshot;
  #resolved = noResolvedTargets;

  constructor(tools: Omit<BalancerTools, "resolvedTargets">) {
    this.#tools = { ...tools, resolvedTargets: () => this.#resolved };
  }

  get all(): ReadonlyMap<string, Balancer> {
    return this.#balancers.all;
  }

  get resolvedTargets(): ResolvedTargets {
    return this.#resolved;
  }

  use(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    this.#balancers = this.#balancers.with(snapshot, this.#tools);
  }

  adoptAddresses(resolved: ResolvedTargets): void {
    this.#resolved = resolved;
    this.use(this.#snapshot);
  }

  /**
   * A health signal that one worker observes counts for all workers.
   *
   * @returns the state that this worker must adopt, because the signal did not change the state here. For example, other
   * workers have ejected as many targets as `max_ejection_percent` allows. Null: all workers adopt the changed state
   */
  reportHealth(update: HealthUpdate): HealthUpdate | null {
    const { upstreamId, targetId, address, signal } = update;
    const balancer = this.all.get(upstreamId);
    const member = balancer?.member(targetId, address);
    if (!balancer || !member || signal === null) return null;
    const before = member.health;
    balancer.applySignal(member, signal, balancer.passive);
    return member.health === before ? { ...update, state: before } : null;
  }

  /** The targets whose health is not the default `healthy`. */
  health(): readonly HealthUpdate[] {
    return this.all
      .values()
      .flatMap(({ upstream, entries }) =>
        entries
          .filter(({ member }) => member.health !== HEALTHY)
          .map(({ member }) => ({
            upstreamId: upstream.id,
            targetId: member.id,
            address: member.address,
            state: member.health,
            signal: null,
          })),
      )
      .toArray();
  }
}
