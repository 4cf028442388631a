/** The health of upstreams' targets for the status listener and the metrics. */
import { reportedWeight } from "./algorithms/algorithm.ts";
import type { Balancer } from "./balancer.ts";
import type { TargetState } from "./target-state.ts";

/** Kong's values (GET /upstreams/{upstream}/health). */
export type TargetHealth = "HEALTHY" | "UNHEALTHY" | "HEALTHCHECKS_OFF";

export interface TargetHealthReport {
  readonly health: TargetHealth;
  /** The sum of the weights of the addresses. */
  readonly weight: number;
  /**
   * One address, unless the target's name has several addresses or SRV records. `ip` may be a name: that of an SRV
   * record, or one that is resolved on connecting.
   */
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
        [...Map.groupBy(entries, ({ member }) => member.id)].map(([targetId, members]) => {
          const addresses = members.map(({ member, weight: exact }) => {
            const { host: ip, port } = member;
            const reason = reasonToRefuse(ip, port) ?? member.refusal;
            const health = healthOf(member, checksHealth);
            return { ip, port, weight: reportedWeight(exact), health, ...(reason !== null && { reason }) };
          });
          const weight = addresses.reduce((sum, address) => sum + address.weight, 0);
          return [targetId, { health: bestOf(addresses), weight, addresses }];
        }),
      ),
    ]),
  );
}

/** As in Kong, a target is healthy if one of its addresses is. */
const bestOf = (addresses: readonly { readonly health: TargetHealth }[]): TargetHealth =>
  addresses.find(({ health }) => health !== "UNHEALTHY")?.health ?? "UNHEALTHY";

export interface TargetHealthSample {
  readonly upstream: string;
  /** `host:port`, as in the entity. */
  readonly target: string;
  /** `host:port` of the target, or of one of its addresses. */
  readonly address: string;
  readonly health: TargetHealth;
}

/** One sample for each address of an upstream: of targets that share an address, only the last one counts. */
export function* targetHealthSamples(balancers: ReadonlyMap<string, Balancer>): Generator<TargetHealthSample> {
  for (const { upstream, entries, checksHealth } of balancers.values()) {
    const byAddress = new Map(entries.map(({ member }) => [member.address, member]));
    for (const [address, member] of byAddress)
      yield { upstream: upstream.name, target: member.target, address, health: healthOf(member, checksHealth) };
  }
}

const healthOf = ({ health }: TargetState, checksHealth: boolean): TargetHealth =>
  checksHealth ? (health.healthy ? "HEALTHY" : "UNHEALTHY") : "HEALTHCHECKS_OFF";
