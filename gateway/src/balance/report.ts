/** What a node tells of its upstreams' targets: on the status listener and in the metrics. */
import type { Balancer } from "./balancer.ts";
import type { Member } from "./member.ts";

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
          const health = healthOf(member, watched);
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

/** Of several targets of an upstream that have one address the last one. */
export function* shownTargets(balancers: ReadonlyMap<string, Balancer>): Generator<ShownTarget> {
  for (const { upstream, entries, watched } of balancers.values()) {
    const byAddress = new Map(entries.map(({ member }) => [member.address, member]));
    for (const [address, member] of byAddress)
      yield { upstream: upstream.name, target: address, address, health: healthOf(member, watched) };
  }
}

const healthOf = ({ health }: Member, watched: boolean): Health =>
  watched ? (health.healthy ? "HEALTHY" : "UNHEALTHY") : "HEALTHCHECKS_OFF";
