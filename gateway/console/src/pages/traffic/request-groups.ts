/** Recent requests with the same route, status and reason as one row, and the side that answered them. */
import type { RecentRequest } from "@sluice/model";

export interface RequestGroup {
  readonly newest: RecentRequest;
  readonly count: number;
}

/** @param requests Newest first; so are the groups */
export function groupRequests(requests: readonly RecentRequest[]): readonly RequestGroup[] {
  const groups = new Map<string, RequestGroup>();
  for (const request of requests) {
    const { kind, status, route, reason } = request;
    const key = JSON.stringify([kind, status, route?.id, reason]);
    const { newest = request, count = 0 } = groups.get(key) ?? {};
    groups.set(key, { newest, count: count + 1 });
  }
  return [...groups.values()];
}

/** `refused` includes the 502 and 504 of the gateway when it gets no response from the upstream. */
export function answeredBy({ kind, plugin, latencies }: RecentRequest): string {
  if (plugin !== null) return `plugin ${plugin.name ?? plugin.id}`;
  if (kind === "failed") return "upstream";
  return kind === "refused" || latencies.upstream === null ? "gateway" : "upstream";
}

/** Age in milliseconds from which failures are not reported any more. */
const RECENT = 600_000;

/**
 * A sentence about recent requests that failed behind the plugins; undefined: none did. Refusals by plugins are left
 * out, because they concern other clients.
 *
 * @param requests Of one route, newest first
 * @param now Unix milliseconds
 */
export function recentFailures(requests: readonly RecentRequest[], now: number): string | undefined {
  const failures = requests.filter(
    ({ kind, plugin, time }) => kind !== "slow" && plugin === null && now - Date.parse(time) < RECENT,
  );
  const [newest] = failures;
  if (newest === undefined) return undefined;
  const what =
    failures.length === 1
      ? "1 recent request of this route failed with"
      : `${failures.length} recent requests of this route failed, the last with`;
  return `${what} status ${newest.status}: ${newest.reason}`;
}
