/** The admin listener: Kong's admin API over a store. */
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { AddressInfo } from "node:net";
import type { Log } from "@sluice/crds";
import { createGuard } from "../outbound/guard.ts";
import { countConnections } from "../proxy/observability/connection-counts.ts";
import type { AdminSettings } from "../settings/admin.ts";
import type { OpenedStore } from "../stores/opened-store.ts";
import { openAccess } from "./access/open-access.ts";
import { configRoutes } from "./config/routes.ts";
import type { SetHealth } from "./entities/target-health.ts";
import { KONG_VERSION, type ListenerInfo, type ProxyAddress } from "./information/facts.ts";
import { nodesMetrics } from "./information/node-metrics.ts";
import { informationRoutes } from "./information/routes.ts";
import { createListener } from "./listener.ts";
import { createWarnings } from "./writes/warnings.ts";

export interface AdminOptions {
  readonly settings: AdminSettings;
  /** The caller closes it after the admin listener. */
  readonly opened: Pick<OpenedStore, "store" | "fleet" | "hash">;
  /** Absent: no node runs in this process. */
  readonly setHealth?: SetHealth;
  /** Addresses of the proxy in this process. Default: there is none. */
  readonly proxies?: readonly ProxyAddress[];
  readonly log: Log;
  /** The version of Sluice. */
  readonly version: string;
}

export interface Admin {
  readonly address: { readonly host: string; readonly port: number };
  /** Accepts no more requests, finishes open ones, and stops. */
  close(): Promise<void>;
}

/**
 * Listens at once: while entities cannot be read yet, requests wait some seconds and are then answered 500.
 *
 * @throws SettingsError for an address that other machines can reach, if callers need no authentication.
 */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { settings, opened, setHealth, proxies = [], log, version } = options;
  const { listen, wait, compat } = settings;
  const access = await openAccess(settings, log);
  const { store, fleet } = opened;
  const closing = new AbortController();
  // One listener per waiting write.
  setMaxListeners(0, closing.signal);
  let address = listen;
  const facts: ListenerInfo = {
    node: randomUUID(),
    version,
    settings,
    store,
    fleet,
    ...(opened.hash && { hash: opened.hash }),
    proxies,
    address: () => address,
    connections: () => connections(),
  };
  const guard = createGuard({ allowedUpstreams: settings.allowedUpstreams, ownListeners: [listen, ...proxies] });
  const warnings = createWarnings({ store, reasonToRefuse: guard.reasonToRefuse });
  const kong = compat === "kong";
  const app = createListener({
    store,
    warnings,
    fleet,
    node: facts.node,
    ...(setHealth && { setHealth }),
    log,
    access,
    browserPolicy: {
      listenHost: listen.host,
      scheme: access.tls ? "https" : "http",
      hosts: settings.hosts,
      origins: settings.origins,
      anyHost: access.requiresToken,
    },
    serverName: kong ? `kong/${KONG_VERSION}` : `sluice/${version}`,
    latencyName: kong ? "X-Kong-Admin-Latency" : "X-Sluice-Admin-Latency",
    others: [...informationRoutes(facts), ...configRoutes({ store, warnings, settings })],
    metrics: () => nodesMetrics(fleet),
    wait,
    closing: closing.signal,
  });
  const connections = countConnections(app.server);
  try {
    await app.listen({ host: listen.host, port: listen.port });
  } catch (error) {
    await access.close();
    throw error;
  }
  const bound = app.server.address() as AddressInfo;
  address = { host: bound.address, port: bound.port };
  return {
    address,
    async close() {
      const closed = app.close();
      // Pending waits for nodes are answered `pending`.
      closing.abort();
      await closed;
      await access.close();
    },
  };
}
