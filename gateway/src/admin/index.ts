/** The admin listener: Kong's admin API over a store. */
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { AddressInfo } from "node:net";
import { TemporaryLogLevel } from "@sluice/model";
import { createGuard } from "../outbound/guard.ts";
import { countConnections } from "../proxy/observability/connection-counts.ts";
import type { OpenedStore } from "../stores/store.ts";
import { openAccess } from "./access/open-access.ts";
import type { AdminContext } from "./context.ts";
import { createListener } from "./listener.ts";
import { leftOutOfSamples } from "./plan/left-out-of-samples.ts";
import { createPlanner } from "./plan/plan.ts";
import { createWarnings } from "./writes/response-headers.ts";

export interface AdminOptions extends Pick<AdminContext, "settings" | "log" | "version" | "setHealth"> {
  /** The level of `log`. Default: changes of the level have no effect. */
  readonly logLevel?: TemporaryLogLevel;
  /** The caller closes the opened store after the admin listener. */
  readonly opened: Pick<OpenedStore, "store" | "fleet" | "hash">;
  /** Addresses of the proxy in this process. Default: the process has no proxy. */
  readonly proxies?: AdminContext["proxies"];
  /** Default: there are none. */
  readonly streams?: AdminContext["streams"];
}

export interface Admin {
  readonly address: { readonly host: string; readonly port: number };
  /** Accepts no more requests, finishes open ones, and stops. */
  close(): Promise<void>;
}

/**
 * Listens at once. While entities cannot be read yet, requests for entities wait for up to five seconds, depending on
 * the store, and are then answered with 500.
 *
 * @throws SettingsError when the access settings are invalid, or would let other machines in without authentication.
 */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { settings, opened, proxies = [], streams = [], log } = options;
  const { logLevel = new TemporaryLogLevel({ level: settings.logLevel, info() {} }) } = options;
  const { listen, allowedUpstreams } = settings;
  const access = await openAccess(settings, log);
  const { store, fleet, hash } = opened;
  const closing = new AbortController();
  // Each write that waits for the nodes adds a listener to the signal, so their number is not limited.
  setMaxListeners(0, closing.signal);
  let address = listen;
  const { reasonToRefuse } = createGuard({ allowedUpstreams, ownListeners: [listen, ...proxies, ...streams] });
  const context: AdminContext = {
    ...options,
    logLevel,
    store,
    fleet,
    ...(hash && { hash }),
    proxies,
    streams,
    node: randomUUID(),
    warnings: createWarnings(store, reasonToRefuse),
    planOf: createPlanner({ store, reasonToRefuse, leftOut: () => leftOutOfSamples({ store, fleet }, settings.store) }),
    address: () => address,
    connections: () => connections(),
  };
  const app = createListener(context, { access, closing: closing.signal });
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
      // Writes that still wait for nodes are answered with `pending`.
      closing.abort();
      await closed;
      await access.close();
    },
  };
}
