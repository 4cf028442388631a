/** The targets of an upstream with their health, as the nodes see it. */
import type { AdminConnection } from "./admin-connection.ts";

export interface CheckedTarget {
  readonly target: string;
  readonly weight: number;
  /** The worst state on any node, such as UNHEALTHY or HEALTHCHECKS_OFF; "" if no node has reported it. */
  readonly health: string;
  /** Why the nodes refuse to connect to it; null: they do not. */
  readonly refusal: string | null;
}

/** A target in the response to GET /upstreams/{upstream}/health. */
interface ReportedTarget {
  readonly target: string;
  readonly weight: number;
  readonly health?: string;
  readonly data?: { readonly addresses: readonly { readonly reason?: string }[] };
}

export async function readTargets(admin: AdminConnection, upstream: string): Promise<readonly CheckedTarget[]> {
  const report = await admin.read<{ readonly data: readonly ReportedTarget[] }>(
    `/upstreams/${upstream}/health?size=1000`,
  );
  return (report?.data ?? []).map(({ target, weight, health = "", data }) => ({
    target,
    weight,
    health,
    refusal: data?.addresses.find(({ reason }) => reason !== undefined)?.reason ?? null,
  }));
}
