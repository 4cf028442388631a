/** The status listener: state, readiness and metrics of the node. It reveals no secrets and changes nothing. */
import type { NodeReport } from "@sluice/model";
import type { UpstreamsHealthReport } from "../balance/health-report.ts";
import { DATA_LINES } from "../metrics/data-lines.ts";
import type { Connections, Heap } from "../metrics/metrics.ts";
import { TEXT_FORMAT } from "../metrics/slices.ts";
import type { RefusedDestination } from "../outbound/refused-destinations.ts";
import type { NodeMetrics } from "../workers/merge-metrics.ts";
import type { WorkersReport } from "../workers/workers.ts";
import { type StatusServer, StreamedText, startStatusServer } from "./server.ts";

export interface StatusFacts {
  readonly state: () => NodeReport;
  /** The reason why the node does not serve the newest document; null without a problem. */
  readonly failure: () => string | null;
  readonly draining: () => boolean;
  readonly connections: () => Connections | Promise<Connections>;
  /** Heap sizes of the node's other threads, as of the last call of `connections`. Absent: there are none. */
  readonly heap?: () => Heap;
  /** The numbers of workers, as of the last call of `connections`. */
  readonly workers?: () => WorkersReport["workers"];
  /** The reason why no worker accepts requests of clients; null when one does. Absent: always null. */
  readonly unserved?: () => string | null;
  /** Why the node waits for the other nodes of its fleet; null when it does not. Absent: always null. */
  readonly unjoined?: () => string | null;
  readonly metrics: NodeMetrics;
  /** The health of all targets as this node sees it. */
  readonly upstreams: () => UpstreamsHealthReport | Promise<UpstreamsHealthReport>;
  /** Destinations that the node recently refused to connect to, because their addresses are not allowed. */
  readonly refused: () => Promise<readonly RefusedDestination[]>;
  /** Certificates that require a stapled OCSP response, while the node has none. Absent: none. */
  readonly unstapled?: () => readonly { readonly certificate: string; readonly reason: string }[];
  /** The nodes that count together with this one (policy fleet). Absent or null: the node does not listen for peers. */
  readonly fleet?: () => FleetReport | null;
}

export interface FleetReport {
  /** The epoch of the node's view; 0: it has none yet. */
  readonly epoch: number;
  /** The ids of the nodes that own counters, and of those that shut down. */
  readonly members: readonly string[];
  readonly leaving: readonly string[];
}

/** Kong's hash of an empty configuration: 32 zeros. */
const NO_HASH = "0".repeat(32);

/**
 * The members of Kong's GET /status that describe the process.
 *
 * @param heap Heap sizes of the other threads of the process.
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

/** The body of GET /status: Kong's members and the node's own. */
export async function statusBody(facts: StatusFacts): Promise<Readonly<Record<string, unknown>>> {
  const { node, hash, revision, version, missingPlugins, failedListeners } = facts.state();
  const fleet = facts.fleet?.() ?? null;
  const unstapled = facts.unstapled?.() ?? [];
  return {
    ...processMembers(await facts.connections(), facts.heap?.()),
    configuration_hash: hash ?? NO_HASH,
    sluice: {
      node,
      version,
      revision,
      trouble: facts.failure(),
      ...(facts.workers && { workers: facts.workers() }),
      // Requests in the scope of these plugins are answered with 503.
      ...(missingPlugins && { missing_plugins: missingPlugins }),
      ...(failedListeners && { failed_listeners: failedListeners }),
      refused_destinations: await facts.refused(),
      // Clients refuse these certificates.
      ...(unstapled.length > 0 && { unstapled_certificates: unstapled }),
      ...(fleet !== null && { fleet }),
    },
  };
}

/** The reason why the node is not ready for traffic; null when it is ready. */
export function unreadyReason(facts: StatusFacts): string | null {
  if (facts.draining()) return "draining";
  const unserved = facts.unserved?.() ?? null;
  if (unserved !== null) return unserved;
  if (facts.state().hash === null)
    return `no configuration available (${facts.failure() ?? "no document has arrived yet"})`;
  // The operator tells a node about the others only once it serves a document.
  return facts.unjoined?.() ?? null;
}

/** Rejects when the address cannot be listened on. */
export function startStatusListener(
  facts: StatusFacts,
  listen: { readonly host: string; readonly port: number },
): Promise<StatusServer> {
  // Always 200: a node that drains, or has no document, must not be restarted.
  const live = () => ({ body: { message: "live" } });
  const ready = () => {
    const reason = unreadyReason(facts);
    return { status: reason === null ? 200 : 503, body: { message: reason ?? "ready" } };
  };
  return startStatusServer(
    {
      "/status": async () => ({ body: await statusBody(facts) }),
      // Kong's names, and those of Kubernetes' components.
      "/status/live": live,
      "/healthz": live,
      "/livez": live,
      "/status/ready": ready,
      "/readyz": ready,
      "/upstreams/health": async () => ({ body: await facts.upstreams() }),
      "/metrics"({ accept }) {
        const { metrics } = facts;
        // The admin listener requests this format, because it adds up the metrics of all nodes.
        if (accept === DATA_LINES) return { body: new StreamedText(DATA_LINES, metrics.data) };
        return { body: new StreamedText(TEXT_FORMAT, metrics.text) };
      },
    },
    listen,
  );
}
