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
    /** Why the node does not connect to it: the address may not be reached. */
    readonly reason?: string;
  }[];
}

/** By upstream id, then by target id. */
export type UpstreamsReport = Readonly<Record<string, Readonly<Record<string, TargetReport>>>>;

/** Why connections to the host and port are refused; null: nothing is known. */
export type ReasonToRefuse = (host: string, port: number) => string | null;

export function reportOf(
  balancers: ReadonlyMap<string, Balancer>,
  reasonToRefuse: ReasonToRefuse = () => null,
): UpstreamsReport {
  return Object.fromEntries(
    [...balancers].map(([id, { entries, watched }]) => [
      id,
      Object.fromEntries(
        entries.map(({ member, weight }) => {
          const health = healthOf(member, watched);
          const { host: ip, port } = member;
          const reason = reasonToRefuse(ip, port) ?? member.refusal;
          const address = { ip, port, weight, health, ...(reason !== null && { reason }) };
          return [member.id, { health, weight, addresses: [address] }];
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
