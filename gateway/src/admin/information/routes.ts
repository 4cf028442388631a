/** Information about the listener, its nodes and its schemas (docs/reference/kong-compatibility.md#information). */
import { emptySnapshot, pluginNames } from "@sluice/model";
import { processMembers } from "../../status/listener.ts";
import type { AdminContext } from "../context.ts";
import type { AdminRoute } from "../entities/routes.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";
import { schemaRoutes } from "../schemas/routes.ts";
import { explainRoutes } from "./explain.ts";
import { logLevelRoutes } from "./log-level.ts";
import { lastUseRoutes } from "./nodes/last-uses.ts";
import { withNodeProblems } from "./nodes/node-problems.ts";
import { recentRequestRoutes } from "./nodes/recent-requests.ts";
import { trafficRoutes } from "./nodes/traffic.ts";
import { problemRoutes } from "./problems.ts";
import { isWritable, rootBody } from "./root.ts";

const reading = (url: string, body: (received: AdminRequest) => object | Promise<object>): AdminRoute => ({
  url,
  handlers: { GET: async (received) => ({ status: 200, body: await body(received) }) },
});

export const informationRoutes = (facts: AdminContext): readonly AdminRoute[] => [
  reading("/", ({ trusted }) => rootBody(facts, trusted)),
  reading("/status", ({ trusted }) => statusBody(facts, trusted)),
  // Always 200: a listener whose store cannot be reached must not be restarted.
  ...["/healthz", "/livez"].map((url) => reading(url, () => ({ message: "live" }))),
  { url: "/readyz", handlers: { GET: async ({ trusted }) => readiness(facts.store.unready(), trusted) } },
  reading("/plugins/enabled", () => ({ enabled_plugins: [...pluginNames()].sort() })),
  // Sluice has no timers to monitor: all statistics are 0.
  reading("/timers", () => ({
    worker: { id: 0, count: 1 },
    stats: { sys: { total: 0, runs: 0, running: 0, pending: 0, waiting: 0 }, timers: {} },
  })),
  ...logLevelRoutes(facts),
  ...schemaRoutes(facts.store),
  ...explainRoutes(facts),
  ...problemRoutes(facts),
  ...recentRequestRoutes(facts),
  ...lastUseRoutes(facts),
  ...trafficRoutes(facts),
];

/** @param trusted Whether the response may say why entities cannot be read: the reasons may include addresses. */
function readiness(unread: readonly string[], trusted: boolean): AdminResponse {
  if (unread.length === 0) return { status: 200, body: { message: "ready" } };
  const details = trusted ? `: ${unread.join(", ")}` : "";
  return { status: 503, body: { message: `entities cannot be read at present${details}` } };
}

/** Kong's hash of an empty configuration. Clients that receive it send their configuration again. */
const NO_HASH = "0".repeat(32);

/**
 * @param trusted Whether the caller may see nodes, their addresses and problems; other callers get Kong's members only.
 */
async function statusBody(facts: AdminContext, trusted: boolean): Promise<object> {
  const { node, version, settings, store, fleet, connections } = facts;
  const unread = store.unready();
  const plain = {
    ...processMembers(connections()),
    ...(isWritable(settings) && { database: { reachable: unread.length === 0 } }),
    ...(facts.hash && { configuration_hash: shortHash(facts.hash()) }),
  };
  if (!trusted) return plain;
  const fleetStatus = await fleet.status();
  return {
    ...plain,
    sluice: {
      node,
      version,
      store: settings.store,
      unread,
      fleet: {
        reachable: fleetStatus !== null,
        ...(fleetStatus && (await withNodeProblems(fleetStatus, settings.store))),
      },
    },
  };
}

/** The hash, truncated to the length of Kong's hashes; zeros without a document, or for an empty document. */
const shortHash = (hash: string | null): string =>
  hash === null || hash === emptySnapshot.hash ? NO_HASH : hash.slice(0, NO_HASH.length);
