/** What a node tells of its upstreams' targets: on the status listener and in the metrics. */
import type { Balancer } from "./balancer.ts";

/** Kong's words (GET /upstreams/{upstream}/health). */
export type Health = "HEALTHY" | "UNHEALTHY" | "HEALTHCHECKS_OFF";

export interface TargetReport {
  readonly health: Health;
  readonly weight: number;
  /** One: a name is looked up when it is connected to, so `ip` may be a name. */
  readonly addresses: readonly {
    readonly ip: string;
    readonly port: number;
    readonly weight: number;
    readonly health: Health;
  }[];
}

/** By upstream id, then by target id. */
export type UpstreamsReport = Readonly<Record<string, Readonly<Record<string, TargetReport>>>>;

export function reportOf(balancers: ReadonlyMap<string, Balancer>): UpstreamsReport {
  return Object.fromEntries(
    [...balancers].map(([id, { entries, watched }]) => [
      id,
      Object.fromEntries(
        entries.map(({ member, weight }) => {
          const health = watched ? (member.health.healthy ? "HEALTHY" : "UNHEALTHY") : "HEALTHCHECKS_OFF";
          const { host: ip, port } = member;
          return [member.id, { health, weight, addresses: [{ ip, port, weight, health }] }];
        }),
      ),
    ]),
  );
}

/** A target for the metric of targets' health. */
export interface ShownTarget {
  /** The upstream's name. */
  readonly upstream: string;
  readonly target: string;
  /** `host:port`. */
  readonly address: string;
  readonly health: Health;
}

export function shownTargets(balancers: ReadonlyMap<string, Balancer>): readonly ShownTarget[] {
  const reports = reportOf(balancers);
  return [...balancers].flatMap(([id, { upstream, entries }]) =>
    entries.map(({ member }) => ({
      upstream: upstream.name,
      target: member.address,
      address: member.address,
      health: reports[id]?.[member.id]?.health ?? "HEALTHCHECKS_OFF",
    })),
  );
}
