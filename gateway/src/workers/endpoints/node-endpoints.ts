/** The endpoints of the node itself: how a worker answers, and how the responses of workers or nodes are combined. */
import {
  type DebugTokenGrant,
  type ExplainRequest,
  type Explanation,
  type LastUses,
  nodePaths,
  type RecentRequestFilter,
  type RecentRequests,
  type RequestWatch,
  type Traffic,
  type UsedCollection,
  type WatchedRequests,
} from "@sluice/model/serving";
import type { EndpointRequest, EndpointResponse } from "@sluice/plugin-sdk";
import type { DebugTokens } from "../../proxy/debug/debug-tokens.ts";
import { mergeTraffic } from "../../proxy/observability/merge-traffic.ts";
import { newestFirst, type RecentRequestLog } from "../../proxy/observability/recent-requests.ts";
import type { RequestTaps } from "../../proxy/observability/request-taps.ts";
import type { TrafficLog } from "../../proxy/observability/traffic-log.ts";
import { mergeEndpointResponses } from "./merge-endpoint-responses.ts";

export interface NodeEndpointTools {
  readonly explain: (described: ExplainRequest) => Promise<Explanation>;
  readonly recentRequests: RecentRequestLog;
  readonly traffic: TrafficLog;
  readonly taps: RequestTaps;
  readonly debugTokens: DebugTokens;
}

/** A worker's response. The admin API has checked the body. Null: the node has no such endpoint. */
export async function answerForNode(
  { path, body }: EndpointRequest,
  { explain, recentRequests, traffic, taps, debugTokens }: NodeEndpointTools,
): Promise<EndpointResponse | null> {
  switch (path.join("/")) {
    case nodePaths.explain:
      return { status: 200, body: await explain(body as ExplainRequest) };
    case nodePaths.recentRequests:
      return { status: 200, body: { requests: recentRequests.list(body as RecentRequestFilter) } };
    case nodePaths.lastUses:
      return { status: 200, body: traffic.lastUses((body as { readonly collection: UsedCollection }).collection) };
    case nodePaths.traffic:
      return { status: 200, body: traffic.traffic() };
    case nodePaths.watchedRequests:
      return { status: 200, body: taps.read(body as RequestWatch) };
    case nodePaths.debugTokens:
      debugTokens.add(body as DebugTokenGrant);
      return { status: 204 };
    default:
      return null;
  }
}

/** Whether one worker answers for all. */
export const isAnsweredByOne = ({ path }: EndpointRequest): boolean => path.join("/") === nodePaths.explain;

/** Combines the responses of several workers or nodes to one; null: there are no responses. */
export function mergeNodeResponses(
  request: EndpointRequest,
  responses: readonly EndpointResponse[],
): EndpointResponse | null {
  const merged = mergeEndpointResponses(responses);
  if (merged === null || merged.status !== 200) return merged;
  const bodies = responses.flatMap(({ status, body }) => (status === 200 ? [body] : []));
  return { ...merged, body: mergeBodies(request, bodies) };
}

function mergeBodies({ path, body }: EndpointRequest, bodies: readonly unknown[]): unknown {
  switch (path.join("/")) {
    case nodePaths.recentRequests:
      return mergeRecentRequests(bodies as readonly RecentRequests[], (body as RecentRequestFilter).size);
    case nodePaths.lastUses:
      return mergeLastUses(bodies as readonly LastUses[]);
    case nodePaths.traffic:
      return mergeTraffic(bodies as readonly Traffic[]);
    case nodePaths.watchedRequests:
      return mergeWatchedRequests(bodies as readonly WatchedRequests[]);
    default:
      return bodies[0];
  }
}

const mergeRecentRequests = (lists: readonly RecentRequests[], size: number): RecentRequests => ({
  requests: lists
    .flatMap(({ requests }) => requests)
    .sort(newestFirst)
    .slice(0, size),
});

const mergeWatchedRequests = (lists: readonly WatchedRequests[]): WatchedRequests => ({
  requests: lists.flatMap(({ requests }) => requests),
  missed: lists.reduce((sum, { missed }) => sum + missed, 0),
  is_full: lists.some(({ is_full }) => is_full),
});

/** Uses are known from the time at which the last of the workers or nodes started. */
function mergeLastUses(lists: readonly LastUses[]): LastUses {
  const merged = new Map<string, number>();
  for (const { last_uses } of lists)
    for (const [id, time] of Object.entries(last_uses)) {
      if ((merged.get(id) ?? 0) < time) merged.set(id, time);
    }
  return { since: Math.max(0, ...lists.map(({ since }) => since)), last_uses: Object.fromEntries(merged) };
}
