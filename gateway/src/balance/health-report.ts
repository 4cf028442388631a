/** The health of upstreams' targets for the status listener and the metrics. */
import { reportedWeight } from "./algorithms/algorithm.ts";
import type { Balancer } from "./balancer.ts";
import type { TargetState } from "./target-state.ts";

/** Kong's values (GET /upstreams/{upstream}/health). */
export type TargetHealth = "HEALTHY" | "UNHEALTHY" | "HEALTHCHECKS_OFF";

export interface TargetHealthReport {
  readonly health: TargetHealth;
  readonly weight: number;
  /** Always one address. Names are resolved on connecting, so `ip` may be a name. */
  readonly addresses: readonly {
    readonly ip: string;
    readonly port: number;
    readonly weight: number;
    readonly health: TargetHealth;
    /** Why the guard of outbound connections refuses the address. */
    readonly reason?: string;
  }[];
}

/** By upstream id, then by target id, or by the address of an endpoint of a core Service. */
export type UpstreamsHealthReport = Readonly<Record<string, Readonly<Record<string, TargetHealthReport>>>>;

/** Why connections to the host and port are refused; null: no known reason. */
export type ReasonToRefuse = (host: string, port: number) => string | null;

export function healthReportOf(
  balancers: ReadonlyMap<string, Balancer>,
  reasonToRefuse: ReasonToRefuse = () => null,
): UpstreamsHealthReport {
  return Object.fromEntries(
    [...balancers].map(([id, { entries, checksHealth }]) => [
      id,
      Object.fromEntries(
        entries.map(({ member, weight: exact }) => {
          const weight = reportedWeight(exact);
          const health = healthOf(member, checksHealth);
          const { host: ip, port } = member;
          const reason = reasonToRefuse(ip, port) ?? member.refusal;
          const address = { ip, port, weight, health, ...(reason !== null && { reason }) };
          return [member.id, { health, weight, addresses: [address] }];
        }),
      ),
    ]),
  );
}

export interface TargetHealthSample {
  readonly upstream: string;
  readonly target: string;
  /** `host:port`. */
  readonly address: string;
  readonly health: TargetHealth;
}

/** One sample for each address of an upstream: of targets that share an address, only the last one counts. */
export function* targetHealthSamples(balancers: ReadonlyMap<string, Balancer>): Generator<TargetHealthSample> {
  for (const { upstream, entries, checksHealth } of balancers.values()) {
    const byAddress = new Map(entries.map(({ member }) => [member.address, member]));
    for (const [address, member] of byAddress)
      yield { upstream: upstream.name, target: address, address, health: healthOf(member, checksHealth) };
  }
}

const healthOf = ({ health }: TargetState, checksHealth: boolean): TargetHealth =>
  checksHealth ? (health.healthy ? "HEALTHY" : "UNHEALTHY") : "HEALTHCHECKS_OFF";
