/** The body of GET / (docs/reference/kong-compatibility.md#information). */
import { hostname } from "node:os";
import { type Declaration, hostAndPort, pluginNamed, pluginNames } from "@sluice/model";
import { type AdminSettings, adminSettings } from "../../settings/commands/admin.ts";
import { readCollection } from "../../stores/read-all.ts";
import type { Store } from "../../stores/store.ts";
import type { AdminContext, ProxyAddress } from "../context.ts";

/** The Kong release whose admin API is implemented: clients adapt to it. */
export const KONG_VERSION = "3.9.1";

/** Whether single entities can be written. */
export const isWritable = ({ store, fileWritable }: Pick<AdminSettings, "store" | "fileWritable">): boolean =>
  store !== "file" || fileWritable;

/** @param trusted Whether the caller may see settings and addresses; other callers can only recognise the API. */
export async function rootBody(facts: AdminContext, trusted: boolean): Promise<object> {
  const recognised = { tagline: "Welcome to Sluice", version: KONG_VERSION, edition: "community" };
  return trusted ? { ...recognised, ...(await detailsOf(facts)) } : recognised;
}

async function detailsOf({ node, version, settings, store, address, proxies, streams }: AdminContext): Promise<object> {
  const { host, port } = address();
  const admin = { host, port, tls: settings.tlsCert !== null };
  return {
    hostname: hostname(),
    node_id: node,
    timers: { running: 0, pending: 0 },
    plugins: {
      available_on_server: Object.fromEntries(
        pluginNames().map((name) => {
          const { version, priority } = pluginNamed(name) ?? {};
          return [name, { version, priority }];
        }),
      ),
      enabled_in_cluster: await pluginsInUse(store),
    },
    lua_version: "none",
    configuration: {
      // Kong's clients derive from this value whether entities can be written.
      database: isWritable(settings) ? "postgres" : "off",
      role: "traditional",
      router_flavor: "traditional",
      admin_listen: [spelled(admin)],
      admin_listeners: [listenerOf(admin)],
      proxy_listen: proxies.map(spelled),
      proxy_listeners: proxies.map(listenerOf),
      stream_listen: streams.map(spelled),
      stream_listeners: streams.map(listenerOf),
      log_level: settings.logLevel,
      loaded_plugins: Object.fromEntries(pluginNames().map((name) => [name, true])),
      sluice: shownSettings(settings),
    },
    pids: { master: process.pid, workers: [] },
    sluice: { product: "Sluice", version, store: settings.store, class: settings.class },
  };
}

const listenerOf = ({ host, port, tls }: ProxyAddress) => ({ ip: host, port, ssl: tls, http2: false });

const spelled = (address: ProxyAddress): string => `${hostAndPort(address)}${address.tls ? " ssl" : ""}`;

/** The settings by environment variable; secrets are masked, as in Kong. */
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

/**
 * Milliseconds to wait for the store. After that, the response is sent without the plugins in use, so that it shows
 * that the listener runs.
 */
const PATIENCE = 1000;

/**
 * Names of the plugins that the store's entities use, sorted; empty while nothing can be read. A store with a problem
 * may still be readable: after a broken watch, custom resources are served as last seen.
 */
export async function pluginsInUse(store: Store, patience = PATIENCE): Promise<readonly string[]> {
  const late = Promise.withResolvers<readonly []>();
  const timer = setTimeout(() => late.resolve([]), patience);
  const used = await Promise.race([readCollection(store, "plugins").catch(() => []), late.promise]);
  clearTimeout(timer);
  return [...new Set(used.map(({ name }) => name))].sort();
}
