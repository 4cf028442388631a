/** The admin listener: Kong's admin API over a store. */
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { AddressInfo } from "node:net";
import type { Log } from "@sluice/crds";
import { countConnections } from "../proxy/connection-counts.ts";
import { type AdminSettings, adminSettings } from "../settings/admin.ts";
import { SettingsError } from "../settings/error.ts";
import type { Opened } from "../stores/open.ts";
import { configRoutes } from "./config/routes.ts";
import { isLoopback } from "./guard.ts";
import { type Facts, KONG_VERSION } from "./information/facts.ts";
import { informationRoutes } from "./information/routes.ts";
import { createListener } from "./listener.ts";
import { nodesMetrics } from "./metrics.ts";

export interface AdminOptions {
  readonly settings: AdminSettings;
  /** The caller's to close, after the admin listener. */
  readonly opened: Pick<Opened, "store" | "fleet" | "hash">;
  readonly log: Log;
  /** Of this software. */
  readonly version: string;
}

export interface Admin {
  readonly address: { readonly host: string; readonly port: number };
  /** Takes no more requests, answers those under way, and stops. */
  close(): Promise<void>;
}

/**
 * Listens at once: while the entities cannot be read yet, requests wait some seconds and are answered 500 then.
 *
 * @throws SettingsError for an address that other machines could reach: there is no authentication yet.
 */
export async function startAdmin({ settings, opened, log, version }: AdminOptions): Promise<Admin> {
  const { listen, wait, compat } = settings;
  if (!isLoopback(listen.host.toLowerCase())) {
    throw new SettingsError(
      `${adminSettings.listen.variable} is ${listen.host}:${listen.port}, which other machines may reach: the admin ` +
        "listener has no authentication yet, so it listens on a loopback address only, such as 127.0.0.1:8001",
    );
  }
  const { store, fleet } = opened;
  const closing = new AbortController();
  // As many as there are writes that wait.
  setMaxListeners(0, closing.signal);
  let address = listen;
  const facts: Facts = {
    node: randomUUID(),
    version,
    settings,
    store,
    fleet,
    ...(opened.hash && { hash: opened.hash }),
    address: () => address,
    connections: () => connections(),
  };
  const kong = compat === "kong";
  const app = createListener({
    store,
    fleet,
    node: facts.node,
    log,
    host: listen.host,
    serverName: kong ? `kong/${KONG_VERSION}` : `sluice/${version}`,
    latencyName: kong ? "X-Kong-Admin-Latency" : "X-Sluice-Admin-Latency",
    others: [...informationRoutes(facts), ...configRoutes({ store, settings })],
    metrics: () => nodesMetrics(fleet),
    wait,
    closing: closing.signal,
  });
  const connections = countConnections(app.server);
  await app.listen({ host: listen.host, port: listen.port });
  const bound = app.server.address() as AddressInfo;
  address = { host: bound.address, port: bound.port };
  return {
    address,
    async close() {
      const closed = app.close();
      // Whoever waits for nodes is answered `pending`.
      closing.abort();
      await closed;
    },
  };
}
