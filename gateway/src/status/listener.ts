/**
 * The status listener: how the node fares, whether it is ready for traffic, and its metrics.
 * It tells nothing that is secret and changes nothing.
 */
import type { NodeState } from "@sluice/model";
import type { UpstreamsHealthReport } from "../balance/health-report.ts";
import { DATA_LINES } from "../plugins/prometheus/data-lines.ts";
import type { Connections, Heap } from "../plugins/prometheus/metrics.ts";
import type { RefusedDestination } from "../proxy/upstream/refused-destinations.ts";
import type { NodeMetrics } from "../workers/merge-metrics.ts";
import { type StatusServer, startStatusServer, Text } from "./server.ts";

export interface StatusFacts {
  readonly state: () => NodeState;
  /** Why there is no newer document than the one that is served; null when all is well. */
  readonly trouble: () => string | null;
  readonly draining: () => boolean;
  readonly connections: () => Connections | Promise<Connections>;
  /** What the heaps of other threads take, when `connections` was last asked. Absent: there are none. */
  readonly heap?: () => Heap;
  /** Why nobody takes clients' requests; null when somebody does. Absent: somebody always does. */
  readonly unserved?: () => string | null;
  readonly metrics: NodeMetrics;
  /** How the targets of upstreams fare, as this node sees them. */
  readonly upstreams: () => UpstreamsHealthReport | Promise<UpstreamsHealthReport>;
  /** Destinations to which the node made no connection lately, because their addresses may not be reached. */
  readonly refused: () => Promise<readonly RefusedDestination[]>;
}

/** Kong's word for "nothing yet": 32 zeros. */
const NO_HASH = "0".repeat(32);

/**
 * What Kong's GET /status tells of a process, whatever it does.
 *
 * @param heap Of its other threads.
 */
export function processMembers(
  { requests, ...connections }: Connections,
  heap: Pick<Heap, "total" | "used"> = { total: 0, used: 0 },
) {
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  return {
    server: {
      ...Object.fromEntries(Object.entries(connections).map(([name, count]) => [`connections_${name}`, count])),
      total_requests: requests,
    },
    memory: { rss, heap_total: heapTotal + heap.total, heap_used: heapUsed + heap.used },
  };
}

/** The body of GET /status: Kong's members, with the node's own beside them. */
export async function statusBody(facts: StatusFacts): Promise<Readonly<Record<string, unknown>>> {
  const { node, hash, revision, version } = facts.state();
  return {
    ...processMembers(await facts.connections(), facts.heap?.()),
    configuration_hash: hash ?? NO_HASH,
    sluice: { node, version, revision, trouble: facts.trouble(), refused_destinations: await facts.refused() },
  };
}

/** Why the node wants no traffic now; null when it is ready. */
export function notReady(facts: StatusFacts): string | null {
  if (facts.draining()) return "draining";
  const unserved = facts.unserved?.() ?? null;
  if (unserved !== null) return unserved;
  if (facts.state().hash !== null) return null;
  return `no configuration available (${facts.trouble() ?? "no document has arrived yet"})`;
}

/** Rejects when the address cannot be listened on. */
export function startStatusListener(
  facts: StatusFacts,
  listen: { readonly host: string; readonly port: number },
): Promise<StatusServer> {
  return startStatusServer(
    {
      "/status": async () => ({ body: await statusBody(facts) }),
      // That it is answered is all that it tells: a node that drains, or has no document, must not be restarted.
      "/status/live": () => ({ body: { message: "live" } }),
      "/status/ready"() {
        const reason = notReady(facts);
        return { status: reason === null ? 200 : 503, body: { message: reason ?? "ready" } };
      },
      "/upstreams/health": async () => ({ body: await facts.upstreams() }),
      "/metrics"({ accept }) {
        const { metrics } = facts;
        // The admin listener, which adds up the nodes.
        if (accept === DATA_LINES) return { body: new Text(DATA_LINES, metrics.data) };
        return { body: new Text(metrics.contentType, metrics.text) };
      },
    },
    listen,
  );
}
