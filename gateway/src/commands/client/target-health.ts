/** The targets of an upstream with their health, as the nodes see it. */
import type { RecentRequest } from "@sluice/model";
import { type AdminConnection, RefusedByAdminApi } from "./admin-connection.ts";

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

/** By address of a target, `answered 503 at TIME`: the last server error that the nodes remember. */
export async function readTargetFailures(admin: AdminConnection): Promise<ReadonlyMap<string, string>> {
  type FailedRequests = { readonly data: readonly RecentRequest[] };
  const failed = await admin.read<FailedRequests>("/requests?kind=failed&size=1000").catch((error: unknown) => {
    // The admin API answers with an error if no node answers it.
    if (error instanceof RefusedByAdminApi) return null;
    throw error;
  });
  // The newest request comes first, and replaces the others.
  const entries = (failed?.data ?? []).toReversed();
  return new Map(
    entries.flatMap(({ target, status, time }) => (target === null ? [] : [[target, `answered ${status} at ${time}`]])),
  );
}
