/** Balancers of all upstream entities, those that did not change shared with the runtime before. */
import type { Snapshot, Target } from "@sluice/model";
import { Balancer, type Turn } from "../balance/balancer.ts";
import type { Runtime } from "../runtime/runtime.ts";

export interface BalancerTools {
  /** Told when a target becomes unhealthy or healthy. */
  readonly onTurn?: (turn: Turn) => void;
}

/** By upstream id. */
export function balancersOf(
  previous: Pick<Runtime, "snapshot" | "balancers"> | null,
  snapshot: Snapshot,
  { onTurn }: BalancerTools,
): ReadonlyMap<string, Balancer> {
  const { upstreams, targets, certificates } = snapshot;
  const old = previous?.snapshot;
  if (previous && old?.upstreams === upstreams && old.targets === targets && old.certificates === certificates) {
    return previous.balancers;
  }
  const byUpstream = Map.groupBy(targets.values(), (target) => target.upstream?.id);
  const balancers = new Map<string, Balancer>();
  for (const upstream of upstreams.values()) {
    const own = byUpstream.get(upstream.id) ?? [];
    const certificate = certificates.get(upstream.client_certificate?.id ?? "") ?? null;
    const before = previous?.balancers.get(upstream.id) ?? null;
    const unchanged =
      before?.upstream === upstream && before.certificate === certificate && haveSame(before.targets, own);
    balancers.set(
      upstream.id,
      before && unchanged
        ? before
        : new Balancer({ upstream, targets: own, certificate, previous: before, now: monotonic, onTurn }),
    );
  }
  return balancers;
}

const monotonic = (): number => performance.now();

function haveSame(before: readonly Target[], now: readonly Target[]): boolean {
  return before.length === now.length && now.every((target, at) => before[at] === target);
}
