/** GET / and GET /status (kong-contract 1.6). */
import { hostname } from "node:os";
import { pluginNames, plugins } from "@sluice/model";
import type { Connections } from "../plugins/prometheus/metrics.ts";
import type { AdminSettings } from "../settings/admin.ts";
import { processMembers } from "../status/listener.ts";
import type { Fleet } from "../stores/open.ts";
import type { Store } from "../stores/store.ts";

/** The release whose admin API this is: clients choose their ways by it. */
export const KONG_VERSION = "3.9.1";

export interface Facts {
  readonly node: string;
  readonly version: string;
  readonly settings: AdminSettings;
  readonly store: Store;
  readonly fleet: Fleet;
  readonly address: () => { readonly host: string; readonly port: number };
  /** Of the admin listener itself. */
  readonly connections: () => Connections;
}

export async function rootBody({ node, version, settings, store, address }: Facts): Promise<object> {
  const { host, port } = address();
  return {
    tagline: "Welcome to Sluice",
    version: KONG_VERSION,
    edition: "community",
    hostname: hostname(),
    node_id: node,
    timers: { running: 0, pending: 0 },
    plugins: {
      available_on_server: Object.fromEntries(
        pluginNames.map((name) => [name, { version, priority: plugins[name].priority }]),
      ),
      enabled_in_cluster: await pluginsInUse(store),
    },
    configuration: {
      // Kong's clients read this as: entities can be written.
      database: "postgres",
      role: "traditional",
      router_flavor: "traditional",
      admin_listen: [`${host}:${port}`],
      admin_listeners: [{ ip: host, port, ssl: false, http2: false }],
      proxy_listeners: [],
    },
    pids: { master: process.pid, workers: [] },
    sluice: { product: "Sluice", version, store: settings.store, class: settings.class },
  };
}

/** Empty while nothing can be read: this answer tells that the listener runs, whatever else does not. */
async function pluginsInUse(store: Store): Promise<readonly string[]> {
  if (store.unready().length > 0) return [];
  const names = new Set<string>();
  for (let after: string | undefined; ; ) {
    const { entities, more } = await store.list("plugins", { size: 1000, ...(after !== undefined && { after }) });
    for (const { name } of entities) names.add(name);
    after = entities.at(-1)?.id;
    if (!more) return [...names].sort();
  }
}

export async function statusBody({ node, version, store, fleet, connections }: Facts): Promise<object> {
  const unread = store.unready();
  const told = await fleet.status();
  return {
    ...processMembers(connections()),
    database: { reachable: unread.length === 0 },
    sluice: { node, version, unread, fleet: { reachable: told !== null, ...told } },
  };
}
