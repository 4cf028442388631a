/** GET / and similar endpoints (docs/reference/kong-compatibility.md#information). */
import { hostname } from "node:os";
import { type Declaration, pluginNames, plugins } from "@sluice/model";
import { type AdminSettings, adminSettings } from "../../settings/admin.ts";
import { isWritable, KONG_VERSION, type ListenerInfo, type ProxyAddress } from "./facts.ts";
import { pluginsInUse } from "./plugins-in-use.ts";

/** @param trusted Whether the caller may see settings and addresses; other callers can only recognise the API. */
export async function rootBody(facts: ListenerInfo, trusted: boolean): Promise<object> {
  const recognised = { tagline: "Welcome to Sluice", version: KONG_VERSION, edition: "community" };
  return trusted ? { ...recognised, ...(await detailsOf(facts)) } : recognised;
}

async function detailsOf({ node, version, settings, store, address, proxies }: ListenerInfo): Promise<object> {
  const { host, port } = address();
  const admin = { host, port, tls: settings.tlsCert !== null };
  return {
    hostname: hostname(),
    node_id: node,
    timers: { running: 0, pending: 0 },
    plugins: {
      available_on_server: Object.fromEntries(
        pluginNames.map((name) => [name, { version, priority: plugins[name].priority }]),
      ),
      enabled_in_cluster: await pluginsInUse(store),
    },
    lua_version: "none",
    configuration: {
      // Kong's clients take this to mean whether entities can be written.
      database: isWritable(settings) ? "postgres" : "off",
      role: "traditional",
      router_flavor: "traditional",
      admin_listen: [spelled(admin)],
      admin_listeners: [listenerOf(admin)],
      proxy_listen: proxies.map(spelled),
      proxy_listeners: proxies.map(listenerOf),
      log_level: settings.logLevel,
      loaded_plugins: Object.fromEntries(pluginNames.map((name) => [name, true])),
      sluice: shownSettings(settings),
    },
    pids: { master: process.pid, workers: [] },
    sluice: { product: "Sluice", version, store: settings.store, class: settings.class },
  };
}

const listenerOf = ({ host, port, tls }: ProxyAddress) => ({ ip: host, port, ssl: tls, http2: false });

const spelled = ({ host, port, tls }: ProxyAddress): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}${tls ? " ssl" : ""}`;

/** By environment variable; secrets are masked, as in Kong. */
function shownSettings(settings: AdminSettings): Readonly<Record<string, unknown>> {
  const values: Readonly<Record<string, unknown>> = settings;
  const declared: readonly (readonly [string, Declaration])[] = Object.entries(adminSettings);
  return Object.fromEntries(
    declared.map(([name, { variable, secret = false }]) => [
      variable,
      secret && values[name] !== null ? "******" : values[name],
    ]),
  );
}
