/**
 * Outlier detection, as in Envoy: a target that passive checks made unhealthy gets requests again after a time, which
 * grows if this happens again and again. Kong has no such time. If the upstream's active checks can make a target
 * healthy, they do so instead.
 */
import type { Upstream } from "@sluice/model/serving";
import type { Balancer, HealthUpdate } from "./balancer.ts";
import { type CheckClock, realClock } from "./check-clock.ts";

export interface TargetEjectionsOptions {
  /** The current balancers, by upstream id. */
  readonly balancers: () => ReadonlyMap<string, Balancer>;
  readonly clock?: CheckClock;
}

interface Ejection {
  readonly upstreamId: string;
  readonly targetId: string;
  readonly address: string;
  /** How often in a row the target was ejected. */
  count: number;
  /** When the target became healthy again; null: it is ejected. */
  restoredAt: number | null;
  cancel: (() => void) | null;
}

export class TargetEjections {
  readonly #balancers: TargetEjectionsOptions["balancers"];
  readonly #clock: CheckClock;
  /** By upstream id, target id and address. */
  readonly #ejections = new Map<string, Ejection>();

  constructor({ balancers, clock = realClock }: TargetEjectionsOptions) {
    this.#balancers = balancers;
    this.#clock = clock;
  }

  /** Receives every change of a target's health. */
  record({ upstreamId, targetId, address, state, signal }: HealthUpdate): void {
    const key = `${upstreamId} ${targetId} ${address}`;
    const known = this.#ejections.get(key);
    if (state.healthy) {
      if (known !== undefined) this.#restored(known);
      return;
    }
    if (signal === null) {
      // A target that was set unhealthy by hand remains so, even if it was ejected before.
      known?.cancel?.();
      this.#ejections.delete(key);
      return;
    }
    if (signal === "successes" || known?.restoredAt === null) return;
    const ejection = known ?? { upstreamId, targetId, address, count: 0, restoredAt: null, cancel: null };
    this.#ejections.set(key, ejection);
    const { base } = timesOf(this.#balancers().get(upstreamId)?.upstream) ?? { base: Number.POSITIVE_INFINITY };
    const calm = known?.restoredAt == null ? 0 : Math.floor((this.#clock.now() - known.restoredAt) / base);
    ejection.count = Math.max(0, ejection.count - calm) + 1;
    ejection.restoredAt = null;
    this.#schedule(ejection);
  }

  /** Called after a change of the balancers: their settings may have changed, or targets may be gone. */
  follow(): void {
    const balancers = this.#balancers();
    for (const [key, ejection] of this.#ejections) {
      const member = balancers.get(ejection.upstreamId)?.member(ejection.targetId, ejection.address);
      if (member === undefined) {
        ejection.cancel?.();
        this.#ejections.delete(key);
      } else if (member.health.healthy) {
        // A balancer without health checks makes its targets healthy without an update.
        this.#restored(ejection);
      } else if (ejection.restoredAt === null && ejection.cancel === null) this.#schedule(ejection);
    }
  }

  close(): void {
    for (const { cancel } of this.#ejections.values()) cancel?.();
    this.#ejections.clear();
  }

  #restored(ejection: Ejection): void {
    if (ejection.restoredAt !== null) return;
    ejection.cancel?.();
    ejection.cancel = null;
    ejection.restoredAt = this.#clock.now();
  }

  #schedule(ejection: Ejection): void {
    const { upstreamId, targetId, address } = ejection;
    const times = timesOf(this.#balancers().get(upstreamId)?.upstream);
    if (times === null) return;
    ejection.cancel = this.#clock.after(Math.min(times.base * ejection.count, times.most), () => {
      ejection.cancel = null;
      // The settings may have changed meanwhile.
      const balancer = this.#balancers().get(upstreamId);
      if (timesOf(balancer?.upstream) !== null) balancer?.setHealth(targetId, address, true);
    });
  }
}

/** Milliseconds; null: the target remains unhealthy until a check makes it healthy. */
function timesOf(upstream: Upstream | undefined): { readonly base: number; readonly most: number } | null {
  const { outlier_detection: detection = null, healthchecks } = upstream ?? {};
  if (detection === null || healthchecks === undefined) return null;
  const { healthy, unhealthy } = healthchecks.active;
  if (unhealthy.interval > 0 && healthy.successes > 0) return null;
  const base = detection.base_ejection_time * 1000;
  return { base, most: Math.max(base, detection.max_ejection_time * 1000) };
}
